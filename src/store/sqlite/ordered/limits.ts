/** How much one call reads or changes: the bounds of pages, and the steps of actions on ids with very many payloads. */

import { ORDERED_STEP, type OrderedPage } from '../../contract.ts'
import type { Value } from '../file/driver.ts'

/** Sorts behind every text. */
export const BEHIND_ALL = new Uint8Array(0)

/** Returns the bound of a page after (value, id), or the bound of the first page. */
export function behind(desc: boolean, after: OrderedPage['after']): [number, Value] {
  if (after) return [after.value, after.id]
  return desc ? [Number.POSITIVE_INFINITY, BEHIND_ALL] : [Number.NEGATIVE_INFINITY, '']
}

/** Returns the id with which an ascending page begins, or before which a descending page begins. */
export function idFrom(desc: boolean, id: string | undefined): Value {
  if (id === undefined) return desc ? BEHIND_ALL : ''
  // The next text after an id is that id and NUL.
  return desc ? id : `${id}\0`
}

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
