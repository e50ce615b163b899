/** What a task may be told when it is created, and later. */

import type { Job } from '../client/job.ts'
import { checkQueueName } from '../job/definition.ts'
import { type Duration, seconds } from '../job/duration.ts'
import { HighkiqError } from '../job/errors.ts'
import { shown } from '../job/options.ts'
import { MOST_ROWS } from '../job/payload.ts'
import type { MaxFailures, TaskSpec } from '../store/contract.ts'

/** What a job of `onDone` and `onFailure` is called with. */
export type CallbackJob = Job<[task: string, run: number]>

export interface TaskOptions {
  /** Shown to people; default the job's name. */
  name?: string
  /** Default the job's queue. */
  queue?: string
  /** Most rows in the queue and in work at a time; default max(100, twice the slots that serve the queue). */
  window?: number
  /** Most rows in work at a time, whoever works: a window of that many. */
  concurrency?: number
  /**
   * So many rows (1 to 1,000) are one job, as far as they are together: its handler gets `(ctx, rows)`, and each row an
   * event of its own. `window` and `concurrency` count such jobs. A row that runs again runs alone.
   */
  rowsPerJob?: number
  /** So many rows (or such a share: `'5%'`) may be failed or broken; beyond it the task stops. Default: all. */
  maxFailures?: number | `${number}%`
  /** What happens beyond it: the task pauses (the default), or the rest is cancelled. */
  onMaxFailures?: 'pause' | 'cancel'
  /** Which rows' arguments are kept after they ended; default `rejected`. */
  keepArgs?: 'rejected' | 'all' | 'none'
  /** How long it is kept after it ended: seconds, `'30d'`; default 30 days. */
  keep?: number | Duration
  /** How long without progress until its open rows are looked for, and those that are nowhere end as lost; default an hour. */
  lostAfter?: number | Duration
  /** Pushed once for each run that has ended, with `(task id, run)`. */
  onDone?: CallbackJob
  /** Pushed once for each run, at its first row that failed or broke for good, with `(task id, run)`. */
  onFailure?: CallbackJob
  /** More rows are TOO_MANY_ROWS: those before stay, in a task that is `interrupted`. Default: any number; of a file 1,000,000. */
  maxRows?: number
}

export const TASK_OPTIONS: (keyof TaskOptions & string)[] = [
  'name',
  'queue',
  'window',
  'concurrency',
  'rowsPerJob',
  'maxFailures',
  'onMaxFailures',
  'keepArgs',
  'keep',
  'lostAfter',
  'onDone',
  'onFailure',
  'maxRows',
]

const KEPT: readonly unknown[] = ['rejected', 'all', 'none'] satisfies TaskOptions['keepArgs'][]

/** What can be told to be wrong before any row is read. @throws INVALID_OPTION */
export function checkTaskOptions(options: TaskOptions): void {
  const { keepArgs, onDone, onFailure, rowsPerJob } = options
  checkName(options.name)
  if (options.queue !== undefined) checkQueueName(options.queue)
  checkMaxRows(options.maxRows)
  windowOf(options)
  policyOf(options)
  if (keepArgs !== undefined && !KEPT.includes(keepArgs)) {
    throw invalid(`keepArgs is one of ${KEPT.join(', ')}, not ${shown(keepArgs)}`)
  }
  if (rowsPerJob !== undefined && !(Number.isInteger(rowsPerJob) && rowsPerJob >= 1 && rowsPerJob <= MOST_ROWS)) {
    throw invalid(`rowsPerJob is a whole number from 1 to ${MOST_ROWS}`)
  }
  for (const [name, job] of Object.entries({ onDone, onFailure })) {
    if (job === undefined || typeof job?.request === 'function') continue
    throw invalid(`${name} is a job: what hq.job(…) answers`)
  }
}

/** @throws INVALID_OPTION */
export function checkJob(where: string, job: unknown): void {
  if (typeof (job as CallbackJob | null)?.request === 'function') return
  throw invalid(`${where}: the first argument is a job, what hq.job(…) answers, not ${shown(job)}`)
}

/** @throws INVALID_OPTION */
export function checkMaxRows(maxRows: unknown): void {
  if (maxRows === undefined || (Number.isSafeInteger(maxRows) && (maxRows as number) > 0)) return
  throw invalid(`maxRows is a whole number above 0, not ${shown(maxRows)}`)
}

/** @throws INVALID_OPTION */
export function checkName(name: unknown): void {
  if (name === undefined || (typeof name === 'string' && name !== '')) return
  throw invalid('name is a text, for people')
}

/** The part of a task that says how it is handled. @throws INVALID_OPTION */
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
export function parseMaxFailures(tolerated: number | string | null): MaxFailures | null {
  if (tolerated === null || tolerated === Number.POSITIVE_INFINITY) return null
  if (typeof tolerated === 'number' && Number.isSafeInteger(tolerated) && tolerated >= 0) return { rows: tolerated }
  const percent = typeof tolerated === 'string' ? Number(/^(\d+(?:\.\d+)?)\s*%$/.exec(tolerated)?.[1]) : Number.NaN
  if (percent >= 0 && percent <= 100) return { percent }
  throw invalid(`maxFailures is a number of rows, or a share such as '5%', not ${shown(tolerated)}`)
}

/** As it is said in options; null: every failure is tolerated. */
export function formatMaxFailures(tolerance: MaxFailures | null): number | `${number}%` | null {
  if (!tolerance) return null
  return 'rows' in tolerance ? tolerance.rows : `${tolerance.percent}%`
}

/** @throws INVALID_OPTION */
export function parseOnMaxFailures(onMaxFailures: unknown): 'pause' | 'cancel' {
  if (onMaxFailures === 'pause' || onMaxFailures === 'cancel') return onMaxFailures
  throw invalid(`onMaxFailures must be 'pause' or 'cancel' (got ${shown(onMaxFailures)})`)
}

/** The window that is asked for; undefined: nothing is said. @throws INVALID_OPTION */
export function windowOf({ window, concurrency }: Pick<TaskOptions, 'window' | 'concurrency'>): number | undefined {
  for (const [name, value] of Object.entries({ window, concurrency })) {
    if (value === undefined || (Number.isSafeInteger(value) && value > 0)) continue
    throw invalid(`${name} is a whole number above 0`)
  }
  return window === undefined || concurrency === undefined ? (concurrency ?? window) : Math.min(window, concurrency)
}

function milliseconds(name: string, duration: number | Duration): number {
  const ms = Math.round(seconds(duration) * 1000)
  if (ms > 0) return ms
  throw invalid(`${name} is a time above 0: seconds, or a text such as '30d'`)
}

function invalid(message: string): HighkiqError {
  return new HighkiqError('INVALID_OPTION', message)
}
