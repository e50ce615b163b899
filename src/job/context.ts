import { HighkiqError } from './errors.ts'
import type { Logger } from './logger.ts'
import { Messages, type Said, together } from './messages.ts'
import type { ActiveJobEnvelope, Payload } from './payload.ts'

export type AbortCode = 'JOB_CANCELLED' | 'JOB_TIMEOUT' | 'SHUTDOWN' | 'LEASE_LOST'

/** How far an attempt has come, as its handler says. */
export interface Progress {
  done: number
  total?: number
  note?: string
}

/** The task that a job is a row of, or several. */
export interface TaskOfJob {
  id: string
  /** Of the row; of several, of the first. */
  index: number
  /** Of all rows that the job is, in the order of the list that its handler gets. */
  indexes: readonly number[]
  /**
   * More rows, of any job of this app. An attempt that runs again adds the same ones, in the same order, and they are
   * there once. `of`: which of its rows adds them (0 = first), where the job is several.
   * @returns how many; @throws TASK_ENDED, UNKNOWN_TASK, INVALID_ARGS, INVALID_OPTION
   */
  add(
    job: { readonly name: string },
    rows: Iterable<unknown[]> | AsyncIterable<unknown[]>,
    of?: number,
  ): Promise<number>
}

/** What a context is made of. */
export interface ContextParts {
  log: Logger
  /** Members of the payload that each line shows. */
  attributes: readonly string[]
  now: () => number
  task?: TaskOfJob | undefined
  /** Whether the worker takes no more jobs. */
  isStopping?: (() => boolean) | undefined
}

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal']

/** Ruby's `unknown` is above all others. What is no level is none: a payload comes from anywhere. */
function levelOf(wanted: unknown): string | undefined {
  return wanted === 'unknown' ? 'fatal' : LOG_LEVELS.find((level) => level === wanted)
}

/** What a handler knows of the attempt that it is. Everything that costs something is made when it is first asked for. */
export class JobContext {
  readonly payload: Payload
  /** The queue it was taken from. */
  readonly queue: string
  /** What the handler gets; server middleware may put other arguments here. */
  args: unknown[]
  /** Set when the job is a row of a tracked task. */
  readonly task: TaskOfJob | undefined
  /** Set when the job came from Rails' ActiveJob. */
  activeJob: ActiveJobEnvelope | undefined
  readonly #baseLog: Logger
  readonly #attributes: readonly string[]
  readonly #parts: ContextParts
  readonly #now: () => number
  #log: Logger | undefined
  #controller: AbortController | undefined
  #aborted: HighkiqError | undefined
  /** Given to `message`, until the attempt ends: about each of its rows, or about all of it (undefined). */
  #messages: Map<number | undefined, Messages> | undefined
  #progress: Progress | undefined
  readonly #isStopping: (() => boolean) | undefined

  constructor(payload: Payload, queue: string, about: ContextParts) {
    this.payload = payload
    this.queue = queue
    this.args = payload.args
    this.task = about.task
    this.#parts = about
    this.#baseLog = about.log
    this.#attributes = about.attributes
    this.#now = about.now
    this.#isStopping = about.isStopping
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

  /** Aborts when the job is cancelled, runs into its timeout, or must end because the worker stops. */
  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController()
      if (this.#aborted) this.#controller.abort(this.#aborted)
    }
    return this.#controller.signal
  }

  /** It runs in the process that called it, and is stored nowhere. */
  get isInline(): boolean {
    return this.#isStopping === undefined
  }

  get log(): Logger {
    this.#log ??= this.#openLog()
    return this.#log
  }

  /** Whether the attempt was told to end, or its worker takes no more jobs: for a loop that can break off and go on later. */
  get interrupted(): boolean {
    return this.#aborted !== undefined || this.#isStopping?.() === true
  }

  /** What each line of its log shows. */
  protected get logFields(): Record<string, unknown> {
    const { payload, jid, queue } = this
    return { jid, class: payload.wrapped ?? payload.class, queue }
  }

  #openLog(): Logger {
    const { payload } = this
    const fields = this.logFields
    for (const name of this.#attributes) if (payload[name] !== undefined) fields[name] = payload[name]
    const level = levelOf(payload.log_level)
    return level ? this.#baseLog.child(fields, { level }) : this.#baseLog.child(fields)
  }

  /** Why the attempt was told to end; undefined while it was not. */
  get abortReason(): HighkiqError | undefined {
    return this.#aborted
  }

  /**
   * Kept with the job's event when it is tracked (2,000 characters at most), and stored when the attempt ends. Of more
   * than 40 the first ten and the last thirty are kept. `row`: it is about that row only (0 = first), where the job is
   * several rows of a task. @throws INVALID_OPTION when there is no such row
   */
  message(text: string, row?: number): void {
    this.checkRow(row)
    this.#messages ??= new Map()
    let messages = this.#messages.get(row)
    if (!messages) {
      messages = new Messages()
      this.#messages.set(row, messages)
    }
    messages.add({ at: this.#now(), text: String(text) })
  }

  protected checkRow(row: number | undefined): void {
    const rows = this.payload.hk_rows?.length ?? 1
    if (row === undefined || (Number.isInteger(row) && row >= 0 && row < rows)) return
    throw new HighkiqError('INVALID_OPTION', `ctx.message: there is no row ${row}; the job is ${rows}, from 0 on`)
  }

  /** How far it has come: shown with the running job, a few seconds later, and not stored. */
  progress(done: number, total?: number, note?: string): void {
    this.#progress = { done, ...(total === undefined ? {} : { total }), ...(note === undefined ? {} : { note }) }
  }

  /** What `progress` was told last. */
  get progressed(): Progress | undefined {
    return this.#progress
  }

  get messages(): readonly Said[] {
    return this.saidOf(0).said
  }

  /** What `message` was told of a row, or of all of them together. */
  saidOf(row: number): { readonly said: readonly Said[]; readonly dropped: number } {
    return together(this.#messages?.get(undefined), this.#messages?.get(row))
  }

  /** The same attempt, as far as it is about one of its rows: `payload` is what that row would be alone. */
  ofRow(row: number, payload: Payload): JobContext {
    const own = new JobContext(payload, this.queue, { ...this.#parts, task: undefined })
    if (this.#messages)
      own.#messages = new Map([[undefined, together(this.#messages.get(undefined), this.#messages.get(row))]])
    own.#aborted = this.#aborted
    return own
  }

  /** The first reason stays. */
  abort(code: AbortCode, message: string): void {
    if (this.#aborted) return
    this.#aborted = new HighkiqError(code, message)
    this.#controller?.abort(this.#aborted)
  }
}
