/** The same bytes imported twice, by a second click or a second person, are one import too many. */

import { HighkiqError } from '../job/errors.ts'
import type { Store } from '../store/contract.ts'

const DAY = 86_400
/** A submitter that has made no task for so long is gone. */
const BEGINS_WITHIN_MS = 60_000

/**
 * Claims the bytes for a task that is about to be made.
 * @returns how to give them back when it was not made after all
 * @throws ALREADY_IMPORTED with the earlier task's id
 */
export async function claim(
  store: Pick<Store, 'task' | 'remember'>,
  { key, id, now }: { key: string; id: string; now: number },
): Promise<() => Promise<void>> {
  const value = `${id} ${now}`
  let there = await store.remember(key, value, DAY)
  while (there !== null && there !== value) {
    const [earlier = '', at] = there.split(' ')
    const begins = now - Number(at) < BEGINS_WITHIN_MS
    // Its own: an import that was named in advance is tried again.
    if (earlier !== id && (begins || (await store.task(earlier)) !== null)) {
      const message = `the same file was imported as task ${earlier}, at ${new Date(Number(at)).toISOString()}: look there, or say again: true`
      throw new HighkiqError('ALREADY_IMPORTED', message, { task: earlier })
    }
    // That task was never made, or is deleted.
    there = await store.remember(key, value, DAY, there)
  }
  return async () => void (await store.remember(key, '', 0, value))
}
