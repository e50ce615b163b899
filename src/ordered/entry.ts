/** Waiting and dead ids as the API returns them. */

import { invalidOption } from '../job/errors.ts'
import { parseJson } from '../job/json.ts'
import { checkOptions, type OptionKind } from '../job/options.ts'
import type { MorgueEntry, OrderedPage, OrderedWaiting, ScoredPayload } from '../store/contract.ts'

export interface ScoredValue {
  payload: unknown
  score: number
}

/** An id that waits. It may be in flight at the same time. */
export interface WaitingId extends Omit<OrderedWaiting, 'payloads'> {
  /** The payloads with the lowest scores, sorted by score, at most as many as the caller asked for. */
  payloads: ScoredValue[]
}

/** An id in the morgue. */
export interface DeadId extends Omit<MorgueEntry, 'payloads'> {
  payloads: ScoredValue[]
}

/** One page of a list. Pass `next` as `after` to get the next page; it is null at the end. */
export interface OrderedList<Item> {
  items: Item[]
  next: string | null
}

export interface OrderedListOptions<By extends string> {
  /** The sort key; default the first one. */
  by?: By
  /** Whether to sort from the highest value down. */
  desc?: boolean
  /** The `next` of the previous page. */
  after?: string | null
  /** Start at this value: an id, seconds since the epoch, or a number of retries. */
  from?: string | number
  /** Default 50, at most 1,000. */
  limit?: number
}

const PAGE = 50
const MOST = 1000

/** @throws INVALID_OPTION */
export function pageOf<By extends string>(
  where: string,
  options: OrderedListOptions<By>,
  sorts: readonly By[],
  extra: Readonly<Record<string, OptionKind>> = {},
): { by: By; page: OrderedPage } {
  checkOptions(where, options, { by: null, desc: 'flag', after: 'cursor', from: null, limit: null, ...extra })
  const { by = sorts[0] as By, desc = false, after, from, limit = PAGE } = options
  const wrong = (what: string) => invalidOption(`${where}: ${what}`)
  if (!sorts.includes(by)) throw wrong(`by must be one of ${sorts.join(', ')}`)
  if (!(Number.isInteger(limit) && limit >= 1 && limit <= MOST)) throw wrong('limit must be a whole number, 1 to 1,000')
  const cursor = after ? cursorOf(after, wrong) : from === undefined ? undefined : cursorBefore(by, desc, from, wrong)
  return { by, page: { desc, limit, ...(cursor ? { after: cursor } : {}) } }
}

/** Returns the cursor just before a value. */
function cursorBefore(by: string, desc: boolean, from: string | number, wrong: (what: string) => Error) {
  if (by === 'id') return { value: 0, id: before(String(from), desc) }
  const value = Number(from)
  if (!Number.isFinite(value)) throw wrong(`from must be a number when sorted by ${by}`)
  return { value, id: desc ? LAST : '' }
}

/** Sorts after every id. */
const LAST = '\u{10ffff}'.repeat(4)

/** Returns an id that sorts just before this one, or just after it when descending. */
function before(id: string, desc: boolean): string {
  if (desc) return `${id}\u0000`
  const letters = [...id]
  const code = letters.pop()?.codePointAt(0)
  // "ab" is just before "ab\0", and "abb…" before "abc".
  if (!code) return letters.join('')
  const previous = code === 0xe000 ? 0xd7ff : code - 1
  return `${letters.join('')}${String.fromCodePoint(previous)}${LAST}`
}

/** Reads one item more than the page holds, to know whether there is a next page. */
export async function listOf<Stored extends { id: string }, Item>(
  page: OrderedPage,
  itemOf: (stored: Stored) => Item,
  get: (page: OrderedPage) => Promise<Stored[]>,
  sortedBy: (last: Stored) => number,
): Promise<OrderedList<Item>> {
  const found = await get({ ...page, limit: page.limit + 1 })
  const items = found.slice(0, page.limit)
  const last = items.at(-1)
  const next = last && found.length > items.length ? `${sortedBy(last)}:${last.id}` : null
  return { items: items.map(itemOf), next }
}

function cursorOf(cursor: string, wrong: (what: string) => Error): { value: number; id: string } {
  const at = String(cursor).indexOf(':')
  const value = Number(String(cursor).slice(0, at))
  if (at < 1 || Number.isNaN(value)) throw wrong('after must be the `next` of the page before')
  return { value, id: String(cursor).slice(at + 1) }
}

export function waitingId({ payloads, ...rest }: OrderedWaiting): WaitingId {
  return { ...rest, payloads: payloads.map(scoredValue) }
}

export function deadId({ payloads, ...rest }: MorgueEntry): DeadId {
  return { ...rest, payloads: payloads.map(scoredValue) }
}

/** Parses a payload; text that is not JSON is returned as it is. */
export function scoredValue([text, score]: ScoredPayload): ScoredValue {
  try {
    return { payload: parseJson(text), score }
  } catch {
    return { payload: text, score }
  }
}
