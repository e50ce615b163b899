/** Walking through queues and sets, a page at a time. */

import type { Scan, ScanPage } from '../store/contract.ts'
import type { Search } from './pattern.ts'

/** One page of a list. Pass `next` as `after` to get the next page; it is null at the end. */
export interface Page<Item> {
  items: Item[]
  next: string | null
}

export interface PageOptions {
  after?: string | null
  /** Default 50. */
  limit?: number
}

export const PAGE = 50

/** One scan looks at about so many, and then says where to go on. */
const MOST_SCANNED = 20_000

type Found<Item> = Pick<Scan<Item>, 'items' | 'next'> & { scanned?: number }

/** A page of what contains the needle, or of anything. */
export type ReadPage<Item> = (needle: string, after: string | undefined) => Promise<Found<Item>>

export async function* pages<Item>(
  read: (after: string | undefined) => Promise<Found<Item>>,
): AsyncGenerator<Found<Item>> {
  let after: string | undefined
  do {
    const page = await read(after)
    yield page
    after = page.next ?? undefined
  } while (after !== undefined)
}

/** Page by page, those whose text has this word in one of its strings: a jid may be the job's own, or an argument. */
export async function* walk<Item extends { text: string }>(
  word: string,
  read: ReadPage<Item>,
): AsyncGenerator<Found<Item>> {
  const needle = JSON.stringify(word).slice(1, -1)
  for await (const { items, ...rest } of pages((after) => read(needle, after))) {
    yield { items: items.filter(({ text }) => text.includes(needle)), ...rest }
  }
}

/** The first one that is the job of this jid; null when there is none. @throws the signal's reason */
export async function findByJid<Item extends { text: string }, Job extends { jid: string }>(
  jid: string,
  read: ReadPage<Item>,
  jobOf: (item: Item) => Job,
  signal?: AbortSignal,
): Promise<Job | null> {
  const pages = walk(jid, (needle, after) => {
    signal?.throwIfAborted()
    return read(needle, after)
  })
  for await (const { items } of pages) {
    const job = items.map(jobOf).find((one) => one.jid === jid)
    if (job) return job
  }
  return null
}

/** Those whose text matches, and where to go on: all were looked at, or as many as are wanted, or a bounded number. */
export async function scanFor<Item extends { text: string }, Job>(
  { needle, matches }: Search,
  { after, limit = PAGE }: PageOptions,
  read: (needle: string, page: ScanPage) => Promise<Scan<Item>>,
  jobOf: (item: Item) => Job,
): Promise<Page<Job> & { scanned: number }> {
  const answer = { items: [] as Job[], next: after ?? null, scanned: 0 }
  do {
    const page = await read(needle, { after: answer.next ?? undefined, limit: limit - answer.items.length })
    for (const item of page.items) if (matches(item.text)) answer.items.push(jobOf(item))
    answer.next = page.next
    answer.scanned += page.scanned
  } while (answer.next !== null && answer.items.length < limit && answer.scanned < MOST_SCANNED)
  return answer
}
