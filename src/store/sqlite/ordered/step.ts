/** Actions on ids with very many payloads run a part in each transaction, so that others can write between two. */

import { ORDERED_STEP } from '../../contract.ts'

/** The result of one transaction. */
export interface Step {
  /** The ids that are finished. */
  n: number
  /** The ids that are left for further steps. */
  rest: readonly string[]
  /** The id of which only a part is done. */
  begun?: string
}

/** Returns the first items that fit into one step together; none when the first one alone is too large. */
export function inOneStep<Item>(
  items: readonly Item[],
  sizeOf: (item: Item) => number,
): { some: Item[]; rest: Item[] } {
  let room = ORDERED_STEP
  let n = 0
  for (const item of items) {
    room -= sizeOf(item)
    if (room < 0) break
    n++
  }
  return { some: items.slice(0, n), rest: items.slice(n) }
}
