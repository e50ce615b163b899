import { invalidOption } from '../job/errors.ts'
import { shown } from '../job/options.ts'
import { ORDERED_PAGE, type OrderedPage } from '../store/contract.ts'

/** Returns the ids as strings. @throws INVALID_OPTION */
export function idsOf(what: string, ids: OrderedIds): string[] {
  const list: readonly unknown[] = Array.isArray(ids) ? ids : [ids]
  return list.map((id) => idOf(what, id))
}

/** @throws INVALID_OPTION */
export function idOf(what: string, id: unknown): string {
  if (typeof id === 'string' || typeof id === 'number' || typeof id === 'bigint') return String(id)
  throw invalidOption(`${what}: id must be a string or a number (got ${shown(id)})`)
}

export type OrderedIds = string | number | bigint | readonly (string | number | bigint)[]

/**
 * Calls `act` with at most ORDERED_PAGE of these ids at a time. Returns the sum.
 * @throws INVALID_OPTION for a wrong id; with `forAll` (the call for all ids) also for `'all'` that is not in a list
 */
export async function onSome(
  what: string,
  ids: OrderedIds,
  act: (ids: string[]) => Promise<number>,
  forAll?: string,
): Promise<number> {
  if (forAll !== undefined && ids === 'all') {
    const message = `${what}: ids must be a list of ids (for all ids use ${forAll}; for an id named all use ['all'])`
    throw invalidOption(message)
  }
  const list = idsOf(what, ids)
  let sum = 0
  for (let from = 0; from < list.length; from += ORDERED_PAGE) sum += await act(list.slice(from, from + ORDERED_PAGE))
  return sum
}

/** Reads page after page, and calls `act` with the ids of each. Returns the sum. */
export async function onAll<Item extends { id: string }>(
  read: (page: OrderedPage) => Promise<Item[]>,
  sortedBy: (item: Item) => number,
  act: (ids: string[]) => Promise<number>,
): Promise<number> {
  let sum = 0
  let page: OrderedPage = { limit: ORDERED_PAGE }
  for (;;) {
    const items = await read(page)
    const last = items.at(-1)
    if (last) sum += await act(items.map(({ id }) => id))
    if (!last || items.length < ORDERED_PAGE) return sum
    page = { limit: ORDERED_PAGE, after: { value: sortedBy(last), id: last.id } }
  }
}
