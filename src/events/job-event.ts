/** Events of jobs: what is recorded, and how it is read. */

import type { Progress } from '../job/context.ts'
import { classOf, messageOf } from '../job/errors.ts'
import { isSingleTracked, type Payload } from '../job/payload.ts'
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
  /** The position of the event: pass it as `after` to continue after it. */
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

type Details = Pick<JobEvent, 'progress' | 'error' | 'reason'> & { due?: number }

/**
 * A record of an event as a store returns it. `attempt` is 0 without one. With `began` it also holds the event `started` of the
 * same attempt, before the other: most jobs start and end between two calls.
 */
type Stored = [
  jid: string,
  kind: JobEventKind,
  job: string,
  queue: string,
  at: number,
  attempt: number,
  more?: Details & { began?: number },
]

/**
 * Returns the effect that records an event. `queue` is where the job was, or goes. The jid is '' for a job without one,
 * which another program may push.
 */
export function recordOf(
  kind: JobEventKind,
  { jid, class: name, wrapped }: Pick<Payload, 'jid' | 'class' | 'wrapped'>,
  queue: string,
  at: number,
  attempt = 0,
  more?: Details,
  began?: number,
): RecordEffect {
  const job = typeof wrapped === 'string' ? wrapped : name
  return { kind: 'record', jid: jid ?? '', about: aboutOf(kind, job, queue, at, attempt, more, began) }
}

/** What was last written of an event without further details: that of the next is often the same. */
let last = { kind: '', job: '', queue: '', at: 0, attempt: 0, began: undefined as number | undefined, text: '' }

function aboutOf(
  kind: JobEventKind,
  job: string,
  queue: string,
  at: number,
  attempt: number,
  more: Details | undefined,
  began: number | undefined,
): string {
  const isLast = at === last.at && kind === last.kind && attempt === last.attempt && began === last.began
  if (!more && isLast && job === last.job && queue === last.queue) return last.text
  const base = typeof queue === 'string' ? baseQueue(queue) : 'default'
  const details = began === undefined ? more : { began, ...more }
  const text = JSON.stringify([kind, job, base, at, attempt, ...(details ? [details] : [])])
  if (!more) last = { kind, job, queue, at, attempt, began, text }
  return text
}

/**
 * Returns the `about` of an event without a time, of a job without an attempt. A line break, which no JSON text has, is in the
 * place of the time: the store writes it there.
 */
export function timelessRecord(
  kind: JobEventKind,
  { class: name, wrapped, queue }: Pick<Payload, 'class' | 'wrapped' | 'queue'>,
  more?: Details,
): string {
  const about = [kind, typeof wrapped === 'string' ? wrapped : name, baseQueue(queue)]
  const details = more ? `,${JSON.stringify(more)}` : ''
  return `[${about.map((one) => JSON.stringify(one)).join()},\n,0${details}]`
}

/** Whether a job records events. The rows of tasks do not: a task has hundreds of thousands, with an event of its own each. */
export function isRecorded(payload: Payload): boolean {
  return payload.hk_task === undefined || isSingleTracked(payload)
}

/**
 * Returns the effects that record how an attempt ended, or what happened to a job that did not run. `began` is when the
 * attempt started, if that is to be recorded with it.
 */
export function recordsOf(
  outcome: Outcome,
  payload: Payload,
  queue: string,
  at: number,
  attempt?: number,
  began?: number,
): RecordEffect[] {
  // Most jobs end so.
  if (outcome.kind === 'done') return [recordOf('succeeded', payload, queue, at, attempt, undefined, began)]
  let first = began
  const of = (kind: JobEventKind, more?: Details) => {
    const record = recordOf(kind, payload, queue, at, attempt, more, first)
    first = undefined
    return record
  }
  switch (outcome.kind) {
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

/** A position in the record: after the event with this number, or after its first `part` events. */
export interface Position {
  number: number
  part: number
  /** The check of the event with this number; '' if it is not known. */
  check: string
}

/** The text of a position, such as 1763912345678901-1x2y3z, or 1763912345678901.1-1x2y3z inside an event. */
const POSITION = /^(\d{1,16})(?:(?:\.(\d))?-([0-9a-z]{1,7}))?$/

export function readPosition(text: string): Position | undefined {
  const [, number, part = '0', check = ''] = POSITION.exec(text) ?? []
  return number === undefined ? undefined : { number: Number(number), part: Number(part), check }
}

/** Separates the positions in the recordings of several shards. */
const SEPARATOR = '_'

/** Returns the positions in the recordings of all shards; undefined if the text has none. */
export function readPositions(text: string): Position[] | undefined {
  const positions = text.split(SEPARATOR).flatMap((part) => readPosition(part) ?? [])
  return positions.length === text.split(SEPARATOR).length ? positions : undefined
}

export function writePositions(positions: readonly Position[]): string {
  return positions.map(writePosition).join(SEPARATOR)
}

export function writePosition({ number, part, check }: Position): string {
  return `${number}${part > 0 ? `.${part}` : ''}${check && `-${check}`}`
}

/** Returns a short text that most other events do not have: a store that lost data may give a number twice. */
export function checkOf(event: unknown): string {
  let hash = 0x811c9dc5
  for (const byte of Buffer.from(JSON.stringify(event))) hash = Math.imul(hash ^ byte, 0x01000193)
  return (hash >>> 0).toString(36)
}

/** Returns the events of a record that another process may have stored, with the position behind each. */
export function readEvents({ number, event }: RecordedEvent): { event: JobEvent; position: Position }[] {
  const [jid, kind, job, queue, at, attempt, { due, began, ...more } = {}] = event as Stored
  const check = checkOf(event)
  const of = (part: number, one: Pick<JobEvent, 'kind' | 'at'>, others?: Partial<JobEvent>) => {
    const position = { number, part, check }
    const about = { jid, job, queue, at: one.at, ...(attempt > 0 ? { attempt } : {}) }
    return { position, event: { id: writePosition(position), kind: one.kind, ...about, ...others } }
  }
  const last = of(0, { kind, at: new Date(at) }, { ...(due === undefined ? {} : { due: new Date(due) }), ...more })
  return began === undefined ? [last] : [of(1, { kind: 'started', at: new Date(began) }), last]
}
