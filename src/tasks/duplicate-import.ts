/** The same bytes imported twice, by a second click or a second person, are one import too many. */

import { HighkiqError } from '../job/errors.ts'
import type { Store } from '../store/contract.ts'

const DAY = 86_400
/** A submitter that has made no task for so long is gone. */
const BEGINS_WITHIN_MS = 60_000

/**
 * Claims the bytes of a file for a task that is about to be made. With `allowDuplicate` it claims them even when an earlier
 * task has them.
 * @returns a function that undoes the claim when the task was not made after all
 * @throws ALREADY_IMPORTED with the earlier task's id
 */
export async function claimFile(
  store: Pick<Store, 'tasks' | 'results'>,
  { key, id, now, allowDuplicate = false }: { key: string; id: string; now: number; allowDuplicate?: boolean },
): Promise<() => Promise<void>> {
  const value = `${id} ${now}`
  let before: string | undefined
  let there = await store.results.remember(key, value, DAY)
  while (there !== null && there !== value) {
    const [earlier = '', at] = there.split(' ')
    const begins = now - Number(at) < BEGINS_WITHIN_MS
    // Its own: an import that was named in advance is tried again.
    if (!allowDuplicate && earlier !== id && (begins || (await store.tasks.find(earlier)) !== null)) {
      const message = `the same file was imported as task ${earlier}, at ${new Date(Number(at)).toISOString()}: look there, or set allowDuplicate: true`
      throw new HighkiqError('ALREADY_IMPORTED', message, { task: earlier })
    }
    before = there
    there = await store.results.remember(key, value, DAY, there)
  }
  const [then, seconds] = before === undefined ? ['', 0] : [before, DAY]
  return async () => void (await store.results.remember(key, then, seconds, value))
}
