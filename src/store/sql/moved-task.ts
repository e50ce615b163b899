/** Tasks that go to another store, or come from one, as the tables of SQLite and PostgreSQL have them. */

import {
  type Callback,
  EVENT_STATUSES,
  type EventStatus,
  type MaxFailures,
  type Message,
  type MovedRow,
  type PageName,
  type TaskPart,
  type TaskProgress,
  type TaskSpec,
} from '../contract.ts'
import { rowName } from './producer.ts'
import {
  BACKLOG,
  BROKEN,
  ELSEWHERE,
  ENDED,
  type EventRow,
  NEVER_QUEUED,
  parsed,
  REPLACED,
  STATUS_NAME,
  type TaskColumns,
} from './task-row.ts'

type Producer = TaskProgress['producers'][number]

export const PRODUCER_STATE = { ended: ENDED, broken: BROKEN, replaced: REPLACED } as const
export const LOCATION = { new: NEVER_QUEUED, backlog: BACKLOG, elsewhere: ELSEWHERE } as const
/** The states of a deferral, by their number in its column `state`. */
export const DEFERRALS = ['begun', 'parked', 'ended'] as const

/** The part of a task with nothing in it. */
export const EMPTY_PART: TaskPart = { task: null, rows: [], backlog: [], files: [], next: null }

export interface Moving {
  transfer: string | null
  target: string | null
  /** null: the task goes to another store. */
  cursor: string | null
}

export interface DeferralRow {
  idx: number
  run: number
  attempt: number
  state: number
  ends: number | null
}

export interface MessageRow {
  idx: number
  n: number
  at: number
  code: string
  params: string
}

/** Returns the name by which the outcome of a task's transfer is kept: a task is a page without a number. */
export function pageOf(transfer: string): PageName {
  return { transfer, number: 0 }
}

/** Returns the first part of a task: all but its rows. */
export function headOf(
  task: TaskColumns & { due_at: number | null },
  window: number,
  labels: Record<string, string>,
  producers: readonly { name: string; cursor: number; state: number }[],
): { spec: TaskSpec; progress: TaskProgress } {
  const counts = Object.fromEntries(EVENT_STATUSES.map((status) => [status, task[status]]))
  return {
    spec: {
      id: task.id,
      name: task.name,
      job: task.job,
      queue: task.queue,
      template: task.template,
      window,
      ...(task.rows_per_job === null ? {} : { rowsPerJob: task.rows_per_job }),
      keepArgs: task.keep_args,
      meta: task.meta,
      ...(Object.keys(labels).length === 0 ? {} : { labels }),
      createdAt: task.created_at,
      producer: task.producer,
      maxFailures: parsed<MaxFailures>(task.max_failures),
      onMaxFailures: task.on_max_failures,
      onDone: parsed<Callback>(task.on_done),
      onFailure: parsed<Callback>(task.on_failure),
      keep: task.keep,
      lostAfter: task.lost_after,
      single: task.single === 1,
    },
    progress: {
      state: task.state === 'done' || task.state === 'cancelled' ? task.state : 'open',
      paused: task.paused === 1,
      reason: parsed<Message>(task.reason),
      run: task.run,
      runAt: task.run_at,
      endedBefore: task.ended_before,
      doneRun: task.done_run,
      failedRun: task.failed_run,
      mixed: task.mixed === 1,
      total: task.total,
      next: task.next,
      backlog: task.backlog,
      deferred: task.deferred,
      counts: counts as Record<EventStatus, number>,
      lastRow: task.last_row,
      linkVersion: task.link_version,
      progressAt: task.progress_at,
      finishedAt: task.finished_at,
      dueAt: task.due_at,
      producers: producers.map(({ name, cursor, state }) => ({ name, cursor, state: producerState(state) })),
    },
  }
}

function producerState(code: number): Producer['state'] {
  if (code === BROKEN) return 'broken'
  return code === REPLACED ? 'replaced' : 'ended'
}

/** Returns rows with their messages and deferrals. `producers`: those that are rows, with how many rows each has added. */
export function movedRows(
  rows: readonly EventRow[],
  messageRows: readonly MessageRow[],
  deferralRows: readonly DeferralRow[],
  producers: readonly { name: string; cursor: number }[],
): MovedRow[] {
  const messages = new Map<number, MovedRow['messages']>()
  for (const { idx, n, at, code, params } of messageRows) {
    const one = { n, message: { at, code, params: JSON.parse(params) as Record<string, unknown> } }
    messages.set(idx, [...(messages.get(idx) ?? []), one])
  }
  const deferrals = new Map(deferralRows.map((one) => [one.idx, one]))
  const added = new Map(producers.map(({ name, cursor }) => [name, cursor]))
  return rows.map((row) => {
    const deferral = deferrals.get(row.idx)
    return {
      index: row.idx,
      status: STATUS_NAME[row.status] as MovedRow['status'],
      location: row.location === NEVER_QUEUED ? 'new' : row.location === BACKLOG ? 'backlog' : 'elsewhere',
      run: row.run,
      step: row.step,
      number: row.number,
      job: row.job,
      code: row.code,
      startedAt: row.started_at,
      finishedAt: row.finished_at,
      args: row.args,
      source: row.source,
      result: row.result,
      messages: messages.get(row.idx) ?? [],
      deferral: deferral
        ? {
            run: deferral.run,
            attempt: deferral.attempt,
            state: DEFERRALS[deferral.state] as (typeof DEFERRALS)[number],
            ends: deferral.ends,
          }
        : null,
      added: added.get(rowName(row.idx)) ?? null,
    }
  })
}
