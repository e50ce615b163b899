/** The options of tasks. */

import { JOB, type Job } from '../client/job.ts'
import { checkQueueName } from '../job/definition.ts'
import { type Duration, LONGEST, millisecondsOf } from '../job/duration.ts'
import { checkOptions, given, type OptionKind, type OptionRule } from '../job/options.ts'
import { MOST_ROWS } from '../job/payload.ts'
import type { MaxFailures, TaskSpec } from '../store/contract.ts'
import { kindsOf, NEW_TASK_OPTIONS } from './import-options.ts'
import { checkMeta, type OwnMeta } from './meta.ts'

/** A job of `onDone` and `onFailure`, with its arguments. */
export type CallbackJob = Job<[task: string, run: number]> | Job<[task: string]> | Job<[]>

export interface TaskOptions {
  /** The name shown to people; default: the job's name. */
  name?: string
  /** Default: the job's queue. */
  queue?: string
  /** The most rows in the queue and running at a time; default: max(200, twice the slots that serve the queue). */
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
  /** How long the task is kept after it ended: seconds, or a string such as `'30d'`; default: 30 days. */
  keep?: number | Duration
  /** Without progress for this long, open rows whose job is in no queue or job set end as `lost`; default: an hour. */
  lostAfter?: number | Duration
  /** A job pushed once for each run that ended, with `(task id, run)`. */
  onDone?: CallbackJob
  /** A job pushed once for each run, at its first `failed` or `error` row, with `(task id, run)`. */
  onFailure?: CallbackJob
  /**
   * What the app stores with the task: JSON of at most 4 kB. By its members with a string or a whole number, at most four,
   * `tasks.list({ meta })` finds the task.
   */
  meta?: OwnMeta
  /** With more rows adding ends with TOO_MANY_ROWS and the task is `interrupted`. Default: no limit; for a file 1,000,000. */
  maxRows?: number
}

const TIME: OptionRule = [
  (time) => millisecondsOf(time) > 0,
  `a time above 0 and at most ${LONGEST}, in seconds or a string such as '30d'`,
]

/** The checks of the options. The compiler refuses this table when an option is missing. */
export const TASK_OPTIONS: Record<keyof TaskOptions, OptionKind> = {
  ...kindsOf(NEW_TASK_OPTIONS),
  rowsPerJob: [
    (n) => Number.isInteger(n) && Number(n) >= 1 && Number(n) <= MOST_ROWS,
    `a whole number from 1 to ${MOST_ROWS}`,
  ],
  maxFailures: [(limit) => parseMaxFailures(limit) !== undefined, "a number of rows, or a share such as '5%'"],
  keep: TIME,
  lostAfter: TIME,
  onDone: JOB,
  onFailure: JOB,
  meta: null,
  maxRows: 'count',
}

/** Checks the options before any row is read. `more` are the checks of other options. @throws INVALID_OPTION */
export function checkTaskOptions(
  where: string,
  options: TaskOptions,
  more: Readonly<Record<string, OptionKind>>,
): void {
  checkOptions(where, options, { ...TASK_OPTIONS, ...more })
  if (options.queue !== undefined) checkQueueName(options.queue)
  if (options.meta !== undefined) checkMeta(where, options.meta)
}

/** Returns the limits and times of checked options for the store. */
export function policyOf(
  options: Omit<TaskOptions, 'maxFailures'> & { maxFailures?: TaskOptions['maxFailures'] | null },
): Pick<TaskSpec, 'maxFailures' | 'onMaxFailures' | 'keep' | 'lostAfter'> {
  const { maxFailures, keep, lostAfter } = options
  return {
    ...given(options, ['onMaxFailures']),
    ...(maxFailures === undefined ? {} : { maxFailures: parseMaxFailures(maxFailures) }),
    ...(keep === undefined ? {} : { keep: millisecondsOf(keep) }),
    ...(lostAfter === undefined ? {} : { lostAfter: millisecondsOf(lostAfter) }),
  }
}

/** Returns `maxFailures` as the store has it; null: no limit; undefined: the value is not allowed. */
function parseMaxFailures(value: unknown): MaxFailures | null | undefined {
  if (value === null || value === Number.POSITIVE_INFINITY) return null
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return { rows: value }
  const percent = typeof value === 'string' ? Number(/^(\d+(?:\.\d+)?)\s*%$/.exec(value)?.[1]) : Number.NaN
  return percent >= 0 && percent <= 100 ? { percent } : undefined
}

/** Returns `maxFailures` as options write it; null: no limit. */
export function formatMaxFailures(limit: MaxFailures | null): number | `${number}%` | null {
  if (!limit) return null
  return 'rows' in limit ? limit.rows : `${limit.percent}%`
}

/** Returns the smaller of `window` and `concurrency`; undefined without both. */
export function windowOf({ window, concurrency }: Pick<TaskOptions, 'window' | 'concurrency'>): number | undefined {
  return window === undefined || concurrency === undefined ? (concurrency ?? window) : Math.min(window, concurrency)
}
