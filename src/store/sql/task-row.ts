/** Tasks and rows as the tables of SQLite and PostgreSQL have them, and the rules that only need these. */

import {
  type Callback,
  EVENT_STATUSES,
  type EventEffect,
  type EventStatus,
  type MaxFailures,
  type Message,
  type NewRow,
  type RetryRow,
  type TaskRecord,
  type TaskState,
} from '../contract.ts'

export const STATUS_CODE: Record<EventStatus, number> = {
  enqueued: 0,
  working: 1,
  finished: 2,
  failed: 3,
  error: 4,
  cancelled: 5,
}
export const STATUS_NAME = Object.keys(STATUS_CODE) as EventStatus[]
/** The first status of rejected rows, which have reasons. */
export const REJECTED = STATUS_CODE.failed

/** The code of rows that were cancelled with their task. Such a row is not re-opened in the same run. */
export const CANCELLED = 'cancelled'

/** Where the job of a row is, in its column `location`. */
export const BACKLOG = 0
export const WINDOW = 1
export const ELSEWHERE = 2
/** The row has never been in the queue if its index is `task.next` or more; else it is in the window. */
export const NEVER_QUEUED = 3

/** The states of a producer, in its column `state`. */
export const OPEN = 0
export const ENDED = 1
export const BROKEN = 2
export const REPLACED = 3

/** The columns of a task that have the same name in both stores. */
export interface TaskColumns {
  key: number
  id: string
  name: string
  job: string
  queue: string
  template: string
  /** The number of rows that become one job, with a list of rows; null: each row is a job with its arguments. */
  rows_per_job: number | null
  keep_args: 'rejected' | 'all' | 'none'
  meta: string
  /** The producer that created the task, or the one that resumed its adding. */
  producer: string
  state: TaskState
  paused: number
  producers: number
  broken: number
  /** JSON text, like the next three. */
  reason: string | null
  max_failures: string | null
  on_done: string | null
  on_failure: string | null
  on_max_failures: 'pause' | 'cancel'
  last_row: string | null
  run: number
  /** null: the run began with the task. */
  run_at: number | null
  ended_before: number
  done_run: number
  failed_run: number
  mixed: number
  total: number
  next: number
  backlog: number
  in_window: number
  enqueued: number
  working: number
  finished: number
  failed: number
  error: number
  cancelled: number
  created_at: number
  progress_at: number | null
  finished_at: number | null
  expires_at: number | null
  keep: number
  lost_after: number
  single: number
  cancel_from: number
  deferred: number
  link_version: number
  /** 1: it is frozen, for a move to another store. */
  moving: number
}

export interface EventState {
  idx: number
  status: number
  location: number
  run: number
  step: number
  code: string | null
  started_at: number | null
  finished_at: number | null
  result: string | null
  /** Whether the arguments are dropped. */
  drop?: boolean
}

/** A row as a page of a task has it. */
export interface EventRow extends Omit<EventState, 'drop'> {
  number: number | null
  job: string | null
  args: string | null
  source: string | null
}

/** The arguments of `startRun`, after the id of the task. */
export interface NewRun {
  run: number
  producer: string
  now: number
  rows: readonly RetryRow[]
}

export type Retried = 'ok' | 'gone' | 'dropped'

/** Returns `again` when the row runs in this run, otherwise the answer for it. `ok`: a repeated call, the row is already in this run. */
export function retryAnswer(run: number, event: EventState | undefined, hasArgs: boolean): Retried | 'again' {
  if (!event) return 'gone'
  if (event.run === run) return 'ok'
  if (event.status < REJECTED) return 'gone'
  return hasArgs ? 'again' : 'dropped'
}

/** Returns whether a row has nothing but arguments. */
export function isBare({ number, source, job, rejected }: NewRow): boolean {
  return number === undefined && source === undefined && job === undefined && rejected === undefined
}

export function isInBacklog({ location }: EventState): boolean {
  return location === BACKLOG || location === NEVER_QUEUED
}

/** Returns whether a row was cancelled with its task. Only another run can run it again. */
export function isCancelledWithTask({ status, code }: EventState): boolean {
  return status === STATUS_CODE.cancelled && code === CANCELLED
}

/** Returns whether this effect must not apply to a row of a stopped task: no row begins, is enqueued or parked. */
export function isHalted({ status, window }: EventEffect, repeated: boolean): boolean {
  return status === 'enqueued' || (status === 'working' && !repeated) || window === 'park'
}

/** Stores the attempt that an event has reached, and its times. */
export function setAttempt(event: EventState, effect: EventEffect, step: number): void {
  event.run = effect.run
  event.step = step
  if (effect.status === 'working') {
    event.started_at = effect.window === 'park' ? (effect.startedAt ?? event.started_at) : effect.at
    event.finished_at = null
  } else {
    event.started_at = effect.startedAt ?? event.started_at
    event.finished_at = effect.status === 'enqueued' ? null : effect.at
  }
}

/** Returns whether no more rows of the task enter the queue. */
export function isStopped({ state }: TaskColumns): boolean {
  return state === 'cancelling' || state === 'cancelled'
}

export function hasEnded({ state }: TaskColumns): boolean {
  return state === 'done' || state === 'cancelled'
}

/** Returns whether a row with this status drops its arguments. */
export function dropsArgs({ keep_args }: TaskColumns, status: EventStatus): boolean {
  if (status === 'enqueued' || keep_args === 'all') return false
  return keep_args === 'none' || status === 'finished'
}

export function parsed<T extends MaxFailures | Callback | Message>(text: string | null): T | null {
  return text === null ? null : (JSON.parse(text) as T)
}

export function written(value: MaxFailures | Callback | Message | null | undefined): string | null {
  return value ? JSON.stringify(value) : null
}

export function recordOf(row: TaskColumns, window: number): TaskRecord {
  const counts = {} as Record<EventStatus, number>
  for (const status of EVENT_STATUSES) counts[status] = row[status]
  return {
    id: row.id,
    name: row.name,
    job: row.job,
    queue: row.queue,
    state: row.state,
    run: row.run,
    runAt: row.run_at ?? row.created_at,
    endedBefore: row.ended_before,
    mixed: row.mixed === 1,
    total: row.total,
    backlog: row.backlog,
    inWindow: row.in_window,
    deferred: row.deferred,
    window,
    rowsPerJob: row.rows_per_job,
    adding: row.producers > 0,
    broken: row.broken > 0,
    keepArgs: row.keep_args,
    maxFailures: parsed<MaxFailures>(row.max_failures),
    onMaxFailures: row.on_max_failures,
    reason: parsed<Message>(row.reason),
    lostAfter: row.lost_after,
    single: row.single === 1,
    producer: row.producer,
    lastRow: row.last_row,
    linkVersion: row.link_version,
    counts,
    meta: row.meta,
    createdAt: row.created_at,
    progressAt: row.progress_at,
    finishedAt: row.finished_at,
  }
}
