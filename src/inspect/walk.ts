/** Reads queues and job sets page by page. */

import { checkOptions, type OptionKind } from '../job/options.ts'
import {
  type Entry,
  type LimitedSet,
  type MovingSet,
  movingSets,
  type Scan,
  type ScanPage,
  type SetName,
  type Store,
  type WaitingJob,
} from '../store/contract.ts'
import type { Search } from './pattern.ts'

/** One page of a list. Pass `next` as `after` to get the next page; it is null at the end. */
export interface Page<Item> {
  items: Item[]
  next: string | null
}

/** The position of a task or batch in a list that is ordered by creation. */
export interface Creation {
  createdAt: number
  id: string
}

/** Returns a position as the cursor of a list. */
export function creationCursor({ createdAt, id }: Creation): string {
  return `${createdAt}-${id}`
}

/** Returns the position of such a cursor; undefined: the text is no cursor. */
export function creationOf(cursor: string): Creation | undefined {
  const [, createdAt, id] = /^(\d+)-([0-9a-f]{16})$/.exec(cursor) ?? []
  return id === undefined ? undefined : { createdAt: Number(createdAt), id }
}

export interface PageOptions {
  after?: string | null | undefined
  /** The number of items in a page; default 50. */
  limit?: number
}

export const PAGE = 50
export const PAGE_OPTIONS: Record<keyof PageOptions, OptionKind> = {
  after: 'cursor',
  limit: 'count',
}

/** One call scans about this many jobs, and then returns where the next call continues. */
const MOST_SCANNED = 20_000

type Found<Item> = Pick<Scan<Item>, 'items' | 'next'> & { scanned?: number }

/** Reads a page of the items whose text contains the needle. It may also contain other items. */
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

/** Returns a word as JSON writes it inside a string. */
export function needleOf(word: string): string {
  return JSON.stringify(word).slice(1, -1)
}

/** Yields pages of the items whose text contains this word. A jid found this way may also be an argument. */
export async function* walk<Item extends { text: string }>(
  word: string,
  read: ReadPage<Item>,
): AsyncGenerator<Found<Item>> {
  const needle = needleOf(word)
  for await (const { items, ...rest } of pages((after) => read(needle, after))) {
    yield { items: items.filter(({ text }) => text.includes(needle)), ...rest }
  }
}

/** Resolves with the first job of this jid; null when there is none. @throws the signal's reason */
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

/** Resolves with a page of the jobs whose text matches. A call scans a bounded number of jobs. @throws INVALID_OPTION */
export async function scanFor<Item extends { text: string }, Job>(
  where: string,
  search: Search,
  options: PageOptions,
  read: (needle: string, page: ScanPage) => Promise<Scan<Item>>,
  jobOf: (item: Item) => Job,
): Promise<Page<Job> & { scanned: number }> {
  checkOptions(where, options, PAGE_OPTIONS)
  const { after, limit = PAGE } = options
  const answer = { items: [] as Job[], next: after ?? null, scanned: 0 }
  do {
    const after = answer.next ?? undefined
    const page = await readMatching(search, limit - answer.items.length, (wanted) =>
      read(search.needle, { after, limit: wanted }),
    )
    answer.items.push(...page.items.map(jobOf))
    answer.next = page.next
    answer.scanned += page.scanned
  } while (answer.next !== null && answer.items.length < limit && answer.scanned < MOST_SCANNED)
  return answer
}

/** More items than one call of a store returns. */
const WHOLE_PAGE = 1_000_000

/**
 * Reads a page and returns the items that match, about `limit` of them. A page of the store ends at a number of items with
 * the needle. If the needle may be in a part that the viewer does not see, the page must not end there: it is read wholly,
 * and again up to the last item that is returned.
 */
export async function readMatching<Item extends { text: string }>(
  { hides, matches }: Search,
  limit: number,
  read: (limit: number) => Promise<Scan<Item>>,
): Promise<Scan<Item>> {
  const matching = ({ items, ...page }: Scan<Item>) => ({ ...page, items: items.filter(({ text }) => matches(text)) })
  if (!hides) return matching(await read(limit))
  const whole = await read(WHOLE_PAGE)
  const found = [...whole.items.entries()].filter(([, { text }]) => matches(text))
  const last = found[limit - 1]?.[0]
  return last === undefined ? { ...whole, items: found.map(([, item]) => item) } : matching(await read(last + 1))
}

/** Returns the sets of the jobs that wait for room in a limit. */
export async function limitedSets(store: Store): Promise<LimitedSet[]> {
  const limits = await store.limits.list()
  return limits.flatMap(({ name, waiting }): LimitedSet[] => (waiting > 0 ? [`limited:${name}`] : []))
}

/** Returns all sets of jobs that go to another store with their tasks. */
export async function allMovingSets(store: Store): Promise<MovingSet[]> {
  return (await store.transfers.movingTasks()).flatMap(({ id }) => movingSets(id))
}

const WALK_PAGE = 500

/** A page of jobs that wait in one queue. */
export interface QueuePage {
  queue: string
  items: readonly WaitingJob[]
  /** How many jobs of a long queue were compared so far; 0 when the queue has no more pages. */
  scannedSoFar: number
}

/**
 * Yields the jobs of queues whose text contains `needle`, newest first in each queue. One call of the store searches
 * many short queues. Each call yields at least one page, which may have no jobs.
 */
export async function* inQueues(store: Store, needle: string, queues: readonly string[]): AsyncGenerator<QueuePage> {
  for (let from = 0; from < queues.length; ) {
    const first = queues[from] as string
    const { items, sizes } = await store.search.scanQueues(queues.slice(from), needle)
    from += sizes.length
    const byQueue = new Map(items.map(({ queue }) => [queue, [] as WaitingJob[]]))
    for (const item of items) byQueue.get(item.queue)?.push(item)
    if (byQueue.size === 0) byQueue.set(first, [])
    for (const [queue, some] of byQueue) yield { queue, items: some, scannedSoFar: 0 }
    if (sizes.length > 0) continue
    const read = (after?: string) => store.search.scanQueue(first, needle, { after, limit: WALK_PAGE })
    let scannedSoFar = 0
    for await (const { items, next, scanned = 0 } of pages(read)) {
      scannedSoFar += scanned
      yield { queue: first, items, scannedSoFar: next === null ? 0 : scannedSoFar }
    }
    from++
  }
}

/** A page of jobs. With `set` or `queue` they wait there; else workers or a move have them. */
export type JobPage = { set: SetName; items: readonly Entry[] } | QueuePage | { items: readonly { text: string }[] }

/**
 * Yields all jobs that wait or run, a page at a time, in the order in which a job moves: from job sets to queues, to the page
 * that a move holds, to the sets of tasks that move, and to workers. A walk may miss only a job that moves against this order
 * meanwhile: one that fails, snoozes or is put back. The jobs that wait contain `needle`. Without `queues` it walks through all
 * queues.
 */
export async function* jobsInOrder(store: Store, needle: string, queues?: Iterable<string>): AsyncGenerator<JobPage> {
  const paged = <Item>(read: (page: ScanPage) => Promise<Found<Item>>) =>
    pages((after) => read({ after, limit: WALK_PAGE }))
  for (const set of ['schedule', 'retry', ...(await limitedSets(store))] as const) {
    for await (const { items } of paged((page) => store.search.scanSet(set, needle, page))) yield { set, items }
  }
  yield* inQueues(store, needle, queues ? [...queues] : (await store.jobs.queues()).map(({ name }) => name))
  yield { items: (await store.transfers.held())?.jobs.filter(({ text }) => text.includes(needle)) ?? [] }
  for (const set of await allMovingSets(store)) {
    for await (const { items } of paged((page) => store.search.scanSet(set, needle, page))) yield { items }
  }
  for await (const { items } of paged((page) => store.workers.fetched(page))) yield { items }
  yield { items: await store.workers.running() }
}
