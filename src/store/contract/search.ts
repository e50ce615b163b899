/** Searching queues and sets, and moving or dropping jobs from any position. */

import type { Entry, SwapAnswer } from './job-sets.ts'
import type { Move, SetName } from './push-items.ts'

/** A job in a queue. `at` is an opaque hint about its position, for `pull`. */
export interface WaitingJob {
  text: string
  at: string
}

/** What one call of a search found. */
export interface Scan<Item> {
  items: Item[]
  /** The cursor for the next call; null: the search is complete. */
  next: string | null
  /** The number of jobs that this call has compared. */
  scanned: number
}

/** What a search of several queues found. */
export interface QueuesScan {
  items: (WaitingJob & { queue: string })[]
  /** The number of jobs in each queue that this call has searched, in the order given. Empty: the first one is too long for one call. */
  sizes: number[]
}

export interface ScanPage {
  /** `next` of the page before. */
  after?: string | undefined
  /**
   * Instead of `after`, for queues: the search starts at the job that had this `at`. It starts before that job if jobs
   * have left the queue since.
   */
  at?: string | undefined
  /** For queues, without `at`: the search begins at the job that is fetched next, instead of the newest one. */
  oldestFirst?: boolean | undefined
  /** The number of hits wanted. A scan of a set may return more. */
  limit: number
}

/**
 * Compare-and-swap on a queue: one job with exactly this text, wherever it is in the queue. It moves to another place, such as
 * another queue; the row of a task stays a row of that task. With `to: 'same'` it stays in its place and gets another text.
 */
export interface Pull extends Pick<Move, 'effects'> {
  text: string
  at?: string | undefined
  to: Move['to'] | { to: 'same'; text: string }
}

export interface Cleared<Item> {
  removed: number
  /** Jobs that the call has left in place because their text contains a needle. */
  kept: Item[]
  /** Whether nothing is left except `kept`. */
  done: boolean
}

export interface SearchStore {
  /**
   * Returns a page of the jobs of a queue whose text contains `needle` (empty: all jobs), newest first; or with
   * `oldestFirst` in the order in which they are fetched. A call compares a bounded number of jobs, so a page may be empty
   * and still have a `next`. Jobs that are fetched or pushed meanwhile make the search skip nothing, but it may return a
   * job twice. Newest first, it does not return jobs that are pushed meanwhile. With `oldestFirst` it also returns those that
   * are pushed behind what it has passed, and not those that are put in front.
   */
  scanQueue(queue: string, needle: string, page: ScanPage): Promise<Scan<WaitingJob>>
  /**
   * Returns the jobs of several queues whose text contains `needle`: queue by queue in the order given, each newest first. It sees
   * them all at the same moment, so a job that moves from one of them to another is found once. A call compares a bounded
   * number of jobs: it searches some of the first queues, each of them wholly, or none.
   */
  scanQueues(queues: readonly string[], needle: string): Promise<QueuesScan>
  /** Searches a set, in any order. An entry that stays in the set during the whole search is found at least once. */
  scanSet(set: SetName, needle: string, page: ScanPage): Promise<Scan<Entry>>
  /**
   * Moves or drops jobs of a queue, wherever they are in it. Atomic per job; of several jobs with the same text each item
   * takes one. `gone`: the queue has no such text; with `at`, a long queue is searched only from about that position to
   * the job that is fetched next. After an `error` the job is still in the queue, perhaps at its front.
   */
  pull(queue: string, items: Pull[], now: number): Promise<SwapAnswer[]>
  /**
   * Drops jobs of a queue, next to be fetched first. Jobs whose text contains one of `needles` stay and are returned,
   * because something else must change with them. If no task has open rows and no lock can be held, the call drops all
   * jobs at once. Otherwise it drops about `limit`, and never more than a bounded number. An empty queue is not listed
   * any longer. It may also drop jobs that are pushed during the call.
   */
  clearQueue(queue: string, needles: readonly string[], limit: number): Promise<Cleared<WaitingJob>>
  /** Drops entries of a set, lowest score first; without needles all at once or a bounded number. */
  clearSet(set: SetName, needles: readonly string[]): Promise<Cleared<Entry>>
}
