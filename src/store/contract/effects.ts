/** What may change together with a job, in the step that moves it. */

import type { IterationState } from './iterations.ts'
import type { EventStatus, Message } from './task-events.ts'

/**
 * A change of a tracked job's event, in the step that moves the job.
 *
 * It applies when its (run, attempt, begun before ended) is not older than the event's own, also on a final event, which
 * it re-opens; otherwise, or when the task is gone, it has no effect. Applying it twice is applying it once.
 */
export interface EventEffect {
  kind: 'event'
  /** Names the event: 16 hex digits of the task + 8 of the index. */
  jid: string
  run: number
  /** The attempt (1 = first) that begins (`working`) or has ended (any other status). */
  attempt: number
  status: EventStatus
  at: number
  /** When the attempt began, told with its end if that was sooner than the next call. */
  startedAt?: number
  /**
   * The job's place in its task's window: `keep` – it stays in the queue or with an owner; `leave` – it goes away (to a
   * set, or it ended), and the next waiting row comes in; `enter` – it comes back: into the queue while the window has
   * room, else to the front of the task's backlog.
   */
  window: 'keep' | 'leave' | 'enter'
  /** The reason's group, of failed, error and cancelled. */
  code?: string
  messages?: Message[]
  /** JSON text, at most 16 kB. */
  result?: string
}

/** A change of what is known of an iteration, in the step that moves its job; null: it is not needed any more. */
export interface IterationEffect {
  kind: 'iteration'
  jid: string
  state: IterationState | null
}

/** A marked job has come to its end, or will not run: its mark goes, if there is one. Without one it has no effect. */
export interface CancellationEffect {
  kind: 'unmark'
  jid: string
  at: number
  /** It did not run to its end because of the mark: known for a minute, for those who look for it at that time. */
  dropped: boolean
}

/** A lock is free again, if `holder` (a jid) still has it. Applying it twice is applying it once. */
export interface UnlockEffect {
  kind: 'unlock'
  lock: string
  holder: string
}

/** The closed set of things that may change together with a job. */
export type Effect = EventEffect | IterationEffect | CancellationEffect | UnlockEffect
