import { HighkiqError } from './errors.ts'
import type { Logger } from './logger.ts'
import type { ActiveJobEnvelope, Payload } from './payload.ts'

export type AbortCode = 'JOB_CANCELLED' | 'JOB_TIMEOUT' | 'SHUTDOWN' | 'LEASE_LOST'

/** How far an attempt has come, as its handler says. */
export interface Progress {
  done: number
  total?: number
  note?: string
}

/** The task that a job is a row of. */
export interface TaskOfJob {
  id: string
  /** Of the row. */
  index: number
  /**
   * More rows, of any job of this app. An attempt that runs again adds the same ones, in the same order, and they are
   * there once. @returns how many; @throws TASK_ENDED, UNKNOWN_TASK, INVALID_ARGS
   */
  add(job: { readonly name: string }, rows: Iterable<unknown[]> | AsyncIterable<unknown[]>): Promise<number>
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

/** Of one attempt; an event keeps 50 of its whole life. */
const MOST_MESSAGES = 40
const FIRST_MESSAGES = 10

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
  readonly #now: () => number
  #log: Logger | undefined
  #controller: AbortController | undefined
  #aborted: HighkiqError | undefined
  /** Texts given to `message`, until the attempt ends. */
  #messages: { at: number; text: string }[] | undefined
  #dropped = 0
  #progress: Progress | undefined
  readonly #isStopping: (() => boolean) | undefined

  constructor(payload: Payload, queue: string, about: ContextParts) {
    this.payload = payload
    this.queue = queue
    this.args = payload.args
    this.task = about.task
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

  #openLog(): Logger {
    const { payload } = this
    const fields: Record<string, unknown> = {
      jid: this.jid,
      class: payload.wrapped ?? payload.class,
      queue: this.queue,
    }
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
   * than 40 the first ten and the last thirty are kept.
   */
  message(text: string): void {
    this.#messages ??= []
    if (this.#messages.length >= MOST_MESSAGES) {
      this.#messages.splice(FIRST_MESSAGES, 1)
      this.#dropped++
    }
    this.#messages.push({ at: this.#now(), text: String(text) })
  }

  /** How far it has come: shown with the running job, a few seconds later, and not stored. */
  progress(done: number, total?: number, note?: string): void {
    this.#progress = { done, ...(total === undefined ? {} : { total }), ...(note === undefined ? {} : { note }) }
  }

  /** What `progress` was told last. */
  get progressed(): Progress | undefined {
    return this.#progress
  }

  get messages(): readonly { at: number; text: string }[] {
    return this.#messages ?? []
  }

  /** How many messages between the first ten and the others are not kept. */
  get droppedMessages(): number {
    return this.#dropped
  }

  /** The first reason stays. */
  abort(code: AbortCode, message: string): void {
    if (this.#aborted) return
    this.#aborted = new HighkiqError(code, message)
    this.#controller?.abort(this.#aborted)
  }
}
