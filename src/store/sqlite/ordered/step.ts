/** Acts on ids with very many payloads: a part in each transaction, so that others have their turn between two. */

import { ORDERED_STEP } from '../../contract.ts'

/** What one transaction did. */
export interface Step {
  /** Ids that are finished. */
  n: number
  /** Ids that are left for further steps. */
  rest: readonly string[]
  /** The id of which a part was done. */
  begun?: string
}

/** The first items that go into one step together; none when the first one alone is too large. */
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
