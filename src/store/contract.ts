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

import type { CronVerbs } from './contract/cron.ts'
import type { IterationVerbs } from './contract/iteration.ts'
import type { JobVerbs } from './contract/job.ts'
import type { LeaseVerbs } from './contract/lease.ts'
import type { LookVerbs } from './contract/look.ts'
import type { MarkVerbs } from './contract/mark.ts'
import type { MetricVerbs } from './contract/metric.ts'
import type { OrderedVerbs } from './contract/ordered.ts'
import type { ResultVerbs } from './contract/result.ts'
import type { SearchVerbs } from './contract/search.ts'
import type { SecretVerbs } from './contract/secret.ts'
import type { SetVerbs } from './contract/set.ts'
import type { TaskVerbs } from './contract/task.ts'
import type { TransactionVerbs } from './contract/transaction.ts'
import type { TurnVerbs } from './contract/turn.ts'

export * from './contract/cron.ts'
export * from './contract/effect.ts'
export * from './contract/event.ts'
export * from './contract/iteration.ts'
export * from './contract/job.ts'
export * from './contract/lease.ts'
export * from './contract/look.ts'
export * from './contract/mark.ts'
export * from './contract/metric.ts'
export * from './contract/ordered.ts'
export * from './contract/result.ts'
export * from './contract/search.ts'
export * from './contract/secret.ts'
export * from './contract/set.ts'
export * from './contract/task.ts'
export * from './contract/transaction.ts'
export * from './contract/turn.ts'

export interface Store
  extends JobVerbs,
    TurnVerbs,
    LeaseVerbs,
    SetVerbs,
    SearchVerbs,
    MarkVerbs,
    LookVerbs,
    ResultVerbs,
    SecretVerbs,
    TransactionVerbs,
    TaskVerbs,
    OrderedVerbs,
    MetricVerbs,
    IterationVerbs,
    CronVerbs {
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
