/**
 * Every error of Highkiq, in one place.
 *
 * There are two kinds. Highkiq throws `HighkiqError`s, with a stable `code` and a message that says what to do. A handler
 * throws `BusinessFailure`, `BatchFailure`, `Discard`, `Kill`, `Snooze` or `Release` to say how its job ended. Both are
 * recognised by `code`, never by `instanceof`, so a second copy of the package in node_modules does not matter.
 */

export type ErrorCode = keyof typeof STATUS

/** Each code with its HTTP status. */
const STATUS = {
  /** An argument, payload or option of a push is not usable. */
  INVALID_JOB: 400,
  /** A job argument can't be stored as JSON without loss. */
  INVALID_ARGS: 400,
  /** The arguments of one job are larger than `maxArgsBytes`. */
  ARGS_TOO_LARGE: 413,
  /** The encrypted argument of a job can't be read: its key is missing, or it was changed. The attempt fails. */
  DECRYPTION_FAILED: 500,
  /** An option of the app, a job, a worker or a task is wrong. */
  INVALID_OPTION: 400,
  /** A name was registered twice. */
  DUPLICATE_JOB: 409,
  /** No job of that name is registered here. */
  UNKNOWN_JOB: 404,
  /** No cron entry of that name is known. */
  UNKNOWN_CRON: 404,
  /** No ordered queue of that name is known: check the name, or start a worker that defines it. */
  UNKNOWN_ORDERED: 404,
  /** Another job has the lock of a unique job with `onConflict: 'raise'`. `details.jid` is that job. */
  UNIQUE_CONFLICT: 409,
  /** The next event of `hq.events` is not kept any more. `details.after` is the position of the reader. */
  EVENTS_TRIMMED: 410,
  /** A queue has its `maxLength` of jobs. Of a bulk, `details.pushed` has the stored jobs and `details.notPushed` the others. */
  QUEUE_FULL: 429,
  /** The last run of a cron entry with `overlap: 'skip'` has not ended. */
  CRON_BUSY: 409,
  /** The store URL has a scheme that Highkiq does not know. */
  UNKNOWN_STORE: 500,
  /** No SQLite driver is installed. */
  NO_DRIVER: 500,
  /** A jobs file is TypeScript, this Node can't load it, and `tsx` is not installed. */
  NO_TSX: 500,
  /** The store can't be opened, or refuses what it is asked to store: a damaged or newer file, a Redis key of another type. */
  STORE_UNUSABLE: 500,
  /** The disk (or the database's size limit) is full: nothing was stored. */
  STORE_FULL: 507,
  /** The store did not answer in time. */
  STORE_TIMEOUT: 503,
  /** Client middleware did not answer in time: its due job is postponed. */
  MIDDLEWARE_TIMEOUT: 503,
  /** The store can't be reached, or does not accept commands now. */
  STORE_UNREACHABLE: 503,
  /** The store was closed. */
  STORE_CLOSED: 503,
  /** A push could not be stored. `jids`, `maybePushed` and `notPushed` describe it. */
  PUSH_FAILED: 503,
  /** The store has no transactions that can include rows of your app. */
  NO_TRANSACTION: 501,
  /** A test runs a job, and none was pushed. */
  EMPTY_QUEUE: 404,
  /** No task has that id. */
  UNKNOWN_TASK: 404,
  /** There is no such batch (any more). `details.bid` names it. */
  UNKNOWN_BATCH: 404,
  /** All jobs of the batch have ended: no job can be added. `details.bid` is the batch. */
  BATCH_ENDED: 409,
  /** The task has ended or was cancelled: no row can be added. */
  TASK_ENDED: 409,
  /** Another caller is retrying rows of the task now, or the task is being cancelled. */
  TASK_BUSY: 409,
  /** The row has not ended, and its handler has not called `ctx.defer` in this run. */
  NOT_DEFERRED: 409,
  /** The task has no file: it was not created by `tasks.export`. */
  NOT_AN_EXPORT: 409,
  /** The task has not ended: its file is not complete yet. */
  TASK_NOT_DONE: 409,
  /** Pages of the export were rejected, or are no longer kept: its file would have gaps. */
  EXPORT_INCOMPLETE: 409,
  /** Another producer resumed this task: this one must stop adding rows. */
  TASK_TAKEN_OVER: 409,
  /** The file can't be read, or is not in the format that it claims. `details.row` names the row, if there is one. */
  INVALID_FILE: 400,
  /** `validate` threw an error. `details.row` names the row. */
  VALIDATE_FAILED: 500,
  /** The same bytes were imported within the last 24 hours. `details.task` is the id of that task. */
  ALREADY_IMPORTED: 409,
  /** There are more rows than `maxRows`. */
  TOO_MANY_ROWS: 413,
  /** A report or export can't be written. */
  REPORT_FAILED: 500,
  /** The attempt ran longer than the job's `timeout`. */
  JOB_TIMEOUT: 500,
  /** The thread of a job died while the job ran: it exited, ran out of memory, or had an uncaught error. */
  THREAD_DIED: 500,
  /** The job will not run again, so it has no result. `details` has `class`, `message` and `code` of its error. */
  JOB_FAILED: 422,
  /** The job has not ended in time, is unknown, or its result was not kept. */
  NO_RESULT: 404,
  /** The process is part of another program and accepts no signals through the store. */
  EMBEDDED_PROCESS: 409,
  /** The job was cancelled. */
  JOB_CANCELLED: 409,
  /** The worker is stopping, and the time for running jobs is over. */
  SHUTDOWN: 503,
  /** This process lost its lease, because it was frozen or disconnected for too long; other workers have its jobs. */
  LEASE_LOST: 409,
  /** HTTP: a parameter or the body is wrong. */
  INVALID_REQUEST: 400,
  /** HTTP: the Idempotency-Key was used before, for another body or other parameters. `details.task` is its task, if there is one. */
  IDEMPOTENCY_KEY_REUSED: 422,
  /** HTTP: the body is incomplete: the client disconnected, or the end of the form is missing. */
  BODY_BROKEN_OFF: 400,
  /** HTTP: the body stopped arriving, or arrived too slowly. */
  BODY_TOO_SLOW: 408,
  /** HTTP: the login is missing or wrong, or the link does not open this task. */
  UNAUTHORIZED: 401,
  /** HTTP: this address needs a login, and the server has none; or a page of another site sent the change. */
  FORBIDDEN: 403,
  /** HTTP: no route has this path. */
  UNKNOWN_ROUTE: 404,
  /** HTTP: no waiting or running job has that id. */
  UNKNOWN_JID: 404,
  /** HTTP: the task had no such delayed retry within the last hour. */
  UNKNOWN_RETRY: 404,
  /** HTTP: the search for a job took too long: give its key or its queue. */
  SEARCH_TOO_LONG: 503,
  /** HTTP: no living process has that identity. */
  UNKNOWN_PROCESS: 404,
  /** HTTP: this server, or the link that was used, is read-only. */
  READ_ONLY: 403,
  /** HTTP: this path does not allow that method; the header `Allow` names the allowed ones. */
  METHOD_NOT_ALLOWED: 405,
  /** HTTP: the route has no answer of a type in `Accept`. */
  NOT_ACCEPTABLE: 406,
  /** HTTP: the body is larger than the limit. */
  BODY_TOO_LARGE: 413,
  /** HTTP: the route does not accept a body of that type. */
  UNSUPPORTED_TYPE: 415,
  /** HTTP: too many wrong logins, uploads or streams; the header `Retry-After` says when to try again. */
  TOO_MANY_REQUESTS: 429,
  /** HTTP: an unexpected error, which is in the server's log. */
  INTERNAL_ERROR: 500,
} as const

export class HighkiqError extends Error {
  readonly code: ErrorCode
  readonly details?: Record<string, unknown>

  constructor(code: ErrorCode, message: string, details?: Record<string, unknown>, options?: { cause?: unknown }) {
    super(message, options)
    this.name = 'HighkiqError'
    this.code = code
    if (details) this.details = details
  }

  /** The HTTP status that fits this error. */
  get status(): number {
    return STATUS[this.code]
  }
}

export function invalidOption(message: string): HighkiqError {
  return new HighkiqError('INVALID_OPTION', message)
}

export function invalidFile(message: string, details?: HighkiqError['details'], options?: ErrorOptions): HighkiqError {
  return new HighkiqError('INVALID_FILE', message, details, options)
}

/**
 * Returns the error of a store call whose earlier part is written. STORE_FULL would claim that nothing is written, so
 * it becomes STORE_UNUSABLE.
 */
export function doneInPart(thrown: unknown): unknown {
  if (!hasCode(thrown, 'STORE_FULL')) return thrown
  return new HighkiqError('STORE_UNUSABLE', messageOf(thrown), undefined, { cause: thrown })
}

/** The items of a failed push that a store knows to be stored, or to be refused. */
export interface PushParts {
  stored: ReadonlySet<unknown>
  refused: ReadonlySet<unknown>
}

/**
 * A push that was not confirmed. `jids` are the jobs not known to be stored; `notPushed` are those of them that are
 * certainly not stored. `maybePushed` is true when others were sent and got no answer. `pushed` are jobs of the same
 * call that are certainly stored.
 */
export class PushError extends HighkiqError {
  readonly jids: string[]
  readonly maybePushed: boolean
  readonly notPushed: string[]
  readonly pushed: string[]
  readonly #parts: PushParts | undefined

  constructor(
    message: string,
    jids: string[],
    maybePushed: boolean,
    options: { cause?: unknown; notPushed?: string[]; pushed?: string[]; parts?: PushParts | undefined } = {},
  ) {
    const { cause, notPushed = maybePushed ? [] : jids, pushed = [], parts } = options
    super('PUSH_FAILED', message, { jids, maybePushed, notPushed }, cause === undefined ? undefined : { cause })
    this.name = 'PushError'
    this.jids = jids
    this.maybePushed = maybePushed
    this.notPushed = notPushed
    this.pushed = pushed
    this.#parts = parts
  }

  /** The certain part of a store's error, by item: a store does not know the ids of its items. */
  get parts(): PushParts | undefined {
    return this.#parts
  }
}

/**
 * Refuses the data of a job or row: the program is not to blame. The row becomes `failed` with this message. It is not
 * retried, and does not count as an error.
 *
 * @example throw new BusinessFailure('price is not a number', { code: 'bad_price', field: 'price' })
 */
export class BusinessFailure extends Error {
  readonly highkiq = 'business-failure'
  readonly code: string | undefined
  readonly field: string | undefined

  constructor(message: string, about: { code?: string; field?: string; cause?: unknown } = {}) {
    super(message, about.cause === undefined ? undefined : { cause: about.cause })
    this.name = 'BusinessFailure'
    this.code = about.code
    this.field = about.field
  }
}

/**
 * Some rows or ids of a call failed, and the others are done. `failures` has the error of each: by the index of the row in
 * this call (0 = first) of a task with `rowsPerJob`, or by its id in a batch of an ordered queue.
 *
 * @example throw new BatchFailure(new Map([[2, new BusinessFailure('price is not a number')]]))
 */
export class BatchFailure extends Error {
  readonly highkiq = 'batch-failure'
  readonly failures: ReadonlyMap<string | number, unknown>

  constructor(failures: ReadonlyMap<string | number, unknown>, message = `${failures.size} failed`) {
    super(message)
    this.name = 'BatchFailure'
    this.failures = failures
  }
}

/** Deletes the job: it is not retried and not kept in the dead set. Death handlers run, as in Sidekiq. */
export class Discard extends Error {
  readonly highkiq = 'discard'
  constructor(message = 'discarded by its handler') {
    super(message)
    this.name = 'Discard'
  }
}

/** Moves the job to the dead set at once, whatever retries are left. */
export class Kill extends Error {
  readonly highkiq = 'kill'
  constructor(message = 'killed by its handler', options?: { cause?: unknown }) {
    super(message, options)
    this.name = 'Kill'
  }
}

/** Runs the job again in `seconds`. It uses up no retry and counts as neither processed nor failed. */
export class Snooze extends Error {
  readonly highkiq = 'snooze'
  readonly seconds: number
  constructor(seconds: number) {
    super(`snoozed for ${seconds} s`)
    this.name = 'Snooze'
    this.seconds = seconds
  }
}

/** Puts the job back to the front of its queue. The worker keeps it for 1 s before, without a slot. */
export class Release extends Error {
  readonly highkiq = 'release'
  constructor() {
    super('released by its handler')
    this.name = 'Release'
  }
}

/** Requeues an iterable job that continues later, at the front, or to make room at the back. Nothing is counted. */
export class Pause extends Error {
  readonly highkiq = 'pause'
  readonly end: 'front' | 'back'
  constructor(end: 'front' | 'back') {
    super('stopped to go on later')
    this.name = 'Pause'
    this.end = end
  }
}

export type Verdict =
  | ('business-failure' | 'batch-failure' | 'discard' | 'kill' | 'snooze' | 'release' | 'pause')
  | 'over-limit'

/** Returns what a thrown value says about its job; undefined for an ordinary error, which is retried. */
export function verdictOf(thrown: unknown): Verdict | undefined {
  if (typeof thrown !== 'object' || thrown === null) return undefined
  const verdict = (thrown as { highkiq?: unknown }).highkiq
  return typeof verdict === 'string' ? (verdict as Verdict) : undefined
}

/** Returns the code of a thrown value if it is one of ours. */
export function codeOf(thrown: unknown): ErrorCode | undefined {
  const { code } = (thrown ?? {}) as { code?: unknown }
  return typeof code === 'string' && Object.hasOwn(STATUS, code) ? (code as ErrorCode) : undefined
}

export function statusOfCode(code: ErrorCode): number {
  return STATUS[code]
}

export function hasCode(thrown: unknown, code: ErrorCode): boolean {
  return typeof thrown === 'object' && thrown !== null && (thrown as { code?: unknown }).code === code
}

/** Returns whether the error has this code, or one of the errors that caused it has. */
export function isCausedBy(thrown: unknown, code: ErrorCode): boolean {
  return causesOf(thrown).some((error) => hasCode(error, code))
}

/** Returns an error and those that caused it, each once: causes may form a cycle. */
function causesOf(thrown: unknown): object[] {
  const all = new Set<object>()
  for (let error = thrown; typeof error === 'object' && error !== null && !all.has(error); ) {
    all.add(error)
    error = (error as { cause?: unknown }).cause
  }
  return [...all]
}

/**
 * The details of an error whose message names an option of the library, with the value that it needs. `hint` is that part of
 * the message. Programs with other names for the options word it their own way.
 */
interface OptionHint {
  option: string
  value?: unknown
  hint: string
}

/** For each option of the library: what a program writes instead of the hint. */
export type HintTexts = Readonly<Record<string, (value: unknown) => string>>

/** Returns the message of an error, with the hints of the error and of its causes in other words. */
export function messageWithHint(thrown: unknown, words: HintTexts): string {
  let message = messageOf(thrown)
  const hints = new Map<string, string>()
  for (const error of causesOf(thrown)) {
    const { option = '', value, hint } = ((error as HighkiqError).details ?? {}) as Partial<OptionHint>
    const word = words[option]
    if (word && hint && !hints.has(hint)) hints.set(hint, word(value))
  }
  for (const [hint, word] of hints) message = message.replace(hint, () => word)
  return message
}

/** Returns the message of a thrown value. Never throws. */
export function messageOf(thrown: unknown): string {
  try {
    if (thrown instanceof Error) return String(thrown.message)
    return typeof thrown === 'string' ? thrown : `${thrown}`
  } catch {
    // As Sidekiq stores it.
    return '!!! ERROR MESSAGE THREW AN ERROR !!!'
  }
}

/**
 * Returns the class name of an error. A `name` that the error was given comes first, unless it is only the name of a
 * class that its own class extends. Never throws.
 *
 * @example
 * class UnknownSku extends BusinessFailure {}
 * classOf(new UnknownSku('no such product')) // 'UnknownSku', though its `name` is 'BusinessFailure'
 */
export function classOf(thrown: unknown): string {
  try {
    if (!(thrown instanceof Error)) return typeof thrown
    const name = String(thrown.name)
    const own = thrown.constructor.name
    return own !== '' && isNameOfClass(thrown, name) ? own : name
  } catch {
    return 'Error'
  }
}

function isNameOfClass(thrown: Error, name: string): boolean {
  for (let proto = Object.getPrototypeOf(thrown); proto !== null; proto = Object.getPrototypeOf(proto)) {
    if (proto.constructor?.name === name) return true
  }
  return false
}
