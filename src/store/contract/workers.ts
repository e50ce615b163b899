/** One step of a worker, and its waits. */

import type { Effect } from './effects.ts'
import type { SwapAnswer } from './job-sets.ts'
import type { Destination } from './jobs.ts'

/** A job taken from a queue: it belongs to the owner who took it until it is settled or restored. */
export interface FetchedJob {
  queue: string
  ticket: string
  /** Exactly as it was pushed. */
  text: string
}

/** Tells that an attempt has begun. */
export interface Started {
  queue: string
  ticket: string
  effects: Effect[]
}

/** How an attempt ended: where the job goes (null: it is done), what is counted, what changes with it. */
export interface Settlement {
  queue: string
  ticket: string
  move: Destination | null
  processed: 0 | 1
  failed: 0 | 1
  effects?: Effect[]
  /** What it falls apart into: each goes its own way, in the same step. */
  also?: readonly Branch[]
}

/** A job that comes of another one. */
export interface Branch {
  to: Destination
  effects?: Effect[]
}

/**
 * `ok` – applied. `fenced` – the ticket is not this owner's any more (settled before, or the lease was lost): nothing
 * changed. `error` – could not be applied now and nothing changed: ask again.
 */
export type SettleAnswer = 'ok' | 'fenced' | 'error'

/** `superseded` – the event has moved on without this attempt: settle it without running the handler. */
export type StartAnswer = 'ok' | 'superseded'

export interface SettleAndFetch {
  now: number
  started: Started[]
  settlements: Settlement[]
  /** At most `n` jobs, in the order of `queues`; n = 0 takes nothing. */
  fetch: { queues: readonly string[]; n: number }
}

export interface SettleAndFetchAnswer {
  /** The owner is unknown or claimed: nothing was applied, every settlement answers `fenced`. */
  fenced: boolean
  started: StartAnswer[]
  settled: SettleAnswer[]
  fetched: FetchedJob[]
  /**
   * The version of the marks when the jobs were taken; 0: nothing was ever marked. When it is another one than before,
   * whoever takes reads the marks before it begins a job.
   */
  cancellations: number
  /** What kept a part of the turn from being done, in words for people. */
  problem?: string
}

export interface Lease {
  owner: string
  /** The host as given to `join`: its first line names the machine, the rest is opaque to the store. */
  host: string
  /** Seconds for which the lease holds after each renewal. */
  seconds: number
  /** The stamp of the newest renewal; see `unrenewed`. */
  renewed: number
  /** End of the lease on the store's clock: compare only for equality. */
  ends: number
  /**
   * Whether the end is past on the store's clock. Only for display: that clock may be set, so it never decides a claim.
   */
  ended: boolean
  claimed: boolean
}

/** Returns the machine of an owner, from the first line of its host; '' when that names none. */
export function machineOf(host: string): string {
  return host.split('\n', 1)[0] as string
}

export interface OrphanedJob {
  owner: string
  queue: string
  ticket: string
  text: string
}

export interface Rescue {
  owner: string
  queue: string
  ticket: string
  /** null: the job is dropped. */
  to: Destination | null
  effects?: Effect[]
}

/**
 * What a lease thread needs to renew on its own: `module` exports `openRenewer(options)`, which answers an object with
 * `renew(owner, seconds)` (false: lost) and `close()`. Both must survive `postMessage`.
 */
export interface Renewer {
  module: string
  options: Record<string, unknown>
}

export interface JoinOptions {
  queues: readonly string[]
  seconds: number
  host: string
  /** The owner takes jobs, and puts those of dead owners back. */
  isWorker?: boolean
}

export interface ProcessRecord {
  identity: string
  /** JSON text: what does not change while the process lives. */
  info: string
  concurrency: number
  busy: number
  /** Milliseconds. */
  beat: number
  quiet: boolean
  /** kB. */
  rss: number
}

/** What a process works on, as it is shown to people. */
export interface RunningJob {
  /** Different for each of a process's running jobs. */
  slot: string
  queue: string
  text: string
  /** Milliseconds. */
  startedAt: number
  /** How far it has come, as its handler says. */
  progress?: { done: number; total?: number; note?: string }
}

export interface BeatAnswer {
  /** The oldest signal that was sent to the process. */
  signal: Signal | null
  /** Whether it was shown before. */
  known: boolean
  /** Milliseconds that the store takes to answer; null where nobody is asked over a line. */
  rtt: number | null
}

/** What belongs to an owner. */
export interface OwnedJob {
  owner: string
  queue: string
  text: string
}

export type Signal = 'TSTP' | 'TERM' | 'TTIN'

export interface WorkerStore {
  /**
   * One step of a worker: tells what began, settles what ended, takes what comes next, in this order. Atomic per job.
   * A job that was taken belongs to `owner` from then on: if no answer comes it is found again by `stranded`. A
   * settlement either happened with all of its effects or not at all; asking again is harmless: a ticket that is gone
   * answers `fenced` and changes nothing.
   */
  settleAndFetch(owner: string, turn: SettleAndFetch): Promise<SettleAndFetchAnswer>
  /**
   * Waits, without polling, until one of `queues` may have a job, at most `ms`, or until `signal` aborts. A store that
   * hands over jobs while waiting answers them, at most `n`: they are taken, and nothing was marked since the owner's last
   * turn. Empty: ask with `turn`.
   */
  waitForJobs(
    owner: string,
    queues: readonly string[],
    n: number,
    ms: number,
    signal: AbortSignal,
  ): Promise<FetchedJob[]>
  /**
   * Enters an owner, before its first take. `host` says where it runs, for those who can tell that it died. An owner's
   * name is never used twice: one that is known, or was claimed within the last hour, is refused (false).
   * @throws STORE_UNUSABLE with `retryAfterMs` for a worker, while a lease has not ended that an older version keeps
   * elsewhere in the store
   */
  join(owner: string, about: JoinOptions): Promise<boolean>
  /** Sets the end of the lease to now + seconds, also when it had ended. False: the owner is claimed or unknown. */
  renew(owner: string, seconds: number): Promise<boolean>
  /** Strikes the owner off, if it holds no job; else false and nothing changes: it will be claimed. */
  release(owner: string): Promise<boolean>
  leases(): Promise<Lease[]>
  /** Lists the owners on this machine (see `machineOf`) that are not claimed. */
  ownersOn(machine: string): Promise<Pick<Lease, 'owner' | 'host'>[]>
  /**
   * Returns the stamp of the newest renewal or join. Each later one gets a greater stamp, even when the store's clock
   * is set. With `since`, also returns the unclaimed leases that were not renewed after that stamp.
   */
  unrenewed(since: number | null): Promise<{ stamp: number; leases: Lease[] }>
  /**
   * Goes through the whole store, so call it rarely. It drops names of queues and owners that are gone, and returns the
   * owners that hold jobs without a lease; claim those with the end 0.
   */
  tidy(): Promise<string[]>
  /**
   * Takes the lease away for good: from then on the owner's turns are fenced and its jobs can be restored. With `ends`,
   * only if the lease still ends there; null claims an owner that is known to be dead. Tasks that the owner was
   * adding rows to become `interrupted`.
   */
  claim(owner: string, ends: number | null): Promise<boolean>
  /** Jobs of claimed owners, newest first per queue, so that restoring to the front in this order keeps their order. */
  orphaned(limit: number): Promise<OrphanedJob[]>
  /** Moves jobs of claimed owners. Atomic per job. `gone`: restored by another, or the owner is not claimed. */
  rescue(items: Rescue[], now: number): Promise<SwapAnswer[]>
  /** For the lease thread; null: the main thread renews. */
  renewer(): Renewer | null
  /** A lease on a duty that one process at a time should do. True: held (or still held) by `holder` for `seconds`. */
  acquireLock(duty: string, holder: string, seconds: number): Promise<boolean>
  /** Gives a duty up, if `holder` has it. */
  releaseLock(duty: string, holder: string): Promise<void>
  /** What in the store's settings endangers jobs and what to do, in words for people; empty: nothing that can be seen. */
  advice(): Promise<string[]>
  /** Shows a process, and what it works on, for the next `seconds`. */
  heartbeat(process: ProcessRecord, seconds: number, running?: readonly RunningJob[]): Promise<BeatAnswer>
  processes(): Promise<ProcessRecord[]>
  removeProcess(identity: string): Promise<void>
  /** False: no such process. */
  signal(identity: string, signal: Signal): Promise<boolean>
  /** What processes have shown that they work on, also those of other programs: up to a beat old. */
  running(): Promise<(RunningJob & { identity: string })[]>
  /** What belongs to owners now, in any order. */
  fetched(page: { after?: string | undefined; limit: number }): Promise<{ items: OwnedJob[]; next: string | null }>
  /** Identity of the process that leads, where somebody elects one (Sidekiq Enterprise does). */
  leader(): Promise<string | null>
}
