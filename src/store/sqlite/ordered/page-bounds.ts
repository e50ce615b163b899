/** The bounds of pages. */

import type { OrderedPage } from '../../contract.ts'
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
