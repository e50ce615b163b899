/** Changes that a store makes in the same atomic step in which it moves a job. */

import type { EventStatus, Message } from './task-events.ts'

/**
 * Changes the event of a tracked job.
 *
 * The effect applies if its (run, attempt, begun before ended) is not older than the event's. It also applies to a final
 * event, which it re-opens. Otherwise, or when the task is gone, it has no effect. It is idempotent.
 */
export interface EventEffect {
  kind: 'event'
  /** The event's id: 16 hex digits of the task and 8 of the row's index. */
  jid: string
  run: number
  /** The attempt (1 = first) that begins (`working`) or has ended (any other status). */
  attempt: number
  status: EventStatus
  at: number
  /** When the attempt began, if its start was not reported in an earlier call. */
  startedAt?: number
  /**
   * What happens in the task's window. `keep`: the job stays in the queue or with an owner. `leave`: the job goes to a
   * set or has ended, and the next row of the backlog enters the window. `enter`: the job comes back, into the queue if
   * the window has room, else to the front of the task's backlog.
   */
  window: 'keep' | 'leave' | 'enter'
  /** The code of the reason, for `failed`, `error` and `cancelled`. */
  code?: string
  messages?: Message[]
  /** JSON text, at most 16 kB. */
  result?: string
}

/** How far an iteration has come: a job that processes many items, one by one. */
export interface IterationState {
  /** Attempts begun, this one included. */
  executions: number
  /** Seconds, the sum of all attempts. */
  runtime: number
  /** JSON text of the position from which the next attempt starts. */
  cursor: string
}

/** The stored state of an iteration. One that was cancelled before its first attempt has only `cancelled`. */
export interface IterationRecord extends Omit<IterationState, 'cursor'> {
  /** JSON text; null before the first item. */
  cursor: string | null
  /** When it was cancelled, in milliseconds; null: it was not. */
  cancelled: number | null
}

/** Changes the stored state of an iteration. */
export interface IterationEffect {
  kind: 'iteration'
  jid: string
  /** null: the state is removed. */
  state: IterationState | null
}

/** Removes the cancellation of a job that has ended or will not run. Without a cancellation it has no effect. */
export interface CancellationEffect {
  kind: 'clear-cancellation'
  jid: string
  at: number
  /** Whether the job did not finish because of its cancellation; the store remembers this for DROPPED_LIFE_MS. */
  dropped: boolean
}

/** Releases a lock if `holder` (a jid) still has it. It is idempotent. */
export interface ReleaseLockEffect {
  kind: 'release-lock'
  lock: string
  holder: string
}

export type Effect = EventEffect | IterationEffect | CancellationEffect | ReleaseLockEffect
