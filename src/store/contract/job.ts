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

/** For so long it is known of a push with `once` that it was stored. */
export const ONCE_SECONDS = 300

/**
 * `once`, the job's id: its push may be repeated within ONCE_SECONDS, also with another text or to another place. If it
 * was stored before, it is not stored again. It comes without effects.
 */
export type PushItem = Destination & { effects?: Effect[]; once?: string }

export interface JobVerbs {
  /**
   * Stores jobs, ready or scheduled, in the order given. Atomic per job. Resolved: all are stored and survive what the
   * store promises to survive. Rejected with a PushError: `maybePushed` says whether they may be stored all the same.
   */
  push(items: PushItem[], now: number): Promise<void>
}
