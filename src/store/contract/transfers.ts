/**
 * Transfers: jobs that go from this store to another one, and from another one to this one.
 *
 * The source holds one page of jobs at a time. Its name is a text of the caller, and a number greater than that of every page
 * before. The text is the id of the source, a slash, and a random text. A source that loses its last writes uses a number
 * again, but never the random text. A call of `hold` that the source carries out twice uses the text again, but never the
 * number. While a page is held, its jobs are in no queue and no set, and its content does not change. The target remembers the
 * newest pages and the newest tasks of each source, and what became of them. So each step may be repeated, also by several
 * processes, and also late.
 */

import type { Entry } from './job-sets.ts'
import type { MovedId } from './ordered.ts'
import type { Destination, Move, PushItem, SetName } from './push-items.ts'

/** The most jobs that one page has. */
export const TRANSFER_PAGE = 100
/** A target remembers at least this many pages of each source, the newest ones, and this many tasks. */
export const TRANSFER_PAGES_KEPT = 10_000

/** Jobs that a page takes, each only if it is still there. `offset`: where `peek` found the first of the texts. */
export type TransferSource =
  | { queue: string; offset: number; texts: readonly string[] }
  | { set: SetName; entries: readonly Entry[] }

export interface PageName {
  transfer: string
  number: number
}

export interface TransferPage extends PageName {
  /** What the caller said about the target. */
  target: string
  /** Where each job was, in the order in which it was taken; those of a queue with `end: 'front'`. */
  jobs: Destination[]
  /** Ids of an ordered queue, in the place of jobs. */
  ordered?: { queue: string; ids: MovedId[] }
}

/** A job for the target. `cancelled`: the jid of a job whose cancellation is requested in the same step. */
export type TransferItem = PushItem & { cancelled?: string }

/** Returns the id of the source in the name of a page or a task; '' if it has none. */
export function sourceOf(transfer: string): string {
  return transfer.slice(0, Math.max(transfer.indexOf('/'), 0))
}

/** Returns how many jobs or ids a page has. */
export function sizeOfPage(page: TransferPage | null): number {
  return page?.ordered?.ids.length ?? page?.jobs.length ?? 0
}

/** `stored`: the target has the jobs of the page. `void`: it never gets them, because the page was put without jobs. */
export type PageOutcome = 'stored' | 'void'

/** Returns what becomes of a page with these jobs. */
export function outcomeWith(items: readonly TransferItem[]): PageOutcome {
  return items.length > 0 ? 'stored' : 'void'
}

/** Returns how many texts of these lengths go together: at least one, and together at most about `most` characters. */
export function countWithin(lengths: readonly number[], most: number): number {
  let sum = 0
  const end = lengths.findIndex((length, i) => {
    sum += length
    return i > 0 && sum > most
  })
  return end === -1 ? lengths.length : end
}

/** Returns the tasks whose sets get jobs. */
export function movingTasksOf(moves: readonly Move[]): string[] {
  const sets = moves.map(({ to }) => to?.to.split(':') ?? [])
  return [...new Set(sets.flatMap(([kind, , task]) => (kind === 'moving' && task !== undefined ? [task] : [])))]
}

export interface PageTransferStore {
  /**
   * Takes jobs out of their queue or set and holds them as the next page: all of it or nothing. `transfer` is another text
   * in each call. A job that is gone is left out. If the store holds a page already, it takes nothing and returns that
   * page. null: all jobs are gone, and the store holds no page.
   */
  hold(transfer: string, target: string, from: TransferSource): Promise<TransferPage | null>
  /** Returns the page that the store holds. */
  held(): Promise<TransferPage | null>
  /**
   * Stores the jobs of a page and remembers its name, all of it or nothing. A page that was put before changes nothing.
   * Returns what became of it: without jobs the page becomes `void`, unless `outcome` says that its jobs are stored
   * elsewhere. Of the locks of an item it takes those that are free; a lock that another job has does not stop the item.
   * Repeat it until it resolves, and only then end the page in its source: of a sharded store some shards may not have
   * stored their jobs before.
   */
  put(page: PageName, items: readonly TransferItem[], now: number, outcome?: PageOutcome): Promise<PageOutcome>
  /**
   * Ends a page that the source holds: its jobs are dropped, and `moves` are applied, all of it or nothing. False, and nothing
   * changed: the store does not hold this page (any more), or a job would go to a set of a task that is neither frozen nor
   * sealed.
   */
  endPage(page: PageName, moves: readonly Move[], now: number): Promise<boolean>
}
