/**
 * Every error of Highkiq, in one place.
 *
 * There are two kinds. Highkiq throws `HighkiqError`s, with a stable `code` and a message that says what to do. A handler
 * throws `BusinessFailure`, `BatchFailure`, `Discard`, `Kill`, `Snooze` or `Release` to say how its job ended. Highkiq
 * recognises both also from a second copy of the package: the first by `KIND`, the second by the member `highkiq`.
 */

import { type ErrorCode, STATUS } from './error-codes.ts'
import { isInstanceOf, KIND } from './instance-of.ts'

export type { ErrorCode }

export class HighkiqError extends Error {
  static readonly [KIND]: string = 'error'

  static override [Symbol.hasInstance](value: unknown): boolean {
    // biome-ignore lint/complexity/noThisInStatic: each subclass has a kind of its own
    return isInstanceOf(this, value)
  }

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

export function invalidOption(message: string, details?: HighkiqError['details']): HighkiqError {
  return new HighkiqError('INVALID_OPTION', message, details)
}

export function invalidJob(message: string, details?: HighkiqError['details']): HighkiqError {
  return new HighkiqError('INVALID_JOB', message, details)
}

/** The error when a store answers that it can't do something, such as `move job 1f`: another program has written there. */
export function storeRefused(act: string): HighkiqError {
  const message = `the store can't ${act}: does a key hold a value of another type?`
  return new HighkiqError('STORE_UNUSABLE', message, { problem: 'unchanged' })
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

/** Why a store did not store an item: a job holds its lock, or its queue is full. */
export interface Refusal {
  item: unknown
  /** The jid of the job with the lock, which may be the item's own; null: the queue is full. */
  holder: string | null
  /** The score with which that job was scheduled, if it was; it may have moved since. */
  due: number | null
}

/** The items of a failed push that a store knows to be stored, or not to be stored. */
export interface PushParts {
  stored: ReadonlySet<unknown>
  notStored: ReadonlySet<unknown>
  /** The answers to the items of `notStored` that the store refused. */
  refusals?: readonly Refusal[]
}

/**
 * A push that was not confirmed. `jids` are the jobs not known to be stored; `notPushed` are those of them that are
 * certainly not stored. `maybePushed` is true when others may be stored: their answer was lost, or too few replicas
 * confirmed them. `pushed` are jobs of the same call that are certainly stored.
 */
export class PushError extends HighkiqError {
  static override readonly [KIND] = 'push-error'
  readonly jids: string[]
  readonly maybePushed: boolean
  readonly notPushed: string[]
  readonly pushed: string[]
  readonly #parts: PushParts | undefined

  constructor(
    message: string,
    jids: string[],
    maybePushed: boolean,
    options: {
      cause?: unknown
      notPushed?: string[]
      pushed?: string[]
      parts?: PushParts | undefined
      rows?: number[]
      next?: number
      /** The outermost of the batches that were pushed. */
      bid?: string
    } = {},
  ) {
    const { cause, notPushed = maybePushed ? [] : jids, pushed = [], parts, ...more } = options
    super(
      'PUSH_FAILED',
      message,
      { jids, maybePushed, notPushed, ...more },
      cause === undefined ? undefined : { cause },
    )
    this.name = 'PushError'
    this.jids = jids
    this.maybePushed = maybePushed
    this.notPushed = notPushed
    this.pushed = pushed
    this.#parts = parts
  }

  /** The certain part of a store's error, by item: a store does not know the ids of its items. @internal */
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

/** Returns whether the store can't be reached or does not answer. The same call may succeed later. */
export function isUnreachable(thrown: unknown): boolean {
  return hasCode(thrown, 'STORE_UNREACHABLE') || hasCode(thrown, 'STORE_TIMEOUT')
}

/** Returns whether the error has this code, or one of the errors that caused it has. */
export function isCausedBy(thrown: unknown, code: ErrorCode): boolean {
  return causesOf(thrown).some((error) => hasCode(error, code))
}

/** Returns an error and those that caused it, each once: causes may form a cycle. */
export function causesOf(thrown: unknown): object[] {
  const all = new Set<object>()
  for (let error = thrown; typeof error === 'object' && error !== null && !all.has(error); ) {
    all.add(error)
    error = (error as { cause?: unknown }).cause
  }
  return [...all]
}

/** Returns the message of a thrown value; of an object without a message the JSON of its simple members. Never throws. */
export function messageOf(thrown: unknown): string {
  try {
    if (thrown instanceof Error) return String(thrown.message)
    if (typeof thrown === 'object' && thrown !== null) return messageOfObject(thrown)
    return typeof thrown === 'string' ? thrown : `${thrown}`
  } catch {
    // As Sidekiq stores it.
    return '!!! ERROR MESSAGE THREW AN ERROR !!!'
  }
}

const JSON_CHARACTERS = 1000
const SIMPLE: ReadonlySet<string> = new Set(['string', 'number', 'boolean'])

function messageOfObject(thrown: { message?: unknown }): string {
  if (typeof thrown.message === 'string' && thrown.message !== '') return thrown.message
  const text = `${thrown}`
  if (text !== '[object Object]') return text
  // Its other members, such as the request of an HTTP error, may be large and hold secrets.
  const simple = Object.entries(thrown).filter(([, value]) => SIMPLE.has(typeof value))
  return simple.length > 0 ? JSON.stringify(Object.fromEntries(simple)).slice(0, JSON_CHARACTERS) : text
}

/**
 * Words of a program for the hints of errors, by the option of the library. An error whose message names an option has it in its
 * details, with the value that it needs (`value`) and that part of the message (`hint`). Without words the hint stays.
 */
export type HintTexts = Readonly<Record<string, string | ((value: unknown) => string)>>

/** The method of the library that refused an option, at the beginning of a message. */
const METHOD = /^(?:(?:hq|tasks?|metrics|queue)\.[\w.]+|jobs\.(?:search|count|act)(?:\('\w+'\))?): /

/** Returns the message without the name of a method, and with a program's words for the hints of the error and of its causes. */
export function messageFor(thrown: unknown, words: HintTexts): string {
  let message = messageOf(thrown).replace(METHOD, '')
  const hints = new Map<string, string>()
  for (const error of causesOf(thrown)) {
    const {
      option = '',
      value,
      hint,
    } = (error as { details?: { option?: string; value?: unknown; hint?: string } }).details ?? {}
    const text = words[option]
    if (text && hint && !hints.has(hint)) hints.set(hint, typeof text === 'string' ? text : text(value))
  }
  for (const [hint, text] of hints) message = message.replace(hint, () => text)
  return message
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
