/** A task's header: writes the fields of its specification, and reads its record. See ledger.lua. */

import {
  type Callback,
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
  'adders',
  'run',
  'runAt',
  'before',
  'mixed',
  'total',
  'held',
  'placed',
  'window',
  'rowsPerJob',
  'keep',
  'tolerance',
  'beyond',
  'reason',
  'unknown',
  'single',
  'adder',
  'last',
  'meta',
  'created',
  'progress',
  'ended',
  ...EVENT_STATUSES,
] as const

/** Returns fields and values by turns. A missing field has its default. */
export function headerOf(task: TaskSpec): (string | number)[] {
  const {
    name,
    job,
    queue,
    template,
    window,
    keepArgs,
    meta,
    maxFailures: tolerance,
    onMaxFailures,
    onDone,
    onFailure,
  } = task
  const fields: [string, string | number | undefined][] = [
    ['name', name],
    ['job', job],
    ['queue', queue],
    ['template', template],
    ['window', window],
    ['rowsPerJob', task.rowsPerJob],
    ['keep', keepArgs],
    ['meta', meta],
    ['stays', task.keep],
    ['unknown', task.lostAfter],
    ['single', task.single ? 1 : undefined],
    ['tolerance', tolerance ? writeTolerance(tolerance) : undefined],
    ['beyond', onMaxFailures],
    ...callback('done', onDone),
    ...callback('failure', onFailure),
  ]
  return fields.flatMap(([field, value]) => (value === undefined ? [] : [field, value]))
}

function callback(name: string, job: Callback | null | undefined): [string, string][] {
  if (!job) return []
  return [
    [`${name}Queue`, job.queue],
    [`${name}Template`, job.template],
  ]
}

export function taskQueuesOf({ queue, onDone, onFailure }: TaskSpec): TaskQueues {
  return { queue, onDone: onDone?.queue ?? queue, onFailure: onFailure?.queue ?? queue }
}

export function writeTolerance(tolerance: MaxFailures | null): string {
  if (!tolerance) return ''
  return 'rows' in tolerance ? `r${tolerance.rows}` : `p${tolerance.percent}`
}

function readTolerance(text: string): MaxFailures | null {
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
    state: stateOf(header, counts.enqueued + counts.working > 0),
    run: Number(header.run),
    runAt: Number(header.runAt || header.created),
    endedBefore: Number(header.before),
    mixed: header.mixed !== '',
    total: Number(header.total),
    backlog: Number(header.held),
    inWindow: Number(header.placed),
    window: Number(header.window),
    rowsPerJob: Number(header.rowsPerJob) || null,
    adding: header.adders !== '',
    broken: header.broken !== '',
    keepArgs: header.keep as TaskRecord['keepArgs'],
    maxFailures: readTolerance(header.tolerance),
    onMaxFailures: header.beyond === 'cancel' ? 'cancel' : 'pause',
    reason: header.reason === '' ? null : (JSON.parse(header.reason) as Message),
    lostAfter: Number(header.unknown || LOST_AFTER_MS),
    single: header.single !== '',
    producer: header.adder,
    lastRow: header.last === '' ? null : header.last,
    counts,
    meta: header.meta,
    createdAt: Number(header.created),
    progressAt: time(header.progress),
    finishedAt: time(header.ended),
  }
}

function stateOf(header: Record<'state' | 'paused' | 'adders' | 'broken', string>, isOpen: boolean): TaskState {
  if (header.state !== 'open') return header.state as TaskState
  // A pause has no effect on a task without open rows that gets no further rows.
  if (header.paused !== '' && (isOpen || header.adders !== '')) return 'paused'
  if (header.adders !== '') return 'adding'
  return header.broken === '' ? 'running' : 'interrupted'
}
