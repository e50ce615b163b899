/** Events: the record of each row of a task, and of each tracked job. */

export type EventStatus = 'enqueued' | 'working' | 'finished' | 'failed' | 'error' | 'cancelled'
export const EVENT_STATUSES: readonly EventStatus[] = [
  'enqueued',
  'working',
  'finished',
  'failed',
  'error',
  'cancelled',
]

/** The statuses of rows that have not ended. */
export const OPEN_STATUSES: readonly EventStatus[] = ['enqueued', 'working']

/** Returns how many rows have ended. */
export function endedOf({ finished, failed, error, cancelled }: Record<EventStatus, number>): number {
  return finished + failed + error + cancelled
}

/** The statuses of rows that ended without success: the rejected ones (failed and error), and cancelled. */
export const UNSUCCESSFUL_STATUSES = ['failed', 'error', 'cancelled'] as const satisfies EventStatus[]
export type UnsuccessfulStatus = (typeof UNSUCCESSFUL_STATUSES)[number]

export function isUnsuccessful(status: EventStatus): status is UnsuccessfulStatus {
  return (UNSUCCESSFUL_STATUSES as readonly EventStatus[]).includes(status)
}

/** A stored message. It has a code and parameters, so that each viewer gets it in their own language. */
export interface Message {
  at: number
  code: string
  params: Record<string, unknown>
}

export interface EventRecord {
  index: number
  jid: string
  /** The row's number in its source. */
  number: number | null
  /** The job class, if it is not the task's. */
  job: string | null
  /**
   * Where the row's job is. `backlog`: not yet queued. `window`: in the queue or with an owner. `elsewhere`: in a set,
   * ended, or not known.
   */
  location: 'backlog' | 'window' | 'elsewhere'
  status: EventStatus
  run: number
  /** Attempts begun. */
  attempts: number
  /** JSON text; null once the store has dropped it. */
  args: string | null
  /** The row's source as it was added; null if there was none, or once the store has dropped it. */
  source: string | null
  code: string | null
  startedAt: number | null
  finishedAt: number | null
  result: string | null
  messages: Message[]
  /** The deadline of a row that is parked: it is `working`, and waits for `endDeferred` without a job. */
  deferredUntil?: number
}

/** An attempt that is deferred: its row stays `working` after its handler has returned, until `endDeferred`. */
export interface Deferral extends AttemptRef {
  jid: string
  /** When the attempt began, if the store does not know it. */
  at: number
  /** The deadline, in milliseconds. */
  until: number
}

/** How a deferred row ends. */
export interface DeferredEnd {
  jid: string
  status: 'finished' | UnsuccessfulStatus
  code?: string
  messages?: Message[]
  /** JSON text, at most 16 kB. */
  result?: string
  /** The row ends only if it is still in the deferred attempt, and the deadline is over. */
  isOverdue?: boolean
}

/**
 * `ok`: the row ended now. `ended`: it had ended before, with this status and code. `not-deferred`: no attempt of its
 * run was deferred, or the deadline is not over. `unknown`: there is no such row.
 */
export interface DeferredAnswer {
  answer: 'ok' | 'ended' | 'not-deferred' | 'unknown'
  /** The status of the row now; null: there is no such row. */
  status: EventStatus | null
  code: string | null
}

/** Names one attempt of a row. */
export interface AttemptRef {
  run: number
  attempt: number
}

/**
 * Returns whether a row is in this attempt, which has begun or is about to begin. An attempt that comes late still counts
 * if the row has ended meanwhile as `lost`, or as run by a program that does not know tasks. It also counts if the row
 * has ended as `dead`, because a person may have put its job back from the dead set into its queue.
 */
export function isInAttempt(
  { status, run, attempts, code }: Pick<EventRecord, 'status' | 'run' | 'attempts' | 'code'>,
  by: AttemptRef,
): boolean {
  const isJudged = status === 'error'
  if (run !== by.run) return false
  const isDead = isJudged && code === 'dead'
  const isBegun = status === 'working' || isDead || (isJudged && code === 'lost')
  const isAwaited = status === 'enqueued' || isDead || (isJudged && code === 'ran-elsewhere')
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
  /** Only events with these indexes. The other conditions are ignored then. */
  indexes?: readonly number[]
  /** The caller does not use codes, results and messages: the store may return null, null and [] for them. */
  argsOnly?: boolean
  limit: number
}
