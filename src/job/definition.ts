import type { ResourceLimits } from 'node:worker_threads'
import type { StandardSchemaV1 } from '@standard-schema/spec'
import { RETRY_IN, type RetryDelay } from './backoff.ts'
import type { Middleware } from './chain.ts'
import type { JobContext } from './context.ts'
import { HighkiqError } from './errors.ts'
import { checkMiddleware, checkOptions, isAboveZero, type OptionKind, refuseUnknown } from './options.ts'
import type { Payload } from './payload.ts'

/** The answer of `retryIn`: `default`, undefined and null mean Sidekiq's delay. */
export type RetryIn = (
  count: number,
  error: unknown,
  payload: Payload,
) => RetryDelay | 'kill' | 'discard' | 'default' | undefined | null

export interface ThreadOptions {
  /** The file that defines the job; `import.meta.url` there. */
  file?: string | URL
  /** Of node:worker_threads; for instance `{ maxOldGenerationSizeMb: 256 }`. Who needs more has failed. */
  resourceLimits?: ResourceLimits
}

/** What a job is, beside its handler. Options that Sidekiq has are stored in the payload under Sidekiq's names. */
export interface JobOptions {
  /** Default `default`. */
  queue?: string
  /** true (25 times), a number of retries, 0 (straight to the dead set) or false (dropped). Default true. */
  retry?: boolean | number
  /** Store the error's stack with the job: true, or at most so many lines. */
  backtrace?: boolean | number
  /** false: never put into the dead set. */
  dead?: boolean
  tags?: string[]
  /** Seconds since the first failure after which no retry is made; the number of retries does not matter then. */
  retryFor?: number
  /** The queue that it goes to once it has failed; default the one that it was taken from. */
  retryQueue?: string
  /**
   * The delay before the next attempt: seconds, `'5m'` or `{ minutes: 5 }`, which is kept exactly. With `{ minutes: 5,
   * jitter: true }` up to ten random seconds for each failure are added. A function returns a delay for each failure
   * (`count` is 0 after the first), or what to do instead.
   */
  retryIn?: RetryDelay | RetryIn
  /** The last retry has failed. */
  onExhausted?: (payload: Payload, error: unknown) => unknown
  /** Seconds; then `ctx.signal` is aborted and the attempt has failed. */
  timeout?: number
  /** Of this job's own lines: `debug`, `info`, `warn`, `error` or `fatal`. */
  logLevel?: LogLevel
  /** Seconds within which it must begin, from its push or the time it was scheduled for; later it is dropped. */
  expiresIn?: number
  /** The how-many-th stall in a row (its process died) is the last; default 3. */
  maxCrashes?: number
  /**
   * Runs the handler in a thread of its own kind, for work that keeps the CPU busy. The thread loads the file that
   * defines the job: this one (`import.meta.url`), else (`true`) what `highkiq work -r` named or the app's `files`.
   */
  thread?: boolean | string | URL | ThreadOptions
  /** Seconds for which what the handler returns (16 kB of JSON at most) is kept for `hq.result(jid)`. */
  keepResult?: number
  /** Keeps a record of each job (its event): how it goes, its messages and its result, found by its id. */
  track?: boolean
  /**
   * Checks each row of a file before a job is made of it (tasks.import, corrected reports, the command line, HTTP), unless
   * another schema is named there: any Standard Schema (zod, valibot, …). The handler gets what it answers.
   */
  validate?: StandardSchemaV1
  /** Middleware around the handler, inside the app's and the capsule's. */
  use?: readonly Middleware<JobContext, unknown>[]
}

/** What a queue's own handler is told; options that are stored with a job at its push are of no use here. */
export interface ProcessOptions extends Omit<JobOptions, 'queue'> {
  /** Jobs of this queue at the same time; it gets a capsule of its own then. */
  concurrency?: number
}

export type Handler<Args extends unknown[] = unknown[], Result = unknown> = (
  ctx: JobContext,
  ...args: Args
) => Result | Promise<Result>

export type LogLevel = (typeof LOG_LEVELS)[number]
const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'fatal'] as const

export interface JobDefinition {
  readonly name: string
  readonly options: JobOptions
  /** The options without the app's defaults, where there are any. */
  readonly own?: JobOptions
  readonly handler: Handler<never[]>
}

const isFlag = (value: unknown) => typeof value === 'boolean'
const isWhole = (value: unknown, least: number) => Number.isSafeInteger(value) && (value as number) >= least

const OPTIONS: Record<keyof JobOptions, OptionKind> = {
  queue: null,
  retry: [(value) => isFlag(value) || isWhole(value, 0), 'true, false or a whole number of retries'],
  backtrace: [(value) => isFlag(value) || isWhole(value, 0), 'true, false or a whole number of lines'],
  dead: 'flag',
  tags: 'texts',
  retryFor: [(value) => isAboveZero(value) && (value as number) <= 1e9, 'a number of seconds, at most 1,000,000,000'],
  retryQueue: null,
  retryIn: RETRY_IN,
  onExhausted: 'function',
  timeout: 'seconds',
  logLevel: LOG_LEVELS,
  expiresIn: 'amount',
  maxCrashes: 'count',
  thread: [isThread, 'true, a file (import.meta.url) or { file, resourceLimits }'],
  keepResult: 'amount',
  track: 'flag',
  validate: null,
  use: null,
}

/** What no payload carries: it is known where the job runs, or nowhere. */
const NOT_PUSHED = [
  'retryIn',
  'onExhausted',
  'timeout',
  'maxCrashes',
  'thread',
  'keepResult',
  'validate',
  'use',
] as const satisfies (keyof JobOptions)[]

/** @throws INVALID_OPTION for an option of a push that only a definition can have */
export function refuseNotPushed(job: string, options: object): void {
  for (const name of NOT_PUSHED) {
    if ((options as Record<string, unknown>)[name] === undefined) continue
    throw new HighkiqError(
      'INVALID_OPTION',
      `${job}: ${name} can't be said of a single push, for it is not stored with the job: say it where the job is defined, hq.job('${job}', { ${name}: … }, handler)`,
    )
  }
}

/** @throws INVALID_OPTION with the name of the option and what it may be */
export function checkJobOptions(job: string, options: JobOptions): void {
  checkOptions(job, options, OPTIONS)
  const { queue, retryQueue, thread, use } = options
  if (queue !== undefined) checkQueueName(queue)
  if (retryQueue !== undefined) checkQueueName(retryQueue)
  if (typeof thread === 'object' && !(thread instanceof URL)) {
    refuseUnknown(`${job}: thread`, thread, ['file', 'resourceLimits'])
  }
  if (options.validate !== undefined) checkSchema(job, options.validate)
  if (use !== undefined) checkMiddleware(job, use)
}

function isThread(value: unknown): boolean {
  return isFlag(value) || (typeof value === 'string' && value !== '') || (typeof value === 'object' && value !== null)
}

/** @throws INVALID_OPTION */
export function checkSchema(where: string, schema: unknown): void {
  const standard = typeof schema === 'object' || typeof schema === 'function' ? Object(schema)['~standard'] : undefined
  if (typeof standard?.validate === 'function') return
  throw new HighkiqError('INVALID_OPTION', `${where}: validate is a Standard Schema, for instance of zod or valibot`)
}

/** @throws INVALID_OPTION */
export function checkQueueName(queue: string): void {
  if (typeof queue === 'string' && queue !== '' && !/[{}\s\p{Cc}]/u.test(queue) && !/^\.\.?$/.test(queue)) return
  throw noQueueName(queue, 'use a text without spaces, braces and control characters, for instance "default"')
}

/**
 * Checks the name of a queue that another program may have made.
 * @throws INVALID_OPTION
 */
export function checkKnownQueueName(queue: string): void {
  if (typeof queue !== 'string' || queue === '') throw noQueueName(queue, 'use a text, for instance "default"')
}

function noQueueName(queue: unknown, right: string): HighkiqError {
  return new HighkiqError('INVALID_OPTION', `${JSON.stringify(queue)} is no queue name: ${right}`)
}
