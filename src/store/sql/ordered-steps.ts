/** The steps of an action on ids of ordered queues with very many payloads, on SQLite and PostgreSQL. */

import { ORDERED_STEP } from '../contract.ts'

/** The result of one of the transactions of an action. Others can write between two of them. */
export interface Step {
  /** The ids that are finished. */
  n: number
  /** The ids that are left for further steps. */
  rest: readonly string[]
  /** The id of which only a part is done. */
  begun?: string
}

/**
 * Returns the first items that fit into one step together, and the others. With `isPart`, the first one alone is too large:
 * the step moves a part of it, and the item stays in `rest`.
 */
export function inOneStep<Item>(
  items: readonly Item[],
  sizeOf: (item: Item) => number,
): { some: Item[]; rest: Item[]; isPart: boolean } {
  let room = ORDERED_STEP
  let n = 0
  for (const item of items) {
    room -= sizeOf(item)
    if (room < 0) break
    n++
  }
  const isPart = n === 0 && items.length > 0
  return { some: items.slice(0, isPart ? 1 : n), rest: items.slice(n), isPart }
}
