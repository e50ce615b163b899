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

const text = (value: string) => value
const isSet = (value: string) => value !== ''
const time = (value: string) => (value === '' ? null : Number(value))

/** How each field of a header is read. A missing field is empty. */
const READERS = {
  id: text,
  name: text,
  job: text,
  queue: text,
  state: text,
  paused: isSet,
  broken: isSet,
  producers: isSet,
  run: Number,
  runAt: Number,
  endedBefore: Number,
  mixed: isSet,
  total: Number,
  backlog: Number,
  inWindow: Number,
  deferred: Number,
  window: Number,
  rowsPerJob: (value: string) => Number(value) || null,
  keepArgs: (value: string) => value as TaskRecord['keepArgs'],
  maxFailures: readMaxFailures,
  onMaxFailures: (value: string): TaskRecord['onMaxFailures'] => (value === 'cancel' ? 'cancel' : 'pause'),
  reason: (value: string) => (value === '' ? null : (JSON.parse(value) as Message)),
  lostAfter: (value: string) => Number(value || LOST_AFTER_MS),
  single: isSet,
  producer: text,
  lastRow: (value: string) => value || null,
  linkVersion: Number,
  meta: text,
  createdAt: Number,
  progressAt: time,
  finishedAt: time,
}
type Header = { [Name in keyof typeof READERS]: ReturnType<(typeof READERS)[Name]> }

/** The fields of a header from which a record is made. */
export const HEADER = [...Object.keys(READERS), ...EVENT_STATUSES]

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
    ...(task.labels ? ['labels', JSON.stringify(task.labels)] : []),
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

export function readMaxFailures(text: string): MaxFailures | null {
  if (text === '') return null
  return text.startsWith('r') ? { rows: Number(text.slice(1)) } : { percent: Number(text.slice(1)) }
}

export function recordOf(values: readonly (string | null)[]): TaskRecord | null {
  if (values[0] === null) return null
  const fields = Object.entries(READERS).map(([name, read], i) => [name, read(values[i] ?? '')])
  const header = Object.fromEntries(fields) as Header
  const statuses = EVENT_STATUSES.map((status, i) => [status, Number(values[fields.length + i])])
  const counts = Object.fromEntries(statuses) as Record<EventStatus, number>
  const { paused: _, producers: adding, ...record } = header
  const state = stateOf(header, counts.enqueued + counts.working > 0)
  return { ...record, adding, state, counts, runAt: header.runAt || header.createdAt }
}

function stateOf({ state, paused, producers, broken }: Header, isOpen: boolean): TaskState {
  if (state !== 'open') return state as TaskState
  // A pause has no effect on a task without open rows that gets no further rows.
  if (paused && (isOpen || producers)) return 'paused'
  if (producers) return 'adding'
  return broken ? 'interrupted' : 'running'
}
