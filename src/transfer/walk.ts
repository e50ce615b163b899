/** Reads the jobs of a store a page at a time, those in queues and in sets, and the ids of its tasks. */

import { limitedSets, pages } from '../inspect/walk.ts'
import {
  countWithin,
  type Entry,
  type SetName,
  type Store,
  TRANSFER_PAGE,
  type TransferSource,
} from '../store/contract.ts'

/** About the most characters of texts in a page. */
const PAGE_LENGTH = 1_000_000
/** The number of task ids that are read at once. */
const READ = 1000

/**
 * Calls `visit` with each page, until `isEnding`; finished jobs come last. `visit` returns how many jobs of the page are still
 * where they were.
 */
export async function walkJobs(
  store: Store,
  visit: (page: TransferSource) => Promise<number>,
  { isEnding = () => false, finished = true }: { isEnding?: () => boolean; finished?: boolean } = {},
): Promise<void> {
  for (const { name } of await store.jobs.queues()) await walkQueue(store, name, visit, isEnding)
  const sets: SetName[] = [...(await limitedSets(store)), 'retry', 'schedule', 'dead']
  if (finished) sets.push('finished')
  for (const set of sets) await walkSet(store, set, visit, { isEnding })
}

async function walkQueue(
  store: Store,
  queue: string,
  visit: (page: TransferSource) => Promise<number>,
  isEnding: () => boolean,
): Promise<void> {
  for (let offset = 0; !isEnding(); ) {
    const read = await store.jobs.peek(queue, offset, TRANSFER_PAGE)
    if (read.length === 0) return
    offset += await visit({ queue, offset, texts: read.slice(0, countWithin(lengthsOf(read), PAGE_LENGTH)) })
  }
}

/** Calls `visit` with each page, until `isEnding`. With `desc` the last page comes first; each page is in order. */
export async function walkSet(
  store: Store,
  set: SetName,
  visit: (page: { set: SetName; entries: Entry[] }) => Promise<unknown>,
  { isEnding = () => false, desc = false }: { isEnding?: () => boolean; desc?: boolean } = {},
): Promise<void> {
  for (let after: Entry | undefined; !isEnding(); ) {
    const read = await store.jobSets.page(set, { ...(after ? { after } : {}), desc, limit: TRANSFER_PAGE })
    const entries = read.slice(0, countWithin(lengthsOf(read.map(({ text }) => text)), PAGE_LENGTH))
    after = entries.at(-1)
    if (!after) return
    await visit({ set, entries: desc ? entries.toReversed() : entries })
  }
}

export function textsOf(page: TransferSource): readonly string[] {
  return 'set' in page ? page.entries.map(({ text }) => text) : page.texts
}

/** Returns the jobs of a page at some positions. */
export function entriesAt(page: TransferSource, places: readonly number[]): TransferSource {
  if ('set' in page) return { set: page.set, entries: places.map((i) => page.entries[i] as Entry) }
  return { ...page, texts: places.map((i) => page.texts[i] as string) }
}

/** Yields the ids of all tasks. */
export async function* taskIds({ transfers }: Store): AsyncGenerator<string> {
  for await (const { items } of pages(async (after) => {
    const { ids, next } = await transfers.taskIds({ after, limit: READ })
    return { items: ids, next }
  })) {
    yield* items
  }
}

function lengthsOf(texts: readonly string[]): number[] {
  return texts.map(({ length }) => length)
}
