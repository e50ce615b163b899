/** The bounds of pages. */

import type { OrderedPage } from '../../contract.ts'

/** Returns the bound (value, id) of a page, or of the first page. */
export function behind(desc: boolean, after: OrderedPage['after']): [number, string] {
  if (after) return [after.value, after.id]
  return [desc ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY, '']
}

/** Returns the bound (queue, id) of a page of the ids of a queue, or of the first page. */
export function behindId(queue: number, desc: boolean, id: string | undefined): [number, string] {
  if (id !== undefined) return [queue, id]
  return [desc ? queue + 1 : queue - 1, '']
}
