/** How a feature has its say in the running of jobs without the worker knowing it. */

import type { JobContext, TaskOfJob } from '../job/context.ts'
import type { Payload } from '../job/payload.ts'
import type { Effect } from '../store/contract.ts'
import type { Vitals } from './vitals.ts'

/** What can happen to a job's attempt, and to a job that is moved about. */
export type Outcome =
  | { kind: 'started' }
  | { kind: 'done'; result: unknown }
  | { kind: 'business-failure'; error: unknown }
  /** Failed, and runs again. */
  | { kind: 'retry'; error: unknown; at: number; count: number }
  /** Failed for good; `discarded`: the job itself asked to be dropped. */
  | { kind: 'dead'; error: unknown }
  | { kind: 'discarded'; error: unknown }
  | { kind: 'snoozed'; seconds: number }
  | { kind: 'released' }
  /** Stopped between two steps of its own, and goes on later. */
  | { kind: 'paused' }
  /** The worker stops and puts the job back. */
  | { kind: 'interrupted' }
  /** Taken back before it had begun. */
  | { kind: 'untouched' }
  /** It was several rows of a task: each goes its own way from here on. Without an error it had not begun. */
  | { kind: 'apart'; error?: unknown }
  /** Its process died; it goes back to its queue. */
  | { kind: 'restored'; stalls: number }
  /** Its process died too often. */
  | { kind: 'stalled-out'; stalls: number }
  /** It was due, and goes from a set to its queue. */
  | { kind: 'promoted' }
  /** Client middleware stopped it on that way. */
  | { kind: 'stopped' }
  /** Somebody deleted it, while it waited. */
  | { kind: 'deleted' }
  /** Somebody put it into the dead set, while it waited. */
  | { kind: 'killed' }
  /** Somebody sent it from a set to its queue. */
  | { kind: 'requeued' }
  /** Somebody cancelled it; `begun`: while it ran. */
  | { kind: 'cancelled'; begun: boolean }
  /** It could not begin in time. */
  | { kind: 'expired' }

export interface Aspect {
  /**
   * What changes with the job, in the same step. Outside a running attempt `ctx` is absent: then it must follow from the
   * payload alone, for the program that moves the job may be another one.
   */
  effects?(payload: Payload, outcome: Outcome, at: number, ctx?: JobContext): Effect[] | undefined
  /**
   * What a handler returned passes here before its attempt is done: it may be kept elsewhere, and something else be the
   * result. What is thrown here is thrown as if by the handler. undefined: it stays as it is.
   */
  returned?(payload: Payload, result: unknown, ctx: JobContext): Promise<unknown> | undefined
  /** An attempt that had begun has ended so, after `ms`. Called for each job: it must cost next to nothing. */
  ended?(payload: Payload, outcome: Outcome, ms: number): void
  /**
   * Whether another program may cancel this attempt without Highkiq's flag, so that the store is asked about it anyway.
   */
  cancelledByOthers?(ctx: JobContext): boolean
  /** The task that the context shows. */
  taskOf?(payload: Payload): TaskOfJob | undefined
}

/** Something that runs as long as a worker does. */
export interface Service {
  start(): Promise<void> | void
  /** Begin nothing new. */
  quiet(): Promise<void> | void
  stop(): Promise<void> | void
}

/** What runs in a slot just now. */
export interface Running {
  readonly ctx: JobContext
  readonly payload: Payload
  readonly taken: { readonly queue: string; readonly text: string }
  readonly startedAt: number
  /** The how-many-th it is that its worker began. */
  readonly place: number
}

/** What a line of work shares with the others of its worker. */
export interface LineHost {
  owner(): string
  readonly vitals: Vitals
  /** Of the next job that the worker begins. */
  nextPlace(): number
  /** The store says that this owner is not ours any more: become another one. */
  onFenced(): Promise<void>
}

/** Work that is taken, run and settled under a worker's owner and lease: its capsules, and what a feature adds. */
export interface Line {
  /** Those that the lease is for. */
  readonly queues: readonly string[]
  readonly busy: number
  readonly attempts: readonly Running[]
  start(): void
  /** Takes no more. */
  quiet(): void
  /** Resolves when nothing runs, and nothing is about to. */
  idle(): Promise<void>
  /** Tells every handler that runs to end. */
  abort(code: 'SHUTDOWN' | 'LEASE_LOST', message: string): void
  /** Puts the jobs that still run or were interrupted back into their queues, and ends; returns these jobs. */
  stop(): Promise<readonly Running[]>
  /** What the owner holds belongs to others now: forget it. */
  forget(): void
}
