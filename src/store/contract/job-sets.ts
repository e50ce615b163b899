/** The sorted sets of jobs that wait for a time, or for a person. */

import type { Effect } from './effects.ts'
import type { Destination, SetName } from './jobs.ts'

export interface Entry {
  text: string
  score: number
}

/** Compare-and-swap on a set: applied only while this very text stands there with this very score. */
export interface Swap extends Entry {
  /** null: the entry is dropped. */
  to: Destination | null
  effects?: Effect[]
}

/**
 * `gone` – somebody else was faster (or the item never was): no effect. `error` – the item can't be applied as it is;
 * nothing of it was.
 */
export type SwapAnswer = 'ok' | 'gone' | 'error'

export interface JobSetStore {
  /**
   * At most `limit` entries whose time has come, lowest first, and the score of the first one after them. Changes
   * nothing.
   */
  due(set: SetName, now: number, limit: number): Promise<{ entries: Entry[]; next: number | null }>
  /**
   * Moves or drops entries, each only if it is still as read. Atomic per entry: it is in the set or at its destination,
   * also after a crash.
   */
  swap(set: SetName, swaps: Swap[], now: number): Promise<SwapAnswer[]>
  /** Waits until something may be due earlier than known, at most `ms`, or until `signal` aborts. */
  waitUntilDue(ms: number, signal: AbortSignal): Promise<void>
  size(set: SetName): Promise<number>
  /** A page in the order of (score, text), from behind `after` on, which need not be there. */
  page(set: SetName, page: { after?: Entry; desc?: boolean; limit: number }): Promise<Entry[]>
  /** Keeps the newest `max` entries, and of those the ones with a score ≥ `since`. */
  prune(set: SetName, max: number, since: number): Promise<void>
}
