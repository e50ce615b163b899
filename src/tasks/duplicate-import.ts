/** Refuses to import the same bytes twice within a day, as after a second click. */

import { HighkiqError } from '../job/errors.ts'
import type { Store } from '../store/contract.ts'

const DAY = 86_400
/** An import that has not created its task after this time counts as gone. */
const BEGINS_WITHIN_MS = 60_000

/**
 * Claims the bytes of a file for a task that is about to be created. With `allowDuplicate` it claims them even when an earlier
 * task has them.
 * @returns a function that undoes the claim if the task was not created
 * @throws ALREADY_IMPORTED with the earlier task's id
 */
export async function claimFile(
  store: Pick<Store, 'tasks' | 'results'>,
  { key, id, now, allowDuplicate = false }: { key: string; id: string; now: number; allowDuplicate?: boolean },
): Promise<() => Promise<void>> {
  const value = `${id} ${now}`
  let before: string | undefined
  let stored = await store.results.remember(key, value, DAY)
  while (stored !== null && stored !== value) {
    const [earlier = '', at] = stored.split(' ')
    const isStarting = now - Number(at) < BEGINS_WITHIN_MS
    // An import with a given id may be repeated: the claim is its own.
    if (!allowDuplicate && earlier !== id && (isStarting || (await store.tasks.find(earlier)) !== null)) {
      const hint = 'set allowDuplicate: true'
      const message = `the same file was imported as task ${earlier}, at ${new Date(Number(at)).toISOString()}: look there, or ${hint}`
      const about = { task: earlier, option: 'allowDuplicate', value: true, hint }
      throw new HighkiqError('ALREADY_IMPORTED', message, about)
    }
    before = stored
    stored = await store.results.remember(key, value, DAY, stored)
  }
  const [then, seconds] = before === undefined ? ['', 0] : [before, DAY]
  return async () => void (await store.results.remember(key, then, seconds, value))
}
