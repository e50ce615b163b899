import { HighkiqError } from '../job/errors.ts'
import { ORDERED_PAGE } from '../store/contract.ts'

/** Ids as they are pushed, or one of them. @throws INVALID_OPTION */
export function idsOf(what: string, ids: OrderedIds): string[] {
  const list = Array.isArray(ids) ? ids : [ids]
  if (list.every((id) => typeof id === 'string' || typeof id === 'number' || typeof id === 'bigint')) {
    return list.map(String)
  }
  throw new HighkiqError('INVALID_OPTION', `${what}: ids are texts or numbers`)
}

export type OrderedIds = string | number | bigint | readonly (string | number | bigint)[]

/** A bounded number at a time. @returns the sum */
export async function inPages(ids: readonly string[], act: (ids: string[]) => Promise<number>): Promise<number> {
  let sum = 0
  for (let from = 0; from < ids.length; from += ORDERED_PAGE) sum += await act(ids.slice(from, from + ORDERED_PAGE))
  return sum
}
