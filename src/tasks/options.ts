/** The options of tasks. */

import type { Job } from '../client/job.ts'
import { checkQueueName } from '../job/definition.ts'
import { type Duration, seconds } from '../job/duration.ts'
import { HighkiqError } from '../job/errors.ts'
import { shown } from '../job/options.ts'
import { MOST_ROWS } from '../job/payload.ts'
import type { MaxFailures, TaskSpec } from '../store/contract.ts'
import { NEW_TASK_OPTIONS } from './import-options.ts'

/** A job of `onDone` and `onFailure`, with its arguments. */
export type CallbackJob = Job<[task: string, run: number]>

export interface TaskOptions {
  /** The name shown to people; default: the job's name. */
  name?: string
  /** Default: the job's queue. */
  queue?: string
  /** The most rows in the queue and running at a time; default: max(100, twice the slots that serve the queue). */
  window?: number
  /** The most rows running at a time in all processes: a window of that many. */
  concurrency?: number
  /**
   * The number of rows in one job, 1 to 1,000. The handler gets `(ctx, rows)`, and each row has its own event. `window`
   * and `concurrency` count jobs. A row that runs again runs alone.
   */
  rowsPerJob?: number
  /** The most rows, or the largest share (`'5%'`), that may be `failed` or `error` before the task stops. Default: all. */
  maxFailures?: number | `${number}%`
  /** What happens when more fail: the task pauses (the default), or the rest is cancelled. */
  onMaxFailures?: 'pause' | 'cancel'
  /** Which rows keep their arguments after they ended; default: `rejected`. */
  keepArgs?: 'rejected' | 'all' | 'none'
  /** How long the task is kept after it ended: seconds, or a text such as `'30d'`; default: 30 days. */
  keep?: number | Duration
  /** After this long without progress, open rows whose jobs are nowhere end as `lost`; default: one hour. */
  lostAfter?: number | Duration
  /** A job pushed once for each run that ended, with `(task id, run)`. */
  onDone?: CallbackJob
  /** A job pushed once for each run, at its first `failed` or `error` row, with `(task id, run)`. */
  onFailure?: CallbackJob
  /** With more rows adding ends with TOO_MANY_ROWS and the task is `interrupted`. Default: no limit; for a file 1,000,000. */
  maxRows?: number
}

/** The compiler refuses this table when an option is missing. */
const OPTIONS: Record<keyof TaskOptions, unknown> = {
  ...NEW_TASK_OPTIONS,
  onDone: null,
  onFailure: null,
  maxRows: null,
}
export const TASK_OPTIONS = Object.keys(OPTIONS) as (keyof TaskOptions & string)[]

const KEPT: readonly unknown[] = ['rejected', 'all', 'none'] satisfies TaskOptions['keepArgs'][]

/** Checks the options before any row is read. @throws INVALID_OPTION */
export function checkTaskOptions(options: TaskOptions): void {
  const { keepArgs, onDone, onFailure, rowsPerJob } = options
  checkName(options.name)
  if (options.queue !== undefined) checkQueueName(options.queue)
  checkMaxRows(options.maxRows)
  windowOf(options)
  policyOf(options)
  if (keepArgs !== undefined && !KEPT.includes(keepArgs)) {
    throw invalid(`keepArgs must be one of ${KEPT.join(', ')} (got ${shown(keepArgs)})`)
  }
  if (rowsPerJob !== undefined && !(Number.isInteger(rowsPerJob) && rowsPerJob >= 1 && rowsPerJob <= MOST_ROWS)) {
    throw invalid(`rowsPerJob must be a whole number from 1 to ${MOST_ROWS} (got ${shown(rowsPerJob)})`)
  }
  for (const [name, job] of Object.entries({ onDone, onFailure })) {
    if (job === undefined || typeof job?.request === 'function') continue
    throw invalid(`${name} must be a job, as returned by hq.job(…) (got ${shown(job)})`)
  }
}

/** @throws INVALID_OPTION */
export function checkJob(where: string, job: unknown): void {
  if (typeof (job as CallbackJob | null)?.request === 'function') return
  throw invalid(`${where}: the first argument must be a job, as returned by hq.job(…) (got ${shown(job)})`)
}

/** @throws INVALID_OPTION */
export function checkMaxRows(maxRows: unknown): void {
  if (maxRows === undefined || (Number.isSafeInteger(maxRows) && (maxRows as number) > 0)) return
  throw invalid(`maxRows must be a whole number above 0 (got ${shown(maxRows)})`)
}

/** @throws INVALID_OPTION */
export function checkName(name: unknown): void {
  if (name === undefined || (typeof name === 'string' && name !== '')) return
  throw invalid(`name must be a string that is not empty (got ${shown(name)})`)
}

/** Returns the limits and times of a task for the store. @throws INVALID_OPTION */
export function policyOf(options: TaskOptions): Pick<TaskSpec, 'maxFailures' | 'onMaxFailures' | 'keep' | 'lostAfter'> {
  const { maxFailures, onMaxFailures, keep, lostAfter } = options
  return {
    ...(maxFailures === undefined ? {} : { maxFailures: parseMaxFailures(maxFailures) }),
    ...(onMaxFailures === undefined ? {} : { onMaxFailures: parseOnMaxFailures(onMaxFailures) }),
    ...(keep === undefined ? {} : { keep: milliseconds('keep', keep) }),
    ...(lostAfter === undefined ? {} : { lostAfter: milliseconds('lostAfter', lostAfter) }),
  }
}

/** @throws INVALID_OPTION */
export function parseMaxFailures(value: number | string | null): MaxFailures | null {
  if (value === null || value === Number.POSITIVE_INFINITY) return null
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return { rows: value }
  const percent = typeof value === 'string' ? Number(/^(\d+(?:\.\d+)?)\s*%$/.exec(value)?.[1]) : Number.NaN
  if (percent >= 0 && percent <= 100) return { percent }
  throw invalid(`maxFailures must be a number of rows, or a share such as '5%' (got ${shown(value)})`)
}

/** Returns `maxFailures` as options write it; null: no limit. */
export function formatMaxFailures(limit: MaxFailures | null): number | `${number}%` | null {
  if (!limit) return null
  return 'rows' in limit ? limit.rows : `${limit.percent}%`
}

/** @throws INVALID_OPTION */
export function parseOnMaxFailures(onMaxFailures: unknown): 'pause' | 'cancel' {
  if (onMaxFailures === 'pause' || onMaxFailures === 'cancel') return onMaxFailures
  throw invalid(`onMaxFailures must be 'pause' or 'cancel' (got ${shown(onMaxFailures)})`)
}

/** Returns the smaller of `window` and `concurrency`; undefined without both. @throws INVALID_OPTION */
export function windowOf({ window, concurrency }: Pick<TaskOptions, 'window' | 'concurrency'>): number | undefined {
  for (const [name, value] of Object.entries({ window, concurrency })) {
    if (value === undefined || (Number.isSafeInteger(value) && value > 0)) continue
    throw invalid(`${name} must be a whole number above 0 (got ${shown(value)})`)
  }
  return window === undefined || concurrency === undefined ? (concurrency ?? window) : Math.min(window, concurrency)
}

function milliseconds(name: string, duration: number | Duration): number {
  const ms = Math.round(seconds(duration) * 1000)
  if (ms > 0) return ms
  throw invalid(`${name} must be a time above 0, in seconds or as a string such as '30d' (got ${shown(duration)})`)
}

function invalid(message: string): HighkiqError {
  return new HighkiqError('INVALID_OPTION', message)
}
