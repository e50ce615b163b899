/**
 * Jobs and queues. To a store a job is a text.
 *
 * A job goes to queue `p3:NAME` if it has priority 3 of queue NAME (1 to 9; see job/priority.ts). Fetching from NAME returns
 * jobs with a higher priority first, each with the queue to which it was pushed. Everything else that names a queue names
 * NAME, and means the jobs with all priorities, in the order in which they are fetched.
 */

import type { BatchPush, BatchRefusal } from './batches.ts'
import type { IterationRecord, IterationState } from './effects.ts'
import type { OrderedPushes, PushItem, RefusedPush, TrackedPush } from './push-items.ts'

/**
 * What all SQLite drivers have in common. Code that knows its driver may use all of the driver's methods, except those
 * for transactions.
 */
export interface SqlConnection {
  exec(sql: string): unknown
  prepare(sql: string): {
    run(...values: SqlValue[]): unknown
    get(...values: SqlValue[]): unknown
    all(...values: SqlValue[]): unknown[]
  }
}

/**
 * Runs a statement on a connection of the app, and resolves with its rows. Its parameters are $1, $2 and so on, each once and in this
 * order, and all values are texts.
 */
export type SqlQuery = (text: string, values: string[]) => Promise<readonly Record<string, unknown>[]>

export type SqlValue = string | number | bigint | Uint8Array | null

export interface QueueInfo {
  name: string
  size: number
  /** Its jobs that wait for room in their limits, which are not in `size`. */
  limited: number
  /** Text of the job that will be fetched next; null when the queue is empty. */
  next: string | null
  /** If the queue has had priorities: texts among which are the next jobs of all of them. */
  others?: string[]
}

export type TransactionItem = PushItem | TrackedPush | OrderedPushes

/** Batches with their jobs. `answered` gets what `BatchStore.push` returns, except `exists`, and throws a refusal. */
export interface BatchItem {
  to: 'batch'
  push: BatchPush
  answered(answer: BatchRefusal | readonly RefusedPush[]): void
}

export type ThroughItem = TransactionItem | BatchItem

export interface JobStore {
  /**
   * Stores jobs, ready or scheduled, in the order given. Atomic per job. It resolves with the items that it refused because
   * of a lock or a full queue. All others are then stored, and the death of a client or a worker takes none, except that a
   * store in memory ends with its process. docs/sqlite.md and docs/redis.md tell what the end of the server, a power cut or
   * a failover may take. When it rejects with a PushError, `maybePushed: false` says that none of the jobs is stored; with
   * true some of them are or may be stored.
   */
  push(items: PushItem[], now: number): Promise<readonly RefusedPush[]>
  /**
   * Runs `work` once, in a write transaction of its own, and stores the jobs that `work` returns in the same commit: all
   * of it or nothing; if a queue is full, it rejects with QUEUE_FULL. `work` may resolve in a later microtask, but must not wait for anything else. It starts when no other
   * process writes. `refused` gets the items that were refused because of a lock before the commit, and may throw to roll
   * back. null: the store has no transactions.
   */
  transaction:
    | ((
        work: (connection: SqlConnection) => Promise<TransactionItem[]>,
        now: number,
        refused?: (pushes: readonly RefusedPush[]) => void,
      ) => Promise<void>)
    | null
  /**
   * Stores jobs through a connection of the app, in the transaction that is open there: they are there once the app has committed.
   * Workers are woken by the commit or, with `commitsNext`, by the caller: it commits as soon as the call has resolved, and then calls
   * the function that it has resolved with, which never rejects.
   * `refused` gets the items that were refused because of a lock, and may throw. When the call rejects with a HighkiqError, it has
   * changed nothing, and the app may go on with its transaction: QUEUE_FULL; NO_TRANSACTION if none is open, or if its isolation
   * level is not for such jobs; STORE_TIMEOUT if others write for too long. An error of the connection ends the transaction, as any failed
   * statement does. Jobs that are due now, at the back of a queue and without anything more, keep nobody waiting until the
   * commit; with others nobody else can write meanwhile. null: the store has no such transactions.
   */
  pushThrough:
    | ((
        query: SqlQuery,
        items: readonly ThroughItem[],
        now: number,
        options?: { refused?: (pushes: readonly RefusedPush[]) => void; commitsNext?: boolean },
      ) => Promise<() => Promise<void>>)
    | null
  /** Returns all listed queues by name; or the named ones in the order given, also when they are empty or unknown. */
  queues(only?: readonly string[]): Promise<QueueInfo[]>
  /** Returns texts of a queue, next to be fetched first, from the position `offset` on. */
  peek(queue: string, offset: number, limit: number): Promise<string[]>
  /**
   * Pauses a queue or resumes it. Once a pause has resolved, neither `settleAndFetch` nor `waitForJobs` fetches from the
   * queue. Running jobs continue.
   */
  pauseQueue(queue: string, on: boolean): Promise<void>
  /** Returns the names of the paused queues, sorted. */
  pausedQueues(): Promise<string[]>
  /** Returns the iterations of these jobs, in the order given; null for a job without one. */
  iterations(jids: readonly string[]): Promise<(IterationRecord | null)[]>
  /**
   * Stores how far an iteration has come. It is kept for 30 days from the first call on. False: a later execution of the
   * job has saved its state, and nothing changed.
   */
  saveIteration(jid: string, state: IterationState, now: number): Promise<boolean>
}
