import { setTimeout as sleep } from 'node:timers/promises'
import type { AppPort } from '../app/port.ts'
import { checkJob, type Job } from '../client/job.ts'
import { HighkiqError, invalidOption } from '../job/errors.ts'
import { checkOptions, given, type OptionKind } from '../job/options.ts'
import { baseQueue } from '../job/priority.ts'
import {
  type CodeFilter,
  EVENT_STATUSES,
  type EventQuery,
  type EventRecord,
  type EventStatus,
  endedOf,
  type ReasonCount,
  type TaskChange,
  type TaskRecord,
  type TaskState,
} from '../store/contract.ts'
import { addToTask } from './create.ts'
import { cancelRows, removeTask } from './end-task.ts'
import { CODE_OPTIONS, checkCode, checkStatuses, codeFilterOf, eventOf, eventPages, type TaskEvent } from './event.ts'
import { type DownloadOptions, download } from './export.ts'
import { type LinkOptions, linkOf } from './link.ts'
import { appMessage, messageText } from './messages.ts'
import { metaOf, type OwnMeta } from './meta.ts'
import { formatMaxFailures, policyOf, TASK_OPTIONS, type TaskOptions, windowOf } from './options.ts'
import type { ResumedCall } from './producer.ts'
import { checkReport, type ReportOptions, reportStream, writeReport } from './report.ts'
import { type Retried, type RetryOptions, retryTask } from './retry.ts'
import { asRows, findTask, retryTransient, unknownTask } from './rows.ts'
import type { FileFormat } from './spreadsheet/format.ts'

export interface TaskStatus {
  id: string
  name: string
  job: string
  queue: string
  state: TaskState
  /** Why the task is paused, cancelled or interrupted, if known; or that more rows failed than `maxFailures` allows. */
  reason?: string
  /** The reason as a code with parameters, to be worded in any language; `message` is a text of the app in `params.text`. */
  cause?: { code: string; params: Record<string, unknown> }
  run: number
  /** When the run began: the first run with the task, later runs with a retry. */
  runAt: Date
  /** The rows added so far; grows while the state is `adding`. */
  total: number
  /** The rows not yet in the queue; part of `counts.enqueued`. */
  backlog: number
  /** The rows that wait for a retry or snooze; part of `counts.enqueued`. With `rowsPerJob` a lower bound. */
  retrying: number
  /** The rows that wait for their end from outside (`ctx.defer`); part of `counts.working`. */
  deferred: number
  /** The most rows in the queue and running at a time; with `rowsPerJob` the most jobs. */
  window: number
  /** The most rows in one job; null: one row each. */
  rowsPerJob: number | null
  /** The most rows, or the largest share, that may be `failed` or `error`; null: all. */
  maxFailures: number | `${number}%` | null
  /** What happens when more fail. */
  onMaxFailures: 'pause' | 'cancel'
  /** The option `meta` of the task. */
  meta?: OwnMeta
  counts: Record<EventStatus, number>
  /** The percentage of added rows that have ended; 100 for a task without rows. */
  percent: number
  createdAt: Date
  finishedAt: Date | null
  /** Rows ended per second since the run began, without those that were rejected when they were added. */
  ratePerSecond: number
  /** null while rows are still being added, when none has ended in this run yet, or when only retries and deferred rows are left. */
  etaSeconds: number | null
}

export interface WaitOptions {
  signal?: AbortSignal
  onProgress?: (status: TaskStatus) => void
  /** Milliseconds between two status calls; default: 200. */
  every?: number
}

export interface AddOptions {
  /** More rows are refused with TOO_MANY_ROWS. Default: no limit. */
  maxRows?: number
}

export interface ResumeOptions {
  /** The call that broke off. Default: `create`, which also stands for `import` and `export`. */
  of?: ResumedCall
}

/** Selects events. Default: all of them. */
export interface EventsOptions extends CodeFilter {
  status?: EventStatus[] | undefined
  /** Only rows behind this index. */
  after?: number | undefined
}

export type TaskSettings = Pick<TaskOptions, 'name' | 'window' | 'concurrency' | 'onMaxFailures'> & {
  maxFailures?: TaskOptions['maxFailures'] | null
}

const { name, window, concurrency, maxFailures, onMaxFailures } = TASK_OPTIONS
const SETTINGS: Record<keyof TaskSettings, OptionKind> = { name, window, concurrency, maxFailures, onMaxFailures }

export { endedOf }

/** Returns whether nothing of the task is left to do. */
export function isOver({ state, counts }: TaskStatus): boolean {
  if (state === 'done' || state === 'cancelled') return true
  return state === 'interrupted' && counts.enqueued + counts.working === 0
}

/** A share counts from this many ended rows on. */
const MIN_ROWS_FOR_SHARE = 100

/** Returns whether more rows failed than `maxFailures` allows. After `resume` the next such row pauses the task again. */
export function hasTooManyFailures({ maxFailures, counts, state, total }: TaskStatus): boolean {
  const rejected = counts.failed + counts.error
  if (maxFailures === null) return false
  if (typeof maxFailures === 'number') return rejected > maxFailures
  const ended = endedOf(counts)
  // With fewer ended rows the store compared with all rows when the last one was stored.
  const of = ended >= MIN_ROWS_FOR_SHARE ? ended : state === 'paused' ? total : Number.POSITIVE_INFINITY
  return rejected * 100 > Number.parseFloat(maxFailures) * of
}

/** A tracked task, by its id. Every method asks the store. */
export class Task {
  readonly id: string
  /** The encoding of the imported file; set only on the task that `tasks.import` has just returned. */
  declare readonly encoding?: string
  readonly #app: AppPort

  constructor(app: AppPort, id: string, encoding?: string) {
    this.id = id
    if (encoding !== undefined) this.encoding = encoding
    this.#app = app
  }

  /** Returns the task's state and counts; null if there is no such task. */
  async status(): Promise<TaskStatus | null> {
    const record = await this.#app.store.tasks.find(this.id)
    return record && statusOf(record, this.#app.now())
  }

  /** Yields the task's events in the order of its rows, with `after` from the row after that index on. */
  async *events(options: EventsOptions = {}): AsyncGenerator<TaskEvent> {
    checkOptions('task.events', options, { status: null, ...CODE_OPTIONS, after: 'index' })
    const { status, after } = options
    checkCode('task.events', options)
    if (status !== undefined) checkStatuses('task.events', status, EVENT_STATUSES)
    const task = await this.#record()
    for await (const event of this.#pages({ status, ...codeFilterOf(options), after })) yield eventOf(task.job, event)
  }

  /** Counts the rejected rows by status and code, the most frequent first. @throws UNKNOWN_TASK */
  async reasons(): Promise<ReasonCount[]> {
    await this.#record()
    return (await this.#app.store.tasks.reasons(this.id)).sort((a, b) => b.count - a.count)
  }

  /**
   * Resolves when nothing of the task is left to do.
   * @throws UNKNOWN_TASK, INVALID_OPTION; the reason of `signal` when it aborts
   */
  async wait(options: WaitOptions = {}): Promise<TaskStatus> {
    checkOptions('task.wait', options, { signal: 'signal', onProgress: 'function', every: 'amount' })
    const { signal, onProgress, every = 200 } = options
    for (;;) {
      signal?.throwIfAborted()
      const status = statusOf(await retryTransient(() => this.#record()), this.#app.now())
      onProgress?.(status)
      if (isOver(status)) return status
      await sleep(every, undefined, signal ? { signal } : {}).catch(() => signal?.throwIfAborted())
    }
  }

  /**
   * Adds rows of the task's own job or of another one, while the task has not ended.
   * @returns how many rows. @throws TASK_ENDED, UNKNOWN_TASK, INVALID_ARGS, TOO_MANY_ROWS (with `maxRows`); the rows before
   *   the error stay
   */
  async add<Args extends unknown[]>(
    job: Job<Args>,
    rows: Iterable<NoInfer<Args>> | AsyncIterable<NoInfer<Args>>,
    options: AddOptions = {},
  ): Promise<number> {
    checkJob('task.add', job)
    checkOptions('task.add', options, { maxRows: 'count' })
    const all = asRows(rows, options.maxRows)
    return addToTask(this.#app, await this.#record(), job as unknown as Job<never[]>, all)
  }

  /**
   * Resumes adding to a task whose producer died or was cut off: that of `create` or `import`, or, with `of: 'add'`, the oldest
   * call of `add` that broke off. `rows` are all rows of that call, from the first; those already stored are skipped. A producer
   * of `create` or `import` that is still adding gets TASK_TAKEN_OVER.
   * @returns how many rows were missing. @throws TASK_ENDED, UNKNOWN_TASK; INVALID_OPTION when only a call of `add` broke off,
   *   and `of` is missing; TASK_BUSY while calls of `add` are adding rows and none broke off
   */
  async resumeAdding<Args extends unknown[]>(
    job: Job<Args>,
    rows: Iterable<NoInfer<Args>> | AsyncIterable<NoInfer<Args>>,
    options: ResumeOptions = {},
  ): Promise<number> {
    checkJob('task.resumeAdding', job)
    checkOptions('task.resumeAdding', options, { of: ['create', 'add'] })
    const { of = 'create' } = options
    return addToTask(this.#app, await this.#record(), job as unknown as Job<never[]>, asRows(rows), of)
  }

  /** Stops queueing rows; queued rows still run, and rows may be added. @throws UNKNOWN_TASK, TASK_ENDED */
  async pause(): Promise<void> {
    await this.#change({ paused: true, reason: null })
  }

  /** Queues rows again. @throws UNKNOWN_TASK, TASK_ENDED */
  async resume(): Promise<void> {
    await this.#change({ paused: false, reason: null })
  }

  /** Changes limits while the task runs; `maxFailures: null` allows every failure. @throws UNKNOWN_TASK, TASK_ENDED, INVALID_OPTION */
  async set(options: TaskSettings): Promise<void> {
    checkOptions('task.set', options, SETTINGS)
    const change = given({ name: options.name, window: windowOf(options) }) as TaskChange
    await this.#change({ ...change, ...policyOf(options) })
  }

  /**
   * Cancels the task: rows that have not started are cancelled, and running ones get an abort of their `ctx.signal`.
   * Resolves when no row waits. A task that has ended stays as it is. @throws UNKNOWN_TASK
   */
  async cancel(reason?: string): Promise<void> {
    const { store, now } = this.#app
    checkOptions('task.cancel', { reason }, { reason: 'text' })
    const message = reason === undefined ? null : appMessage(now(), reason)
    const answer = await retryTransient(() => store.tasks.cancel(this.id, message, now()))
    if (answer === null) throw unknownTask(this.id)
    if (answer === 'ok') await cancelRows(this.#app, this.id)
  }

  /**
   * Runs rejected rows again: all `failed` and `error` rows, those of some statuses or one code, or given rows with new
   * arguments, also as a corrected report. @throws UNKNOWN_TASK, TASK_BUSY, INVALID_OPTION, INVALID_FILE
   */
  async retry(options: RetryOptions = {}): Promise<Retried> {
    return retryTask(this.#app, await this.#record(), options)
  }

  /** Deletes the task and its events; cancels it first if it has not ended. Returns false if there was none. */
  async delete(): Promise<boolean> {
    const record = await this.#app.store.tasks.find(this.id)
    if (!record) return false
    if (record.state !== 'done' && record.state !== 'cancelled') await this.cancel()
    await removeTask(this.#app, this.id)
    return true
  }

  /**
   * Writes the rows that did not finish (or all) as a file: their own columns, then row, row key, status, code, messages
   * and attempts. With a path the file is written there; otherwise the report is a stream, produced while it is read.
   * @returns with a path: how many rows. @throws UNKNOWN_TASK, REPORT_FAILED, INVALID_OPTION
   */
  report(path: string, options?: ReportOptions): Promise<{ rows: number }>
  report(options: ReportOptions & { format: FileFormat }): Promise<ReadableStream<Uint8Array>>
  async report(
    to: string | (ReportOptions & { format: FileFormat }),
    options: ReportOptions = {},
  ): Promise<{ rows: number } | ReadableStream<Uint8Array>> {
    checkReport(typeof to === 'string' ? options : to)
    if (to === '')
      throw invalidOption("task.report: the first argument must be the path of a file or { format } (got '')")
    const task = await this.#record()
    const events = (query: Omit<EventQuery, 'limit'>) => eventPages(this.#app.store, this.id, query)
    return typeof to === 'string' ? writeReport(to, task, events, options) : reportStream(task, events, to)
  }

  /**
   * Returns the file of an export, produced while it is read: the rows of its pages in their order.
   * @throws NOT_AN_EXPORT, TASK_NOT_DONE, EXPORT_INCOMPLETE, UNKNOWN_TASK
   */
  async download(options: DownloadOptions = {}): Promise<ReadableStream<Uint8Array>> {
    checkOptions('task.download', options, { wait: 'flag', partial: 'flag', show: 'function', signal: 'signal' })
    return download(this.#app, await this.#record(), options)
  }

  /**
   * Returns a link that opens this task without a login, for its submitter. The app needs `publicUrl`. A server with a
   * `secret` of its own opens it only if the app has the same.
   * @throws UNKNOWN_TASK, INVALID_OPTION
   */
  async link(options: LinkOptions = {}): Promise<string> {
    return linkOf(this.#app, this.id, options)
  }

  /**
   * Ends all links to this task that exist, in all processes at once. New ones open it. @throws UNKNOWN_TASK
   */
  async revokeLinks(): Promise<void> {
    const { tasks } = this.#app.store
    if (!(await retryTransient(() => tasks.revokeLinks(this.id)))) throw unknownTask(this.id)
  }

  async #change(change: TaskChange): Promise<void> {
    const { store, now } = this.#app
    const answer = await retryTransient(() => store.tasks.change(this.id, change, now()))
    if (answer === null) throw unknownTask(this.id)
    if (answer === 'ended') throw new HighkiqError('TASK_ENDED', `task ${this.id} has ended: it can only be retried`)
  }

  async *#pages(query: EventsOptions): AsyncGenerator<EventRecord> {
    for await (const page of eventPages(
      this.#app.store,
      this.id,
      given(query, ['status', 'code', 'otherCodes', 'after']),
    )) {
      yield* page
    }
  }

  #record(): Promise<TaskRecord> {
    return findTask(this.#app, this.id)
  }
}

export function statusOf(record: TaskRecord, now: number): TaskStatus {
  const { id, name, job, queue, state, run, total, backlog, counts, reason } = record
  const { window, rowsPerJob, maxFailures, onMaxFailures, deferred } = record
  const ended = endedOf(counts)
  const seconds = Math.max((record.finishedAt ?? now) - record.runAt, 1) / 1000
  // Rows that were rejected when they were added took no time. A row that was reopened by hand had ended before, too.
  const endedInRun = Math.max(ended - record.endedBefore, 0)
  const ratePerSecond = endedInRun / seconds
  const open = counts.enqueued + counts.working
  // `inWindow` counts jobs, each of up to `rowsPerJob` rows.
  const retrying = Math.max(open - backlog - deferred - record.inWindow * (rowsPerJob ?? 1), 0)
  const exact = state !== 'adding' && endedInRun > 0 && (open === 0 || retrying + deferred < open)
  const { own: meta } = metaOf(record)
  const why = reason ? { reason: messageText(reason), cause: { code: reason.code, params: reason.params } } : {}
  const about = { id, name, job, queue: baseQueue(queue), state, ...given({ meta }), ...why }
  const rows = { run, runAt: new Date(record.runAt), total, backlog, retrying, deferred }
  const limits = { window, rowsPerJob, maxFailures: formatMaxFailures(maxFailures), onMaxFailures }
  return {
    ...about,
    ...rows,
    ...limits,
    counts,
    percent: total === 0 ? 100 : (ended / total) * 100,
    createdAt: new Date(record.createdAt),
    finishedAt: record.finishedAt === null ? null : new Date(record.finishedAt),
    ratePerSecond,
    etaSeconds: exact ? (total - ended) / ratePerSecond : null,
  }
}
