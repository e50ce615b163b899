/** A task's header: writes the fields of its specification, and reads its record. See ledger.lua. */

import {
  EVENT_STATUSES,
  type EventStatus,
  type MaxFailures,
  type Message,
  type TaskRecord,
  type TaskSpec,
  type TaskState,
} from '../../contract.ts'
import type { TaskQueues } from '../server/call.ts'

export const LOST_AFTER_MS = 3_600_000

export const HEADER = [
  'id',
  'name',
  'job',
  'queue',
  'state',
  'paused',
  'broken',
  'producers',
  'run',
  'runAt',
  'endedBefore',
  'mixed',
  'total',
  'backlog',
  'inWindow',
  'window',
  'rowsPerJob',
  'keepArgs',
  'maxFailures',
  'onMaxFailures',
  'reason',
  'lostAfter',
  'single',
  'producer',
  'lastRow',
  'meta',
  'createdAt',
  'progressAt',
  'finishedAt',
  ...EVENT_STATUSES,
] as const

/** The fields that hold a value of the specification as it is. */
const SAME = [
  'name',
  'job',
  'queue',
  'template',
  'window',
  'rowsPerJob',
  'keepArgs',
  'meta',
  'keep',
  'lostAfter',
  'onMaxFailures',
] as const satisfies (keyof TaskSpec)[]

/** Returns fields and values by turns. A missing field has its default. */
export function headerOf(task: TaskSpec): (string | number)[] {
  const { maxFailures, onDone, onFailure } = task
  return [
    ...SAME.flatMap((field) => (task[field] === undefined ? [] : [field, task[field]])),
    ...(task.single ? ['single', 1] : []),
    ...(maxFailures ? ['maxFailures', writeMaxFailures(maxFailures)] : []),
    ...(onDone ? ['doneQueue', onDone.queue, 'doneTemplate', onDone.template] : []),
    ...(onFailure ? ['failureQueue', onFailure.queue, 'failureTemplate', onFailure.template] : []),
  ]
}

export function taskQueuesOf({ queue, onDone, onFailure }: TaskSpec): TaskQueues {
  return { queue, onDone: onDone?.queue ?? queue, onFailure: onFailure?.queue ?? queue }
}

/** Writes a number of rows as `r5`, a share as `p10`, and no limit as an empty text. */
export function writeMaxFailures(most: MaxFailures | null): string {
  if (!most) return ''
  return 'rows' in most ? `r${most.rows}` : `p${most.percent}`
}

function readMaxFailures(text: string): MaxFailures | null {
  if (text === '') return null
  return text.startsWith('r') ? { rows: Number(text.slice(1)) } : { percent: Number(text.slice(1)) }
}

export function recordOf(values: readonly (string | null)[]): TaskRecord | null {
  if (values[0] === null) return null
  const header = Object.fromEntries(HEADER.map((name, i) => [name, values[i] ?? ''])) as Record<
    (typeof HEADER)[number],
    string
  >
  const counts = {} as Record<EventStatus, number>
  for (const status of EVENT_STATUSES) counts[status] = Number(header[status])
  const time = (text: string) => (text === '' ? null : Number(text))
  return {
    id: header.id,
    name: header.name,
    job: header.job,
    queue: header.queue,
    producer: header.producer,
    meta: header.meta,
    state: stateOf(header, counts.enqueued + counts.working > 0),
    run: Number(header.run),
    runAt: Number(header.runAt || header.createdAt),
    endedBefore: Number(header.endedBefore),
    mixed: header.mixed !== '',
    total: Number(header.total),
    backlog: Number(header.backlog),
    inWindow: Number(header.inWindow),
    window: Number(header.window),
    rowsPerJob: Number(header.rowsPerJob) || null,
    adding: header.producers !== '',
    broken: header.broken !== '',
    keepArgs: header.keepArgs as TaskRecord['keepArgs'],
    maxFailures: readMaxFailures(header.maxFailures),
    onMaxFailures: header.onMaxFailures === 'cancel' ? 'cancel' : 'pause',
    reason: header.reason === '' ? null : (JSON.parse(header.reason) as Message),
    lostAfter: Number(header.lostAfter || LOST_AFTER_MS),
    single: header.single !== '',
    lastRow: header.lastRow === '' ? null : header.lastRow,
    counts,
    createdAt: Number(header.createdAt),
    progressAt: time(header.progressAt),
    finishedAt: time(header.finishedAt),
  }
}

function stateOf(header: Record<'state' | 'paused' | 'producers' | 'broken', string>, isOpen: boolean): TaskState {
  if (header.state !== 'open') return header.state as TaskState
  // A pause has no effect on a task without open rows that gets no further rows.
  if (header.paused !== '' && (isOpen || header.producers !== '')) return 'paused'
  if (header.producers !== '') return 'adding'
  return header.broken === '' ? 'running' : 'interrupted'
}
