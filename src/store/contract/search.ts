/** Searching, and acting on what waits. */

import type { Effect } from './effects.ts'
import type { Entry, SwapAnswer } from './job-sets.ts'
import type { Destination, SetName } from './jobs.ts'

/** A job that waits in a queue. `at` is a hint for `pull` where it stands; opaque. */
export interface Waiting {
  text: string
  at: string
}

/** What one call of a search found. */
export interface Scan<Item> {
  items: Item[]
  /** Where to go on; null: all was looked at. */
  next: string | null
  /** How many this call has looked at. */
  scanned: number
}

export interface ScanPage {
  /** `next` of the page before. */
  after?: string | undefined
  /** Of a queue, instead: begins with the job whose `at` it was. What left the queue since makes it begin before it. */
  at?: string | undefined
  /** Hits that are wanted; a scan of a set may answer more than that when they come together. */
  limit: number
}

/** Compare-and-swap on a queue: one job with this very text, wherever it stands. */
export interface Pull {
  text: string
  at?: string | undefined
  /** null: the job is dropped. */
  to: Destination | null
  effects?: Effect[] | undefined
}

export interface Cleared<Item> {
  removed: number
  /** Jobs that were met and left, because their text contains a mark. */
  met: Item[]
  /** Nothing but what was met is left. */
  done: boolean
}

export interface SearchStore {
  /**
   * A page of the jobs of a queue whose text contains `needle` (all of them, if it is empty), newest first. A call looks
   * at a bounded number, so it may find nothing and go on all the same. What is taken or pushed meanwhile makes it skip
   * nothing; it may meet a job again.
   */
  scanQueue(queue: string, needle: string, page: ScanPage): Promise<Scan<Waiting>>
  /** The same for a set, in any order. Each entry that stands there all the while is found at least once. */
  scanSet(set: SetName, needle: string, page: ScanPage): Promise<Scan<Entry>>
  /**
   * Takes jobs out of a queue, wherever they stand, and moves or drops them. Atomic per job; of twins each item takes
   * one. `gone`: no such text is in the queue; with `at` a long queue is searched only from about there to the job that
   * runs next. After an `error` the job is in the queue still, perhaps at its front.
   */
  pull(queue: string, items: Pull[], now: number): Promise<SwapAnswer[]>
  /**
   * Drops jobs of a queue, those first that are next, but for those whose text contains one of `marks`: with them
   * something else has to change, so they are told and left. All at once when no task has a row that is open and no lock
   * can be held, else about `most`, and no more than a bounded number. An empty queue is listed no longer.
   */
  clearQueue(queue: string, marks: readonly string[], most: number): Promise<Cleared<Waiting>>
  /** The same for a set, lowest score first; without marks all at once or a bounded number. */
  clearSet(set: SetName, marks: readonly string[]): Promise<Cleared<Entry>>
}
