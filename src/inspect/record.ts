import { inflateSync } from 'node:zlib'
import { isInstanceOf, KIND } from '../job/instance-of.ts'
import { isObject, parseJson } from '../job/json.ts'
import { readMessages } from '../job/messages.ts'
import { readTime, type Time } from '../job/payload.ts'
import { baseQueue, priorityOf } from '../job/priority.ts'
import { displayOf } from './display.ts'

/** A larger backtrace is not unpacked, so that it can't fill the memory. */
const MOST_BYTES = 1_000_000

/**
 * A job read from its stored text, whichever program wrote it. Its properties never throw: a missing field is null or
 * empty. A text that is not valid JSON is its own only argument, as in Sidekiq.
 */
export class JobRecord {
  static readonly [KIND]: string = 'job'

  static [Symbol.hasInstance](value: unknown): boolean {
    // biome-ignore lint/complexity/noThisInStatic: each subclass has a kind of its own
    return isInstanceOf(this, value)
  }

  /** The text of the job exactly as the store keeps it. */
  readonly text: string
  readonly #queue: string | undefined
  readonly #now: () => number
  #payload: Record<string, unknown> | undefined
  #display: { class: string; args: unknown[] } | undefined

  /** `queue` is the queue where the job was found, if it was in a queue. */
  constructor(text: string, about: { queue?: string | undefined; now: () => number }) {
    this.text = text
    this.#queue = about.queue
    this.#now = about.now
  }

  /** All fields of the job; empty when its text is not a JSON object. */
  get payload(): Record<string, unknown> {
    this.#payload ??= objectOf(this.text)
    return this.#payload
  }

  get jid(): string {
    const { jid } = this.payload
    return typeof jid === 'object' || jid === undefined ? '' : String(jid)
  }

  get class(): string {
    return this.#text('class') ?? ''
  }

  get args(): unknown[] {
    const { args } = this.payload
    if (Array.isArray(args)) return args
    return Object.keys(this.payload).length === 0 ? [this.text] : []
  }

  /** The class to show: an Active Job's own class, or `Mailer#method` for a mail. */
  get displayClass(): string {
    return this.#shown.class
  }

  /** Returns whether the job has this class. For an Active Job, its own class counts, too. */
  isOf(name: string): boolean {
    return this.class === name || this.displayClass === name
  }

  /** The arguments to show, without what Active Job adds. Encrypted data is not shown. */
  get displayArgs(): unknown[] {
    return this.#shown.args
  }

  get queue(): string {
    return baseQueue(this.#queue ?? this.#text('queue') ?? '')
  }

  /** Its priority in its queue, 0 to 9. */
  get priority(): number {
    return priorityOf(this.#text('queue') ?? '')
  }

  /** The id of its batch (Sidekiq Pro only). */
  get bid(): string | null {
    return this.#text('bid') ?? null
  }

  get tags(): string[] {
    return textsOf(this.payload.tags)
  }

  get createdAt(): Date | null {
    return this.#time('created_at')
  }

  /** When it last entered its queue. */
  get enqueuedAt(): Date | null {
    return this.#time('enqueued_at')
  }

  /** When it first failed. */
  get failedAt(): Date | null {
    return this.#time('failed_at')
  }

  /** When it last failed, if it failed more than once. */
  get retriedAt(): Date | null {
    return this.#time('retried_at')
  }

  /** The number of retries: 0 after the first failure; null before it, and for a value that is not a number from 0 on. */
  get retryCount(): number | null {
    const { retry_count } = this.payload
    return Number.isFinite(retry_count) && (retry_count as number) >= 0 ? Math.trunc(retry_count as number) : null
  }

  get errorClass(): string | null {
    return this.#text('error_class') ?? null
  }

  get errorMessage(): string | null {
    return this.#text('error_message') ?? null
  }

  get backtrace(): string[] | null {
    return readBacktrace(this.payload.error_backtrace)
  }

  /** The messages that the handler added in ended attempts. The messages of a tracked job are in its event. */
  get messages(): { at: Date; text: string }[] {
    return readMessages(this.payload.hk_messages).map(({ at, text }) => ({ at: new Date(at), text }))
  }

  /** Seconds since it entered its queue, otherwise since it was created; 0 when neither time is known. */
  get latency(): number {
    return latencySince(waitingSince(this.text), this.#now())
  }

  toJSON(): Record<string, unknown> {
    const { jid, queue, priority, displayClass, displayArgs: args, tags, bid, createdAt, enqueuedAt } = this
    const { failedAt, retriedAt, retryCount, errorClass, errorMessage } = this
    const failure = { failedAt, retriedAt, retryCount, errorClass, errorMessage }
    const job = { jid, queue, priority, class: displayClass, args, tags, bid, createdAt, enqueuedAt }
    return failedAt || errorClass ? { ...job, ...failure } : job
  }

  get #shown(): { class: string; args: unknown[] } {
    this.#display ??= displayOf(this.payload, this.class, this.args)
    return this.#display
  }

  #text(field: string): string | undefined {
    const value = this.payload[field]
    return typeof value === 'string' ? value : undefined
  }

  #time(field: Time): Date | null {
    const ms = readTime(this.text, field)
    const date = new Date(ms ?? Number.NaN)
    return Number.isNaN(date.getTime()) ? null : date
  }
}

/** Returns since when a job has waited in its queue, in milliseconds; undefined when its text does not say. */
export function waitingSince(text: string): number | undefined {
  return readTime(text, 'enqueued_at') ?? readTime(text, 'created_at')
}

/** Returns the seconds since a time in milliseconds; 0 when it is not known. */
export function latencySince(since: number | undefined, now: number): number {
  return since === undefined ? 0 : Math.max((now - since) / 1000, 0)
}

function objectOf(text: string): Record<string, unknown> {
  try {
    const value = parseJson(text)
    return isObject(value) ? value : {}
  } catch {
    return {}
  }
}

/** Returns the texts and numbers of a list. Not every list or object that another program wrote can become a text. */
export function textsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one !== 'object').map(String) : []
}

/**
 * Reads a backtrace as Sidekiq stores it: deflated JSON in base64, or a plain array up to Sidekiq 6.0.0. Returns null
 * when there is no readable backtrace.
 */
function readBacktrace(stored: unknown): string[] | null {
  if (Array.isArray(stored)) return textsOf(stored)
  if (typeof stored !== 'string') return null
  try {
    const lines: unknown = JSON.parse(
      inflateSync(Buffer.from(stored, 'base64'), { maxOutputLength: MOST_BYTES }).toString(),
    )
    return Array.isArray(lines) ? textsOf(lines) : null
  } catch {
    return null
  }
}
