/** Jobs and rows of a business in one commit. */

import type { PushItem } from './job.ts'
import type { OrderedPush } from './ordered.ts'

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
export interface OrderedBatch {
  to: 'ordered'
  queue: string
  shards: number
  items: readonly OrderedPush[]
}

export interface TransactionVerbs {
  /**
   * Runs `work` once, in a write transaction of its own, and stores the jobs that it answers in the same commit: all of
   * it or nothing. `work` may answer in a later microtask, but waits for nothing else. It is not begun while others
   * write. null: the store has no transactions.
   */
  transaction:
    | ((work: (connection: SqlConnection) => Promise<(PushItem | OrderedBatch)[]>, now: number) => Promise<void>)
    | null
}
