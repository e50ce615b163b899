/** Events of jobs: what is recorded, and how it is read. */

import type { Progress } from '../job/context.ts'
import { classOf, messageOf } from '../job/errors.ts'
import type { Payload } from '../job/payload.ts'
import { baseQueue } from '../job/priority.ts'
import type { RecordEffect, RecordedEvent } from '../store/contract.ts'
import type { Outcome } from '../worker/plugin.ts'

export const JOB_EVENT_KINDS = [
  ...['pushed', 'started', 'progress', 'succeeded', 'failed', 'retried', 'died', 'cancelled'],
] as const as readonly JobEventKind[]

/**
 * `failed`: an attempt failed; `retried` or `died` follows, except for a business failure. `retried`: the job runs again.
 * `died`: it does not, after its last failure or crash, a Discard, or because it was killed.
 */
export type JobEventKind = 'pushed' | 'started' | 'progress' | 'succeeded' | 'failed' | 'retried' | 'died' | 'cancelled'

export interface JobEvent {
  /** The position of the event: pass it as `after` to continue behind it. */
  id: string
  kind: JobEventKind
  jid: string
  /** The name of the job; that of the wrapped class for a job of Active Job. */
  job: string
  queue: string
  at: Date
  /** The number of the attempt, from 1 on: absent if there was no attempt. */
  attempt?: number
  /** The last progress that the handler reported; only with `progress`. */
  progress?: Progress
  /** The error; only with `failed` and `died`. */
  error?: { class: string; message: string }
  /** When the job runs: of `retried`, and of `pushed` for a scheduled job. */
  due?: Date
  /**
   * Why. Of `retried`: `failed` or `crashed`. Of `died`: `failed`, `crashed`, `discarded` or `killed`. Of `cancelled`:
   * `cancelled`, `expired`, `deleted`, or `filtered` by client middleware.
   */
  reason?: string
}

/** An error message has at most this many characters. */
const MOST_CHARACTERS = 1000

type Details = Pick<JobEvent, 'progress' | 'error' | 'reason'> & { due?: number | undefined }

/** An event as it is stored. It is short, because each job has several. `attempt` is 0 without one. */
type Stored = [kind: JobEventKind, jid: string, job: string, queue: string, at: number, attempt: number, more?: Details]

/** Returns the effect that records an event. `queue` is where the job was, or goes. */
export function recordOf(
  kind: JobEventKind,
  { jid, class: name, wrapped }: Pick<Payload, 'jid' | 'class' | 'wrapped'>,
  queue: string,
  at: number,
  attempt = 0,
  more?: Details,
): RecordEffect {
  const job = typeof wrapped === 'string' ? wrapped : name
  const base = typeof queue === 'string' ? baseQueue(queue) : 'default'
  const stored: Stored = [kind, jid, job, base, at, attempt]
  if (more) stored.push(more)
  return { kind: 'record', text: JSON.stringify(stored) }
}

/** Whether a job records events. The rows of tasks and single tracked jobs do not: their tasks have their events. */
export function isRecorded({ hk_task }: Payload): boolean {
  return hk_task === undefined
}

/** Returns the effects that record how an attempt ended, or what happened to a job that did not run. */
export function recordsOf(
  outcome: Outcome,
  payload: Payload,
  queue: string,
  at: number,
  attempt?: number,
): RecordEffect[] {
  const of = (kind: JobEventKind, more?: Details) => recordOf(kind, payload, queue, at, attempt, more)
  switch (outcome.kind) {
    case 'done':
      return [of('succeeded')]
    case 'business-failure':
      return [of('failed', { error: errorOf(outcome.error) })]
    case 'retry':
      return [
        of('failed', { error: errorOf(outcome.error) }),
        of('retried', { due: Math.round(outcome.at), reason: 'failed' }),
      ]
    case 'dead':
    case 'discarded': {
      const error = errorOf(outcome.error)
      return [of('failed', { error }), of('died', { error, reason: outcome.kind === 'dead' ? 'failed' : 'discarded' })]
    }
    case 'rescued':
      return [of('retried', { reason: 'crashed' })]
    case 'crashed-out':
      return [of('died', { reason: 'crashed' })]
    case 'killed':
      return [of('died', { reason: 'killed' })]
    case 'cancelled':
    case 'expired':
    case 'deleted':
    case 'filtered':
      return [of('cancelled', { reason: outcome.kind })]
    default:
      return []
  }
}

function errorOf(error: unknown): { class: string; message: string } {
  return { class: classOf(error), message: messageOf(error).slice(0, MOST_CHARACTERS) }
}

/** Returns an event that another process may have recorded. */
export function readEvent({ number, event }: RecordedEvent): JobEvent {
  const [kind, jid, job, queue, at, attempt, { due, ...more } = {}] = event as Stored
  return {
    ...{ id: String(number), kind, jid, job, queue, at: new Date(at) },
    ...(attempt > 0 ? { attempt } : {}),
    ...(due === undefined ? {} : { due: new Date(due) }),
    ...more,
  }
}
