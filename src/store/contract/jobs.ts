/** What a job is to a store: a text, on its way to a queue or a set. */

import type { Effect } from './effects.ts'
import type { IterationRecord, IterationState } from './iterations.ts'
import type { OrderedPush } from './ordered.ts'

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

/** What drivers of SQLite have in common; who knows which one it is may use all of it, but for its transactions. */
export interface SqlConnection {
  exec(sql: string): unknown
  prepare(sql: string): {
    run(...values: SqlValue[]): unknown
    get(...values: SqlValue[]): unknown
    all(...values: SqlValue[]): unknown[]
  }
}

export type SqlValue = string | number | bigint | Uint8Array | null

/** Ordered jobs of one queue, at most ORDERED_PAGE. The queue is defined with `shards` if it is new. */
export interface OrderedPushes {
  to: 'ordered'
  queue: string
  shards: number
  items: readonly OrderedPush[]
}

export interface QueueInfo {
  name: string
  size: number
  /** Text of the job that is next; null when empty. */
  next: string | null
}

export interface JobStore {
  /**
   * Stores jobs, ready or scheduled, in the order given. Atomic per job. Resolved: all are stored and survive what the
   * store promises to survive. Rejected with a PushError: `maybePushed` says whether they may be stored all the same.
   */
  push(items: PushItem[], now: number): Promise<void>
  /**
   * Runs `work` once, in a write transaction of its own, and stores the jobs that it answers in the same commit: all of
   * it or nothing. `work` may answer in a later microtask, but waits for nothing else. It is not begun while others
   * write. null: the store has no transactions.
   */
  transaction:
    | ((work: (connection: SqlConnection) => Promise<(PushItem | OrderedPushes)[]>, now: number) => Promise<void>)
    | null
  /** All queues that are listed, by name; or these, in the order given, whether there is anything in them or not. */
  queues(only?: readonly string[]): Promise<QueueInfo[]>
  /** Texts of a queue, next to run first, from place `offset` on. */
  peek(queue: string, offset: number, limit: number): Promise<string[]>
  /**
   * Jobs of a paused queue are not taken: neither `turn` nor `wait` hands out one that it took after this resolved. What
   * runs goes on. `on` false: they are again, at once.
   */
  pauseQueue(queue: string, on: boolean): Promise<void>
  /** Names of the paused queues, in order. */
  pausedQueues(): Promise<string[]>
  /** In the order given; null where nothing is known. */
  iterations(jids: readonly string[]): Promise<(IterationRecord | null)[]>
  /**
   * Keeps how far an iteration has come, 30 days from the first time on. False: a later execution has begun to save, and
   * nothing changed.
   */
  saveIteration(jid: string, state: IterationState, now: number): Promise<boolean>
}
