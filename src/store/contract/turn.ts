/** One step of a worker, and its waits. */

import type { Effect } from './effect.ts'
import type { Destination } from './job.ts'

/** A job taken from a queue: it belongs to the owner who took it until it is settled or restored. */
export interface Taken {
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

export interface Turn {
  now: number
  started: Started[]
  settlements: Settlement[]
  /** At most `n` jobs, in the order of `queues`; n = 0 takes nothing. */
  take: { queues: readonly string[]; n: number }
}

export interface TurnAnswer {
  /** The owner is unknown or claimed: nothing was applied, every settlement answers `fenced`. */
  fenced: boolean
  started: StartAnswer[]
  settled: SettleAnswer[]
  taken: Taken[]
  /**
   * The version of the marks when the jobs were taken; 0: nothing was ever marked. When it is another one than before,
   * whoever takes reads the marks before it begins a job.
   */
  marks: number
  /** What kept a part of the turn from being done, in words for people. */
  problem?: string
}

export interface TurnVerbs {
  /**
   * One step of a worker: tells what began, settles what ended, takes what comes next, in this order. Atomic per job.
   * A job that was taken belongs to `owner` from then on: if no answer comes it is found again by `stranded`. A
   * settlement either happened with all of its effects or not at all; asking again is harmless: a ticket that is gone
   * answers `fenced` and changes nothing.
   */
  turn(owner: string, turn: Turn): Promise<TurnAnswer>

  /**
   * Waits, without polling, until one of `queues` may have a job, at most `ms`, or until `signal` aborts. A store that
   * hands over jobs while waiting answers them, at most `n`: they are taken, and nothing was marked since the owner's last
   * turn. Empty: ask with `turn`.
   */
  wait(owner: string, queues: readonly string[], n: number, ms: number, signal: AbortSignal): Promise<Taken[]>
}
