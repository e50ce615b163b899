/**
 * What a store must be able to do: the semantic operations that everything else is built on.
 *
 * The contract is internal: it changes whenever that helps. One suite (`test/conformance`) runs on every store.
 *
 * The promise behind all of it: **a job is in a queue, with an owner, in a set, or settled; at no instant nowhere.**
 * Each operation's comment says what holds after a crash at any point. "Atomic per job" means: all that one item of the
 * call asks for is done, or nothing of it; other items of the same call stand for themselves.
 *
 * Words. *Text*: a job's payload as JSON text (well-formed Unicode); the store moves texts and never edits them. *Owner*: one epoch of one
 * worker. *Ticket*: the store's own, opaque name of one attempt, never used twice. *Score*: seconds since the epoch.
 * *Now*: milliseconds of the caller's clock; leases alone use the store's own clock.
 */

import type { CancellationStore } from './contract/cancellations.ts'
import type { CronStore } from './contract/crons.ts'
import type { JobSetStore } from './contract/job-sets.ts'
import type { JobStore } from './contract/jobs.ts'
import type { MetricStore } from './contract/metrics.ts'
import type { OrderedStore } from './contract/ordered.ts'
import type { ResultStore } from './contract/results.ts'
import type { SearchStore } from './contract/search.ts'
import type { TaskStore } from './contract/tasks.ts'
import type { WorkerStore } from './contract/workers.ts'

export * from './contract/cancellations.ts'
export * from './contract/crons.ts'
export * from './contract/effects.ts'
export * from './contract/iterations.ts'
export * from './contract/job-sets.ts'
export * from './contract/jobs.ts'
export * from './contract/metrics.ts'
export * from './contract/ordered.ts'
export * from './contract/results.ts'
export * from './contract/search.ts'
export * from './contract/task-events.ts'
export * from './contract/tasks.ts'
export * from './contract/workers.ts'

export interface Store {
  readonly jobs: JobStore
  readonly workers: WorkerStore
  readonly jobSets: JobSetStore
  readonly search: SearchStore
  readonly cancellations: CancellationStore
  readonly tasks: TaskStore
  readonly ordered: OrderedStore
  readonly crons: CronStore
  readonly metrics: MetricStore
  readonly results: ResultStore

  /** `sqlite`, `redis`, …; for people. */
  readonly kind: string
  /** The URL without secrets; for people. */
  readonly url: string
  /** How many turns of one owner it is worth while to have under way at a time. */
  readonly turnsAtOnce: number

  /** Opens, and brings the schema up to date. Called by every other operation when needed; idempotent. */
  open(): Promise<void>
  /** Ends all waits and closes. Operations after it reject with STORE_CLOSED. */
  close(): Promise<void>
}
