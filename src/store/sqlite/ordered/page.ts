/** Where a page begins: bounds that stand before and behind all else. */

import type { OrderedPage } from '../../contract.ts'
import type { Value } from '../file/driver.ts'

/** Behind every text. */
const BEHIND_ALL = new Uint8Array(0)

/** Behind (value, id), or before it; without it, from one end on. */
export function behind(desc: boolean, after: OrderedPage['after']): [number, Value] {
  if (after) return [after.value, after.id]
  return desc ? [Number.POSITIVE_INFINITY, BEHIND_ALL] : [Number.NEGATIVE_INFINITY, '']
}

/** The id that a page begins with, upwards; or the one that it begins before, downwards. */
export function idFrom(desc: boolean, id: string | undefined): Value {
  if (id === undefined) return desc ? BEHIND_ALL : ''
  // The next text after an id is that id and NUL.
  return desc ? id : `${id}\0`
}
