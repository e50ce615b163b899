/** Job sets: jobs that wait for a time (scheduled, retries), and dead jobs. */

import type { Move, SetName } from './push-items.ts'

export interface Entry {
  text: string
  score: number
}

/** Compare-and-swap on a set: it applies only while the set has an entry with this text and this score. */
export type Swap = Entry & Move

/**
 * `gone` – another caller was faster, or there never was such an item; nothing changed. `error` – the store can't apply
 * the item, and nothing changed.
 */
export type SwapAnswer = 'ok' | 'gone' | 'error'

export interface JobSetStore {
  /**
   * Returns at most `limit` entries that are due, lowest score first, and the score of the first entry after them.
   * Changes nothing.
   */
  due(set: SetName, now: number, limit: number): Promise<{ entries: Entry[]; next: number | null }>
  /**
   * Moves or drops entries, each only if it is unchanged. Atomic per entry: also after a crash an entry is either in the
   * set or at its destination.
   */
  swap(set: SetName, swaps: Swap[], now: number): Promise<SwapAnswer[]>
  /** Waits until an entry may be due earlier than known, at most `ms`, or until `signal` aborts. */
  waitUntilDue(ms: number, signal: AbortSignal): Promise<void>
  size(set: SetName): Promise<number>
  /** Returns a page in the order of (score, text), from behind `after`, which need not be in the set. */
  page(set: SetName, page: { after?: Entry; desc?: boolean; limit: number }): Promise<Entry[]>
  /**
   * Returns the entry of the set `finished` with this jid, of several the one that finished last; null when there is
   * none. Another job that has the jid among its arguments does not count.
   */
  findFinished(jid: string): Promise<Entry | null>
  /**
   * Keeps the newest `max` entries, and of those the entries with a score ≥ `since`. A store on a server lowers `since` by how far
   * the clock of the caller's machine is ahead of the server's, so that one wrong clock removes nothing that others keep.
   * Resolves with the removed texts that contain `needle`; with none if there is no `needle`, or if the set is `finished`.
   */
  prune(set: SetName, max: number, since: number, needle?: string): Promise<string[]>
}
