/** Workers: fetching and settling jobs, leases, rescue, and the list of processes. */

import type { Progress } from '../../job/context.ts'
import type { Effect } from './effects.ts'
import type { SwapAnswer } from './job-sets.ts'
import type { Destination, Move } from './push-items.ts'
import type { Signal } from './signals.ts'

/** A job that an owner has fetched. It belongs to this owner until it is settled or rescued. */
export interface FetchedJob {
  queue: string
  ticket: string
  /** The text exactly as it was in the queue. */
  text: string
}

/** Reports that the attempt of a job with effects has begun. The store records no start of a plain job. */
export interface Started {
  queue: string
  ticket: string
  effects: Effect[]
}

/** How an attempt ended: where the job goes (null: it is done), what is counted, and what changes with it. */
export interface Settlement {
  queue: string
  ticket: string
  move: Destination | null
  processed: 0 | 1
  failed: 0 | 1
  effects?: Effect[]
  /** Jobs that take the place of this one, each with its own destination, in the same step. */
  also?: readonly Branch[]
}

/** One of the jobs that take the place of a job of several rows. */
export interface Branch {
  to: Destination
  effects?: Effect[]
}

/**
 * `ok` – applied. `fenced` – the ticket does not belong to this owner any more, because it was settled before or the
 * lease was lost; nothing changed. `error` – the store could not apply it now, and nothing changed; send it again. `unknown` – the
 * store failed before or while it applied this settlement; send it again. `unreachable` – the shard of the job can't be
 * reached, or has not answered yet, while other shards answer; send it again later, and do not delay other settlements.
 */
export type SettleAnswer = 'ok' | 'fenced' | 'error' | 'unknown' | 'unreachable'

/**
 * `superseded` – the event has moved on without this attempt. Settle the attempt without running the handler.
 * `unreachable` – as for settlements.
 */
export type StartAnswer = 'ok' | 'superseded' | 'unreachable'

export interface SettleAndFetch {
  now: number
  started: Started[]
  settlements: Settlement[]
  /** At most `n` jobs, in the order of `queues`, the highest priority of each first; n = 0 fetches nothing. */
  fetch: { queues: readonly string[]; n: number }
}

export interface SettleAndFetchAnswer {
  /** The owner is unknown or claimed. Nothing was applied, and every settlement answers `fenced`. */
  fenced: boolean
  started: StartAnswer[]
  settled: SettleAnswer[]
  fetched: FetchedJob[]
  /**
   * The version of the cancellations, and of the limits that were set, when the jobs were fetched; 0: there never was one. If
   * it has changed since the last call, the worker reads both before it begins a job.
   */
  cancellations: number
  /** Why a part of the call was not done, as text for display. */
  problem?: string
}

export interface Lease {
  owner: string
  /** The host as given to `join`. Its first line names the machine; the rest is opaque to the store. */
  host: string
  /** Seconds for which the lease is valid after each renewal. */
  seconds: number
  /** The stamp of the newest renewal; see `unrenewed`. */
  stamp: number
  /** End of the lease on the store's clock: compare only for equality. */
  ends: number
  /**
   * Whether the lease has ended on the store's clock. Only for display: that clock may be set, so it never decides a claim.
   */
  ended: boolean
  claimed: boolean
}

/** What must hold for a claim: the lease still has this end, or the owner has no lease (see `tidy`). */
export type ClaimCondition = { ends: number } | 'no-lease'

/** Returns the machine from the first line of a host; '' if it names none. */
export function machineOf(host: string): string {
  return host.split('\n', 1)[0] as string
}

/** A job of a claimed owner. */
export interface OrphanedJob extends FetchedJob {
  owner: string
}

/** The most jobs, and characters of their texts, that `rescue` moves in one step. */
export const RESCUE_JOBS = 2000
export const RESCUE_CHARACTERS = 32_000_000

/** Moves an orphaned job. */
export type Rescue = Omit<OrphanedJob, 'text'> & Move

/**
 * How a lease thread renews leases on its own. `module` exports `openRenewer(options)`, which returns an object with
 * `renew(owner, seconds, isWanted)` (false: the lease is lost) and `close()`. Both properties must survive `postMessage`. A
 * renewal that has waited for long, as for a lock, and is no longer wanted then, changes nothing and resolves with false.
 */
export interface Renewer {
  module: string
  options: Record<string, unknown>
}

export interface JoinOptions {
  queues: readonly string[]
  seconds: number
  host: string
}

export interface ProcessRecord {
  identity: string
  /** JSON text of what does not change while the process is alive. */
  info: string
  concurrency: number
  busy: number
  /** Milliseconds. */
  beat: number
  quiet: boolean
  /** kB. */
  rss: number
}

/** A job that a process is running, for display. */
export interface RunningJob {
  /** Unique among the running jobs of a process. */
  slot: string
  queue: string
  text: string
  /** Milliseconds. */
  startedAt: number
  /** The progress that the job's handler has reported. */
  progress?: Progress
}

export interface BeatAnswer {
  /** The oldest signal that was sent to the process and not yet delivered. */
  signal: Signal | null
  /** Whether the process was in the list already. */
  known: boolean
  /** Milliseconds that the store takes to answer; null for a store without a network connection. */
  rtt: number | null
}

/** A job that an owner has fetched, for display. */
export type OwnedJob = Omit<OrphanedJob, 'ticket'>

export interface WorkerStore {
  /**
   * One step of a worker: reports attempts that began, settles attempts that ended, and fetches jobs, in this order.
   * Atomic per job. A fetched job belongs to `owner` from then on. If the answer is lost, `orphaned` finds the job once
   * the owner is claimed. A settlement happens with all of its effects or not at all. Asking again is harmless: a ticket
   * that is gone answers `fenced` and changes nothing.
   */
  settleAndFetch(owner: string, request: SettleAndFetch): Promise<SettleAndFetchAnswer>
  /**
   * Waits, without polling, until one of `queues` may have a job, at most `ms`, or until `signal` aborts. A store that can
   * fetch while it waits returns at most `n` jobs: they belong to the owner, and no cancellation was requested, and
   * no limit changed, since the owner's last `settleAndFetch`. If the answer is empty, call `settleAndFetch`. Meanwhile the owner may settle jobs.
   */
  waitForJobs(
    owner: string,
    queues: readonly string[],
    n: number,
    ms: number,
    signal: AbortSignal,
  ): Promise<FetchedJob[]>
  /**
   * Registers an owner and starts its lease, before its first fetch. `host` says where the owner runs, so that processes on
   * the same machine can tell that it died. A name is never used twice: one that is known, or was claimed within the last
   * hour, is refused (false).
   */
  join(owner: string, options: JoinOptions): Promise<boolean>
  /** Sets the end of the lease to now + seconds, also if it has ended. False: the owner is claimed or unknown. */
  renew(owner: string, seconds: number): Promise<boolean>
  /** Removes an owner that has no jobs. False: it has jobs, nothing changed, and it will be claimed. */
  release(owner: string): Promise<boolean>
  leases(): Promise<Lease[]>
  /** Returns the owners on this machine (see `machineOf`) that are not claimed. */
  ownersOn(machine: string): Promise<Pick<Lease, 'owner' | 'host'>[]>
  /**
   * Returns the stamp of the newest renewal or join. Each later one gets a greater stamp, even when the store's clock
   * is set. With `since`, also returns the unclaimed leases that were not renewed after that stamp.
   */
  unrenewed(since: number | null): Promise<{ stamp: number; leases: Lease[] }>
  /**
   * Removes names of queues and owners that are gone, and returns the owners that have jobs but no lease: claim them.
   * This call reads the whole store, so call it rarely.
   */
  tidy(): Promise<string[]>
  /**
   * Ends the lease for good: from then on the owner's calls are fenced and its jobs are orphaned. Tasks to which the
   * owner was adding rows become `interrupted`. Without a condition the caller knows that the owner is dead. Returns
   * false, and changes nothing, if
   * - the condition does not hold,
   * - the store took so long that the condition may be old,
   * - the lease was claimed before, or
   * - nothing of the owner is stored.
   */
  claim(owner: string, condition?: ClaimCondition): Promise<boolean>
  /**
   * Returns jobs of claimed owners, to be moved to the front in this order. Newest first per owner and queue, so that
   * they keep their order. Those that `waitForJobs` fetched may be moved first, so they end up after the others. Returns at
   * most `limit` jobs, and stops once their texts have `characters`.
   */
  orphaned(limit: number, characters?: number): Promise<OrphanedJob[]>
  /**
   * Moves orphaned jobs. Atomic per job. `gone`: another worker has rescued it, or the owner is not claimed. Consecutive jobs
   * of one owner and queue are moved in one step, up to RESCUE_JOBS with RESCUE_CHARACTERS: in several steps a worker could
   * fetch the newest, which are moved first, before the others.
   */
  rescue(items: Rescue[], now: number): Promise<SwapAnswer[]>
  /** Returns what the lease thread needs; null: the main thread renews. */
  renewer(): Renewer | null
  /** Acquires or renews a lock for `seconds`. True: `holder` has it. */
  acquireLock(name: string, holder: string, seconds: number): Promise<boolean>
  /** Releases a lock if `holder` has it. */
  releaseLock(name: string, holder: string): Promise<void>
  /** Returns warnings about settings of the store that endanger jobs, with what to do; empty: none is known. */
  advice(): Promise<string[]>
  /** Lists a process and its running jobs for the next `seconds`. */
  heartbeat(process: ProcessRecord, seconds: number, running?: readonly RunningJob[]): Promise<BeatAnswer>
  /**
   * Lists running jobs of a process between its heartbeats, for `seconds`: each replaces the one with its slot. In the same
   * step removes those with the slots `ended`; an unknown slot changes nothing. A process that is not listed stays
   * unlisted, and so do its jobs.
   */
  showRunning(
    identity: string,
    seconds: number,
    running: readonly RunningJob[],
    ended: readonly string[],
  ): Promise<void>
  processes(): Promise<ProcessRecord[]>
  removeProcess(identity: string): Promise<void>
  /** Stores a signal for a process. Resolves with false when there is none. */
  signal(identity: string, signal: Signal): Promise<boolean>
  /** Returns the running jobs as each process showed them last, also those of other programs. */
  running(): Promise<(RunningJob & { identity: string })[]>
  /** Returns the fetched jobs of all owners, in any order. */
  fetched(page: { after?: string | undefined; limit: number }): Promise<{ items: OwnedJob[]; next: string | null }>
  /** Returns the identity of the leading process, if another program elects one, as Sidekiq Enterprise does. */
  leader(): Promise<string | null>
}
