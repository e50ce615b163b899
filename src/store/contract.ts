/**
 * What a store must be able to do. Everything else in Highkiq is built on these operations.
 *
 * The contract is exported as `highkiq/store`; it may change with any minor version before 1.0. One suite
 * (`test/conformance`, exported as `highkiq/store/conformance`) runs on every store.
 *
 * Its promise: **at every instant a job is in a queue, with an owner, in a job set, or settled.** The comment of an
 * operation says what holds after a crash at any point of it. "Atomic per job" means: either everything that one item
 * of the call asks for is done, or nothing of it. The other items of the same call are independent of it.
 *
 * Terms:
 * - *text*: a job's payload as JSON text, in well-formed Unicode. A store moves texts and never edits them, except that
 *   it appends the `members` of a finished job.
 * - *owner*: the name under which a worker holds jobs and a lease. A worker that restarts gets a new name.
 * - *ticket*: the store's own, opaque name of one attempt. It is never used twice.
 * - *score*: a time in seconds since the epoch.
 * - *now*: the caller's clock in milliseconds. Only leases use the store's own clock.
 */

import type { BatchStore } from './contract/batches.ts'
import type { CancellationStore } from './contract/cancellations.ts'
import type { CronStore } from './contract/crons.ts'
import type { Finding } from './contract/findings.ts'
import type { JobEventStore } from './contract/job-events.ts'
import type { JobSetStore } from './contract/job-sets.ts'
import type { JobStore } from './contract/jobs.ts'
import type { LeftoverStore } from './contract/leftovers.ts'
import type { LimitStore } from './contract/limits.ts'
import type { MetricStore } from './contract/metrics.ts'
import type { MigrationPlan } from './contract/migration-plan.ts'
import type { OrderedStore } from './contract/ordered.ts'
import type { OrderedTransferStore } from './contract/ordered-transfers.ts'
import type { ResultStore } from './contract/results.ts'
import type { SearchStore } from './contract/search.ts'
import type { TaskTransferStore } from './contract/task-transfers.ts'
import type { TaskStore } from './contract/tasks.ts'
import type { PageTransferStore } from './contract/transfers.ts'
import type { UniqueStore } from './contract/unique.ts'
import type { WorkerStore } from './contract/workers.ts'

export * from './contract/batch-ledger.ts'
export * from './contract/batches.ts'
export * from './contract/cancellations.ts'
export * from './contract/crons.ts'
export * from './contract/effects.ts'
export * from './contract/findings.ts'
export * from './contract/finished-jobs.ts'
export * from './contract/job-events.ts'
export * from './contract/job-sets.ts'
export * from './contract/jobs.ts'
export * from './contract/leftovers.ts'
export * from './contract/limits.ts'
export * from './contract/metrics.ts'
export * from './contract/migration-plan.ts'
export * from './contract/ordered.ts'
export * from './contract/ordered-transfers.ts'
export * from './contract/push-items.ts'
export * from './contract/results.ts'
export * from './contract/search.ts'
export * from './contract/signals.ts'
export * from './contract/task-events.ts'
export * from './contract/task-spec.ts'
export * from './contract/task-transfers.ts'
export * from './contract/tasks.ts'
export * from './contract/transfers.ts'
export * from './contract/unique.ts'
export * from './contract/workers.ts'

export type TransferStore = PageTransferStore & TaskTransferStore & OrderedTransferStore

export interface Store {
  readonly jobs: JobStore
  readonly workers: WorkerStore
  readonly jobSets: JobSetStore
  readonly search: SearchStore
  readonly cancellations: CancellationStore
  readonly tasks: TaskStore
  readonly ordered: OrderedStore
  readonly crons: CronStore
  readonly limits: LimitStore
  readonly events: JobEventStore
  readonly unique: UniqueStore
  readonly batches: BatchStore
  readonly metrics: MetricStore
  readonly results: ResultStore
  readonly transfers: TransferStore
  /** Only in a store whose server may have jobs of other programs. */
  readonly leftovers?: LeftoverStore

  /** The kind of store for display: `sqlite`, `redis`, … */
  readonly kind: string
  /** The URL for display, without secrets. */
  readonly url: string
  /** The URLs of its shards, if it consists of several stores. Each job is on one of them. */
  readonly shardUrls?: readonly string[]
  /** The URLs of the shards that can't be reached now, as far as this process knows. */
  readonly unreachableShards?: readonly string[]
  /**
   * Runs a read, and all reads that it calls, without the shards that can't be reached: their lists and figures leave out
   * what is stored there. Without it, such reads reject.
   */
  withoutUnreachable?<T>(read: () => T): T
  /** The number of calls that one caller should have under way at a time, for instance `settleAndFetch` of an owner; more do not make it faster. */
  readonly maxConcurrentCalls: number

  /**
   * Opens the store and migrates its schema. Every other operation opens the store if needed. Idempotent.
   * @throws STORE_UNUSABLE with `retryAfterMs` while a process of an older version has a lease
   */
  open(): Promise<void>
  /**
   * Examines the server or the file, also when `open` rejects; changes nothing. A finding of the check `schema` means that
   * `open` would migrate the store of an older version, so it is not opened to examine its jobs. A store without this
   * method is examined only from outside.
   * @throws STORE_UNREACHABLE, STORE_UNUSABLE when it can't be examined at all
   */
  diagnose?(): Promise<Finding[]>
  /**
   * Returns what `open` would do to the schema; changes nothing, and does not open the store. `highkiq migrate --dry-run` shows it.
   * @throws STORE_UNREACHABLE, STORE_UNUSABLE as `open` does
   */
  planMigration?(): Promise<MigrationPlan>
  /**
   * Copies the store to a new file while other processes use it. Does not open or migrate the store. Blocks the event loop
   * until the copy is written. Only a store in a file has this method.
   * @throws INVALID_OPTION when the new file exists or can't be written, or the store does not exist; STORE_FULL, STORE_UNUSABLE
   */
  backUp?(to: string): Promise<void>
  /** Ends all waits and closes the store. Later operations reject with STORE_CLOSED. */
  close(): Promise<void>
}
