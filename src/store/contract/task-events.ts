/** What becomes of a tracked job. */

export type EventStatus = 'enqueued' | 'working' | 'finished' | 'failed' | 'error' | 'cancelled'
export const EVENT_STATUSES: readonly EventStatus[] = [
  'enqueued',
  'working',
  'finished',
  'failed',
  'error',
  'cancelled',
]

/** How many rows have ended. */
export function endedOf({ finished, failed, error, cancelled }: Record<EventStatus, number>): number {
  return finished + failed + error + cancelled
}

/** Of rows that ended, and did not finish. */
export const REJECTED_STATUSES = ['failed', 'error', 'cancelled'] as const satisfies EventStatus[]
export type RejectedStatus = (typeof REJECTED_STATUSES)[number]

export function isRejected(status: EventStatus): status is RejectedStatus {
  return (REJECTED_STATUSES as readonly EventStatus[]).includes(status)
}

/** A stored message: a code and its parameters, so that each reader can see it in their own language. */
export interface Message {
  at: number
  code: string
  params: Record<string, unknown>
}

export interface EventRecord {
  index: number
  jid: string
  number: number | null
  /** Its class, when that is not the task's. */
  job: string | null
  /** Whether its job waits in the task, is in the queue or with an owner, or is elsewhere (in a set, ended, or not known). */
  location: 'backlog' | 'window' | 'elsewhere'
  status: EventStatus
  run: number
  /** Attempts begun. */
  attempts: number
  /** JSON text; null once dropped. */
  args: string | null
  /** As it was added; null when there was none, or once dropped. */
  source: string | null
  code: string | null
  startedAt: number | null
  finishedAt: number | null
  result: string | null
  messages: Message[]
}

/** Which attempt of its row something comes from. */
export interface OfAttempt {
  run: number
  attempt: number
}

/**
 * Whether a row is in that attempt: begun, or about to begin. That it was judged lost, or taken by a program that knows no
 * tasks, is overruled by whoever comes late in the same attempt. A row is judged dead in either state, for its job was
 * in the dead set, from which a person may have put it back into its queue.
 */
export function isInAttempt(
  { status, run, attempts, code }: Pick<EventRecord, 'status' | 'run' | 'attempts' | 'code'>,
  by: OfAttempt,
): boolean {
  const isJudged = status === 'error'
  if (run !== by.run) return false
  const isDead = isJudged && code === 'dead'
  const isBegun = status === 'working' || isDead || (isJudged && code === 'lost')
  const isAwaited = status === 'enqueued' || isDead || (isJudged && code === 'foreign')
  return (isBegun && attempts === by.attempt) || (isAwaited && attempts === by.attempt - 1)
}

/** Selects rejected events by their code; an empty filter selects all events. */
export interface CodeFilter {
  /** Only rejected events with this code; null: only those without a code. */
  code?: string | null | undefined
  /** Only rejected events whose codes `reasons` counts together. */
  otherCodes?: boolean | undefined
}

/** The number of rows that were rejected with one code. */
export interface ReasonCount {
  status: EventStatus
  /** null for rows without a code, and for rows with one of the other codes. */
  code: string | null
  /** True: the count of all other codes. Redis counts 255 codes of each status one by one, and the others together. */
  otherCodes?: true
  count: number
}

export interface EventQuery extends CodeFilter {
  status?: EventStatus[]
  /** Only events with a greater index. */
  after?: number
  /** Only these of those that there are; the others of these conditions do not count then. */
  indexes?: readonly number[]
  limit: number
}
