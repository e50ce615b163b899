import { HighkiqError } from '../job/errors.ts'
import { shown } from '../job/options.ts'
import { ORDERED_PAGE } from '../store/contract.ts'

/** Returns the ids as texts. @throws INVALID_OPTION */
export function idsOf(what: string, ids: OrderedIds): string[] {
  const list: readonly unknown[] = Array.isArray(ids) ? ids : [ids]
  return list.map((id) => idOf(what, id))
}

/** @throws INVALID_OPTION */
export function idOf(what: string, id: unknown): string {
  if (typeof id === 'string' || typeof id === 'number' || typeof id === 'bigint') return String(id)
  throw new HighkiqError('INVALID_OPTION', `${what}: an id is a text or a number, not ${shown(id)}`)
}

/** Refuses `'all'` where ids are expected; an id of that name is given in a list. @throws INVALID_OPTION */
export function refuseAll(what: string, ids: OrderedIds, instead: string): void {
  if (ids !== 'all') return
  throw new HighkiqError(
    'INVALID_OPTION',
    `${what}: ids must be a list of ids (for all ids use ${instead}; for an id named all use ['all'])`,
  )
}

export type OrderedIds = string | number | bigint | readonly (string | number | bigint)[]

/** Calls `act` with at most ORDERED_PAGE ids at a time. @returns the sum */
export async function inPages(ids: readonly string[], act: (ids: string[]) => Promise<number>): Promise<number> {
  let sum = 0
  for (let from = 0; from < ids.length; from += ORDERED_PAGE) sum += await act(ids.slice(from, from + ORDERED_PAGE))
  return sum
}
