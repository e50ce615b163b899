import { parseJson } from '../job/json.ts'
import { type Payload, readPayload, readTime, type Time } from '../job/payload.ts'
import { readBacktrace } from './backtrace.ts'
import { displayOf } from './display.ts'

/**
 * A job as somebody finds it: read from its text, whoever wrote it. Nothing here throws: what is not there is null or
 * empty, and a text that is no JSON at all is its own only argument, as in Sidekiq.
 */
export class JobRecord {
  /** Exactly as it stands in the store. */
  readonly text: string
  readonly #queue: string | undefined
  readonly #now: () => number
  #payload: Record<string, unknown> | undefined
  #display: { class: string; args: unknown[] } | undefined

  /** `queue`: where it was found, if that was a queue. */
  constructor(text: string, about: { queue?: string | undefined; now: () => number }) {
    this.text = text
    this.#queue = about.queue
    this.#now = about.now
  }

  /** All fields; empty when the text is no JSON object. */
  get payload(): Record<string, unknown> {
    this.#payload ??= objectOf(this.text)
    return this.#payload
  }

  get jid(): string {
    const { jid } = this.payload
    return jid === undefined || jid === null ? '' : String(jid)
  }

  get class(): string {
    return this.#text('class') ?? ''
  }

  get args(): unknown[] {
    const { args } = this.payload
    if (Array.isArray(args)) return args
    return Object.keys(this.payload).length === 0 ? [this.text] : []
  }

  /** The class that people know: of an Active Job its own, of a mail `Mailer#method`. */
  get displayClass(): string {
    return this.#shown.class
  }

  /** Whether it is of this class; of an Active Job its own counts, too. */
  isOf(name: string): boolean {
    return this.class === name || this.displayClass === name
  }

  /** The arguments that people know; those that are encrypted are not shown. */
  get displayArgs(): unknown[] {
    return this.#shown.args
  }

  get queue(): string {
    return this.#queue ?? this.#text('queue') ?? ''
  }

  /** The batch it belongs to (Sidekiq Pro). */
  get bid(): string | null {
    return this.#text('bid') ?? null
  }

  get tags(): string[] {
    const { tags } = this.payload
    return Array.isArray(tags) ? tags.map(String) : []
  }

  get createdAt(): Date | null {
    return this.#time('created_at')
  }

  /** When it was put into its queue last. */
  get enqueuedAt(): Date | null {
    return this.#time('enqueued_at')
  }

  /** When it failed first. */
  get failedAt(): Date | null {
    return this.#time('failed_at')
  }

  /** When it failed last, if more than once. */
  get retriedAt(): Date | null {
    return this.#time('retried_at')
  }

  /** 0 after the first failure; null before it. */
  get retryCount(): number | null {
    const { retry_count } = this.payload
    return typeof retry_count === 'number' ? retry_count : null
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

  /** Seconds since it was put into its queue, or since it was made. */
  get latency(): number {
    return latencyOf(this.text, this.#now())
  }

  toJSON(): Record<string, unknown> {
    const { jid, queue, displayClass, displayArgs, tags, bid, createdAt, enqueuedAt } = this
    const { failedAt, retriedAt, retryCount, errorClass, errorMessage } = this
    const failure = { failedAt, retriedAt, retryCount, errorClass, errorMessage }
    return {
      ...{ jid, queue, class: displayClass, args: displayArgs, tags, bid, createdAt, enqueuedAt },
      ...(failedAt || errorClass ? failure : {}),
    }
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

/** Seconds since a job was put into its queue, else since it was made; 0 when it tells neither. */
export function latencyOf(text: string, now: number): number {
  const since = readTime(text, 'enqueued_at') ?? readTime(text, 'created_at')
  return since === undefined ? 0 : Math.max((now - since) / 1000, 0)
}

function objectOf(text: string): Record<string, unknown> {
  try {
    const value = parseJson(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : {}
  } catch {
    return {}
  }
}

/** A record's payload, if it is one that could run. */
export function jobOf({ text }: { text: string }): Payload | undefined {
  return readPayload(text)
}
