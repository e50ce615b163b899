/**
 * Jobs and queues. To a store a job is a text.
 *
 * A job goes to queue `p3:NAME` if it has priority 3 of queue NAME (1 to 9; see job/priority.ts). Fetching from NAME returns
 * jobs with a higher priority first, each with the queue to which it was pushed. Everything else that names a queue names
 * NAME, and means the jobs with all priorities, in the order in which they are fetched.
 */

import type { Refusal } from '../../job/errors.ts'
import type { Effect, IterationRecord, IterationState } from './effects.ts'
import type { OrderedPush } from './ordered.ts'
import type { TaskSpec } from './task-spec.ts'

/**
 * The sets of jobs that are not in a queue, sorted by (score, text). A set has each text once: a job whose text is
 * there already, byte for byte, gets a space at its end. `limited:NAME` has the jobs that wait for room in a limit.
 * `moving:ORIGIN:TASK` has the jobs of a frozen task that were in a queue (sorted by their order) or in another set.
 * `finished` has jobs that are done, for display; of those that end with the same text and score it keeps one.
 */
export type SetName = 'retry' | 'schedule' | 'dead' | 'finished' | LimitedSet | MovingSet
export type LimitedSet = `limited:${string}`
export type MovingSet = `moving:${MovingOrigin}:${string}`
export const MOVING_ORIGINS = ['schedule', 'retry', 'queue', 'dead'] as const
export type MovingOrigin = (typeof MOVING_ORIGINS)[number]

/** Returns the sets in which the jobs of a frozen task wait, by where each was before. */
export function movingSets(task: string, origins: readonly MovingOrigin[] = MOVING_ORIGINS): MovingSet[] {
  return origins.map((origin): MovingSet => `moving:${origin}:${task}`)
}

/** Where a job goes. */
export type Destination =
  | { to: 'queue'; queue: string; text: string; end: 'front' | 'back' }
  | { to: SetName; text: string; score: number }

/** The move of a job out of its queue, its set or its dead owner, with its effects. `to: null` drops the job. */
export interface Move {
  to: Destination | null
  effects?: Effect[] | undefined
}

/** For this long a store remembers the id of a push with `once`. */
export const ONCE_SECONDS = 300

/** A lock that a unique job needs in order to be stored. */
export interface UniqueClaim {
  key: string
  /** The lock is free from this time on, in milliseconds of the callers' clocks. */
  ends?: number
  /** The lock is held until `ends`, also when its job has ended before. */
  outlives?: boolean
}

/**
 * A job to store. With `once`, the job's id, the push may be repeated within ONCE_SECONDS, also with another text or
 * destination: a job that was stored before is not stored again. An item with `once` has no effects but `record`.
 * An item with `unique` is stored if all of its locks are free, and holds them from then on. Else it is refused, also if its own
 * job holds the lock: then an earlier push has stored it. An item with `maxLength` is stored if its queue has fewer jobs
 * than that, of all priorities.
 */
export type PushItem = Destination & {
  effects?: Effect[]
  once?: string
  unique?: { jid: string; claims: readonly UniqueClaim[] }
  maxLength?: number
}

/** An item that was not stored, because a job holds the first of its locks that is held, or because its queue is full. */
export interface RefusedPush extends Refusal {
  item: PushItem
}

/** The answer of a push that refused nothing. */
export const NOTHING_REFUSED: readonly RefusedPush[] = []

/** A single tracked job: the record of its task, which is created in the same step, and the job. */
export interface TrackedPush {
  task: TaskSpec
  item: PushItem
}

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

export type SqlValue = string | number | bigint | Uint8Array | null

/** Ordered jobs for one queue, at most ORDERED_PAGE. A new queue is defined with `shards`. */
export interface OrderedPushes {
  to: 'ordered'
  queue: string
  shards: number
  items: readonly OrderedPush[]
}

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
