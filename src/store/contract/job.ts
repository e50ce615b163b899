/** What a job is to a store: a text, on its way to a queue or a set. */

import type { Effect } from './effect.ts'

/**
 * The sets of jobs that are not in a queue, sorted by (score, text). Each text stands there once: a job that moves to
 * where its twin stands, byte for byte the same, gets a space behind it.
 */
export type SetName = 'retry' | 'schedule' | 'dead'

/** Where a text goes. */
export type Destination =
  | { to: 'queue'; queue: string; text: string; end: 'front' | 'back' }
  | { to: SetName; text: string; score: number }

/**
 * `once`: a push that failed may be repeated, byte for byte, within five minutes: if it was stored at first, it is not
 * stored again. It comes without effects.
 */
export type PushItem = Destination & { effects?: Effect[]; once?: boolean }

export interface JobVerbs {
  /**
   * Stores jobs, ready or scheduled, in the order given. Atomic per job. Resolved: all are stored and survive what the
   * store promises to survive. Rejected with a PushError: `maybePushed` says whether they may be stored all the same.
   */
  push(items: PushItem[], now: number): Promise<void>
}
