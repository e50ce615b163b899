import type { Duration } from './duration.ts'
import { HighkiqError, invalidOption } from './errors.ts'
import type { Logger } from './logger.ts'
import { type AttemptMessage, Messages, mergeMessages } from './messages.ts'
import { type ActiveJobEnvelope, isBid, type Payload } from './payload.ts'
import { baseQueue } from './priority.ts'

export type AbortCode = 'JOB_CANCELLED' | 'JOB_TIMEOUT' | 'SHUTDOWN' | 'LEASE_LOST'

/** A longer note is cut: each event and each heartbeat has it. */
const MOST_NOTE_CHARACTERS = 1000

/** The progress of an attempt, as its handler reports it. */
export interface Progress {
  done: number
  total?: number
  note?: string
}

export function isProgress(value: unknown): value is Progress {
  return typeof (value as Partial<Progress> | null | undefined)?.done === 'number'
}

export interface DeferOptions {
  /** The time in which the row must be ended: seconds, or a string such as `'2h'`; default: a day. */
  within?: number | Duration
}

/** The task to which the row, or rows, of a job belong. */
export interface TaskOfJob {
  id: string
  /** The index of the row, or of the first of several rows. */
  index: number
  /** The indexes of all rows of the job, in the order of the list that its handler gets. */
  indexes: readonly number[]
  /**
   * Adds rows to the task, for any job of this app. An attempt that runs again must add the same rows in the same order, also in
   * a later run; the store keeps them once. After a retry with new arguments all rows are added. `of` is the row of this job that
   * adds them (0 = first), for a job with several rows.
   * @returns the number of rows; @throws TASK_ENDED, TASK_TAKEN_OVER (the row is in a later run), UNKNOWN_TASK, INVALID_ARGS,
   *   INVALID_OPTION
   */
  add(
    job: { readonly name: string },
    rows: Iterable<unknown[]> | AsyncIterable<unknown[]>,
    of?: number,
  ): Promise<number>
  /** See `ctx.defer`. */
  defer(options?: DeferOptions): Promise<boolean>
}

/** The batch to which a job belongs. */
export interface BatchOfJob {
  bid: string
  /**
   * Adds the jobs that `work` pushes. When it throws, nothing is added. An attempt that runs again adds them again.
   * @throws BATCH_ENDED, UNKNOWN_BATCH, INVALID_OPTION, PushError, and what `work` throws
   */
  add(work: () => unknown): Promise<void>
}

/** How a child of a flow ended. `lost`: the store does not know. */
export interface ChildResult {
  /** The name of its job. */
  job: string
  jid: string
  status: 'succeeded' | 'failed' | 'lost'
  /** The value that its handler returned, as JSON of at most 16 kB. */
  result?: unknown
  error?: { message: string; class?: string; code?: string }
}

/** The access of a context to batches. */
export interface BatchAccess {
  add(bid: string, work: () => unknown): Promise<void>
  children(bid: string): Promise<ChildResult[]>
}

/** The part of a lease that a worker needs to start a job, and to store its result or cursor. */
export interface HeldLease {
  /** The time on the monotonic clock before which no other process can have claimed the lease. */
  readonly safeUntil: number
  /**
   * Renews the lease until `safeUntil` is in the future. Returns false when the lease was lost, or the worker has stopped.
   */
  confirm(): Promise<boolean>
}

/** The parts of a context that all contexts of a worker share. */
export interface ContextParts {
  log: Logger
  /** The members of the payload that each log line shows. */
  loggedJobAttributes: readonly string[]
  now: () => number
  /** Returns whether the worker fetches no more jobs. */
  isStopping?: (() => boolean) | undefined
  batches?: BatchAccess | undefined
  /** Absent where there is no worker. */
  lease?: HeldLease | undefined
}

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal']

/** Ruby's `unknown` is above all others. Any other text counts as no level, because other programs write payloads, too. */
function levelOf(wanted: unknown): string | undefined {
  return wanted === 'unknown' ? 'fatal' : LOG_LEVELS.find((level) => level === wanted)
}

/** The context of an attempt, which its handler gets. Costly members are created at their first use. */
export class JobContext {
  readonly payload: Payload
  /** The queue from which the job was fetched, without its priority. */
  readonly queue: string
  /** The arguments of the handler; server middleware may replace them. */
  args: unknown[]
  /** Set when the job is a row of a tracked task. */
  readonly task: TaskOfJob | undefined
  /** Whether a feature has given this context members of its own. @internal */
  isExtended = false
  /** Set when the job comes from Rails' ActiveJob. */
  activeJob: ActiveJobEnvelope | undefined
  readonly #parts: ContextParts
  #log: Logger | undefined
  #controller: AbortController | undefined
  #aborted: HighkiqError | undefined
  /** The messages of this attempt, by row; undefined for those about all rows. */
  #messages: Map<number | undefined, Messages> | undefined
  #progress: Progress | undefined
  #isDeferred = false
  #pendingDeferral: Promise<boolean> | undefined

  constructor(payload: Payload, queue: string, parts: ContextParts, task?: TaskOfJob) {
    this.payload = payload
    this.queue = baseQueue(queue)
    this.args = payload.args
    this.task = task
    this.#parts = parts
  }

  get jid(): string {
    return this.payload.jid
  }

  /** 1 at the first run. */
  get attempt(): number {
    const { hk_attempt, retry_count } = this.payload
    if (hk_attempt !== undefined) return hk_attempt + 1
    return typeof retry_count === 'number' ? retry_count + 2 : 1
  }

  /** The batch to which the job belongs; undefined without one. */
  get batch(): BatchOfJob | undefined {
    const { bid } = this.payload
    const { batches } = this.#parts
    return batches && isBid(bid) ? { bid, add: (work) => batches.add(bid, work) } : undefined
  }

  /**
   * Returns how the children of this job in a flow ended, in their order; nothing for a job without children.
   * @throws UNKNOWN_BATCH when their results are kept no longer
   */
  async children(): Promise<ChildResult[]> {
    const { hk_children: bid } = this.payload
    return isBid(bid) ? ((await this.#parts.batches?.children(bid)) ?? []) : []
  }

  /** Aborts when the job is cancelled, exceeds its timeout, or must end because the worker stops. */
  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController()
      if (this.#aborted) this.#controller.abort(this.#aborted)
    }
    return this.#controller.signal
  }

  /** True when the job runs in the process that called it, without a store. */
  get isInline(): boolean {
    return this.#parts.isStopping === undefined
  }

  get log(): Logger {
    this.#log ??= this.#openLog()
    return this.#log
  }

  /** True when the signal has aborted or the worker fetches no more jobs: for a loop that can stop and continue later. */
  get interrupted(): boolean {
    return this.#aborted !== undefined || this.#parts.isStopping?.() === true
  }

  /** The fields of each log line of the job. */
  protected get logFields(): Record<string, unknown> {
    const { payload, jid, queue } = this
    return { jid, class: payload.wrapped ?? payload.class, queue }
  }

  #openLog(): Logger {
    const { payload } = this
    const fields = this.logFields
    for (const name of this.#parts.loggedJobAttributes) if (payload[name] !== undefined) fields[name] = payload[name]
    const level = levelOf(payload.log_level)
    const { log } = this.#parts
    return level ? log.child(fields, { level }) : log.child(fields)
  }

  /** The reason for which the signal was aborted; undefined before. */
  get abortReason(): HighkiqError | undefined {
    return this.#aborted
  }

  /**
   * Adds a message, which is cut to 2,000 characters and stored when the attempt ends. The messages of a tracked job are in
   * its event. Any other job keeps its messages while the store has the job; `hq.find` and the dashboard show them. Of more
   * than 40 messages the first ten and the last thirty are kept. In a job with several rows, `row` is the row of the message
   * (0 = first). @throws INVALID_OPTION when there is no such row
   */
  message(text: string, row?: number): void {
    this.checkRow(row)
    this.#messages ??= new Map()
    let messages = this.#messages.get(row)
    if (!messages) {
      messages = new Messages()
      this.#messages.set(row, messages)
    }
    messages.add({ at: this.#parts.now(), text: String(text) })
  }

  protected checkRow(row: number | undefined): void {
    const rows = this.payload.hk_rows?.length ?? 1
    if (row === undefined || (Number.isInteger(row) && row >= 0 && row < rows)) return
    throw invalidOption(`ctx.message: there is no row ${row}; the job is ${rows}, from 0 on`)
  }

  /**
   * Reports progress. The dashboard and `hq.find` show it within about a second, and after the end of a job that is kept by
   * `keepFinished`. A reader of `hq.events` gets it at most twice a second. A note is cut after 1,000 characters.
   */
  progress(done: number, total?: number, note?: string): void {
    const cut = note === undefined || note === null ? {} : { note: String(note).slice(0, MOST_NOTE_CHARACTERS) }
    this.#progress = { done: finite(done), ...(total === undefined ? {} : { total: finite(total) }), ...cut }
  }

  /** The progress that was reported last. */
  get progressed(): Progress | undefined {
    return this.#progress
  }

  /**
   * Leaves the row `working` when the handler returns, until `hq.tasks.finish(jid, result)` or `fail(jid, message, code)`
   * ends it, or until the time `within` is over. Call it before you ask the other system, whose answer may come at once.
   * @returns false when the row has ended already, so there is nothing left to do
   * @throws INVALID_OPTION when the job is no row of a task, or runs without a worker
   */
  async defer(options?: DeferOptions): Promise<boolean> {
    if (!this.task) {
      const isTracked = this.payload.hk_task !== undefined
      throw invalidOption(
        isTracked
          ? 'ctx.defer: a job that runs without a worker (in highkiq/testing, or with performInline) has no row to defer: test it with a worker on sqlite::memory:'
          : 'ctx.defer: the job is no row of a task: create it with hq.tasks.create, or push it with track',
      )
    }
    const deferral = this.task.defer(options)
    this.#pendingDeferral = deferral
    try {
      if (!(await deferral)) return false
      this.#isDeferred = true
      return true
    } finally {
      if (this.#pendingDeferral === deferral) this.#pendingDeferral = undefined
    }
  }

  /** The call of `defer` that the store has not answered; a handler that does not await it returns before. */
  get pendingDeferral(): Promise<boolean> | undefined {
    return this.#pendingDeferral
  }

  /** Whether the row stays `working` when the handler returns. */
  get isDeferred(): boolean {
    return this.#isDeferred
  }

  get messages(): readonly AttemptMessage[] {
    return this.messagesOfRow(0).messages
  }

  /** Whether the handler has added a message. */
  get hasMessages(): boolean {
    return this.#messages !== undefined
  }

  /** Returns the messages about one row, together with those about all rows. */
  messagesOfRow(row: number): { readonly messages: readonly AttemptMessage[]; readonly dropped: number } {
    return mergeMessages(this.#messages?.get(undefined), this.#messages?.get(row))
  }

  /** Returns the context of one row: `payload` is that row as a job of its own. */
  ofRow(row: number, payload: Payload): JobContext {
    const own = new JobContext(payload, this.queue, this.#parts)
    if (this.#messages)
      own.#messages = new Map([[undefined, mergeMessages(this.#messages.get(undefined), this.#messages.get(row))]])
    own.#aborted = this.#aborted
    return own
  }

  /**
   * Returns whether the job is still this worker's. While the process was stopped, another worker may have run the job: its
   * result and cursor must not be overwritten. Waits while the store does not answer. @internal
   */
  async isStillOwn(): Promise<boolean> {
    const { lease } = this.#parts
    if (lease && performance.now() >= lease.safeUntil && !(await lease.confirm())) return false
    return this.#aborted?.code !== 'LEASE_LOST'
  }

  /** Aborts the signal; only the first reason counts. */
  abort(code: AbortCode, message: string): void {
    if (this.#aborted) return
    this.#aborted = new HighkiqError(code, message)
    this.#controller?.abort(this.#aborted)
  }
}

/** Returns a number that JSON has; 0 for anything else. */
function finite(value: unknown): number {
  const number = Number(value)
  return Number.isFinite(number) ? number : 0
}
