import type { ResourceLimits } from 'node:worker_threads'
import type { StandardSchemaV1 } from '@standard-schema/spec'
import { RETRY_IN, type RetryDelay } from './backoff.ts'
import { checkMiddleware, type Middleware } from './chain.ts'
import type { JobContext } from './context.ts'
import { type HighkiqError, invalidOption } from './errors.ts'
import { isObject } from './json.ts'
import { checkKeepFinished, type KeepFinished } from './keep-finished.ts'
import { checkJobLimit, type JobLimit } from './limit.ts'
import { checkOptions, isAboveZero, type OptionKind } from './options.ts'
import { OTHER_NAMES } from './other-names.ts'
import type { Payload } from './payload.ts'
import { count } from './plural.ts'
import { isPriority } from './priority.ts'
import { checkUnique, type Unique } from './unique.ts'

/** The answer of `retryIn`: `default`, undefined and null mean Sidekiq's delay. */
export type RetryIn = (
  count: number,
  error: unknown,
  payload: Payload,
) => RetryDelay | 'kill' | 'discard' | 'default' | undefined | null

export interface ThreadOptions {
  /** The file that defines the job: `import.meta.url` in that file. */
  file?: string | URL
  /** The limits of node:worker_threads, for instance `{ maxOldGenerationSizeMb: 256 }`. A job that exceeds them fails. */
  resourceLimits?: ResourceLimits
}

/** The options of a job. Those that Sidekiq has are stored in the payload under Sidekiq's names. */
export interface JobOptions {
  /** Default `default`. */
  queue?: string
  /** 0 (default) to 9: workers fetch the jobs of a queue with the highest priority first, of equal ones the oldest. */
  priority?: number
  /** true (25 retries), a number of retries, 0 (to the dead set at once) or false (deleted). Default true. */
  retry?: boolean | number
  /** Stores the stack of the error with the job: true, or the largest number of lines. */
  backtrace?: boolean | number
  /** With false, the job is deleted instead of moved to the dead set. */
  dead?: boolean
  tags?: string[]
  /** Encrypts the last argument. The app needs the option `encryption`, and the job at least two arguments. */
  encrypt?: boolean
  /** Seconds after the first failure during which the job is retried, instead of a number of retries. */
  retryFor?: number
  /** The queue to which retries go; default the queue from which the job was fetched. */
  retryQueue?: string
  /**
   * The exact delay before the next attempt: seconds, `'5m'` or `{ minutes: 5 }`. `{ minutes: 5, jitter: true }` adds up to
   * ten random seconds for each failure. A function returns the delay after each failure (`count` is 0 after the first),
   * or `'kill'`, `'discard'` or `'default'`.
   */
  retryIn?: RetryDelay | RetryIn
  /** Called when the job has used up its retries. The error is unknown, as in `hq.onError`. */
  onExhausted?: (payload: Payload, error: unknown) => unknown
  /** Seconds after which `ctx.signal` aborts and the attempt fails. */
  timeout?: number
  /** The log level of this job: `debug`, `info`, `warn`, `error` or `fatal`. */
  logLevel?: LogLevel
  /** Seconds within which the job must start, from its push or its scheduled time; after that it is deleted. */
  expiresIn?: number
  /** After this many crashes of its process in a row the job goes to the dead set; default 3. */
  maxCrashes?: number
  /**
   * Runs the handler in a thread, for work that keeps the CPU busy. The thread loads the file that defines the job: the
   * given one (`import.meta.url`), or with `true` the files of `highkiq work -r` or of the app's option `files`.
   */
  thread?: boolean | string | URL | ThreadOptions
  /** Seconds for which the result (at most 16 kB of JSON) is kept for `hq.result(jid)`. */
  keepResult?: number
  /** Whether the job stays in the set of finished jobs (`hq.finished`) once it is done, and for how long. Default: no. */
  keepFinished?: KeepFinished
  /** Refuses a push while another job of this class with the same arguments waits or runs; true means the defaults. */
  unique?: Unique
  /** Keeps an event for each job, found by its jid: status, messages and result. */
  track?: boolean
  /**
   * Validates each row of an imported file or corrected report before it becomes a job, unless the import has a schema of
   * its own. Any Standard Schema works (zod, valibot, …). The handler gets the validated row.
   */
  validate?: StandardSchemaV1
  /** How many jobs of this kind run at a time or start within a time, on all workers or for each key. Others wait without a slot. */
  limit?: JobLimit
  /** Middleware around the handler, inside that of the app and the capsule. */
  use?: readonly Middleware<JobContext, unknown>[]
}

/**
 * A schema whose rows the handler takes: a row, or the rows of a job with `rowsPerJob`. A schema or a job whose types are
 * not known takes any rows.
 */
export type SchemaOf<R, Schema extends StandardSchemaV1> =
  unknown extends StandardSchemaV1.InferOutput<Schema>
    ? Schema
    : object extends R
      ? Schema
      : [StandardSchemaV1.InferOutput<Schema>] extends [R extends readonly (infer Row)[] ? Row : R]
        ? Schema
        : {
            readonly error: 'the schema (validate) returns other rows than the handler takes'
            readonly returned: StandardSchemaV1.InferOutput<Schema>
            readonly taken: R
          }

declare const VALIDATES: unique symbol

/** Marks the type of a job that was defined with a schema, which makes the rows of its handler. */
export interface Validating {
  readonly [VALIDATES]?: true
}

/**
 * `unknown` when the handler takes the rows of the file. A CSV file has only strings, so a handler that takes other values
 * needs a schema, of its job or of the import.
 */
export type FileFor<R, Defined, Schema, Format> = typeof VALIDATES extends keyof Defined
  ? unknown
  : [Schema, Format, 'csv'] extends [never, 'csv', Format]
    ? AcceptsStrings<R> extends true
      ? unknown
      : { readonly error: 'values of a CSV file are strings: let a schema (validate) make what the handler takes' }
    : unknown

type AcceptsStrings<R> = R extends readonly (infer Row)[]
  ? AcceptsStrings<Row>
  : { [Column in keyof R]-?: string } extends R
    ? true
    : false

/** The options of `hq.process`, without those that a push stores with the job. */
export interface ProcessOptions extends Omit<JobOptions, 'queue'> {
  /** The number of jobs of this queue that run at the same time. With it the queue gets a capsule of its own. */
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
  /** The options without the defaults of the app. */
  readonly own?: JobOptions
  readonly handler: Handler<never[]>
  /** Whether `hq.iterable` defined the job, so that the store may have its iteration. */
  readonly isIterable?: boolean
}

const isFlag = (value: unknown) => typeof value === 'boolean'
const isWhole = (value: unknown, least: number) => Number.isSafeInteger(value) && (value as number) >= least

const OPTIONS: Record<keyof JobOptions, OptionKind> = {
  queue: null,
  priority: [isPriority, 'a whole number from 0 to 9'],
  retry: [(value) => isFlag(value) || isWhole(value, 0), 'true, false or a whole number of retries'],
  backtrace: [(value) => isFlag(value) || isWhole(value, 0), 'true, false or a whole number of lines'],
  dead: 'flag',
  tags: 'texts',
  encrypt: 'flag',
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
  keepFinished: null,
  track: 'flag',
  unique: null,
  validate: null,
  limit: [(value) => typeof value === 'object' && value !== null, 'an object, or a list of limits'],
  use: null,
}

/** The options that no payload carries: only a process that defines the job knows them. */
const NOT_PUSHED = [
  'retryIn',
  'onExhausted',
  'timeout',
  'maxCrashes',
  'thread',
  'keepResult',
  'keepFinished',
  'validate',
  'limit',
  'use',
] as const satisfies (keyof JobOptions)[]

/** @throws INVALID_OPTION for an option of a push that only a definition can have */
export function refuseNotPushed(job: string, options: object): void {
  for (const name of NOT_PUSHED) {
    if ((options as Record<string, unknown>)[name] === undefined) continue
    throw invalidOption(
      `${job}: ${name} is not an option of a push, because it is not stored with the job: set it in the definition, hq.job('${job}', { ${name}: … }, handler)`,
    )
  }
}

/** @throws INVALID_OPTION with the name of the option and its allowed values */
export function checkJobOptions(job: string, options: JobOptions): void {
  checkOptions(job, options, OPTIONS, OTHER_NAMES)
  const { queue, retryQueue, thread, use } = options
  if (queue !== undefined) checkQueueName(queue)
  if (retryQueue !== undefined) checkQueueName(retryQueue)
  if (typeof thread === 'object' && !(thread instanceof URL)) {
    checkOptions(`${job}: thread`, thread, THREAD_OPTIONS)
    checkOptions(`${job}: thread.resourceLimits`, thread.resourceLimits ?? {}, RESOURCE_LIMITS)
  }
  if (options.validate !== undefined) checkSchema(job, options.validate)
  if (options.limit !== undefined) checkJobLimit(job, options.limit)
  if (use !== undefined) checkMiddleware(job, use)
  if (options.unique !== undefined) checkUnique(job, options.unique)
  if (options.keepFinished !== undefined) checkKeepFinished(job, options.keepFinished)
}

const THREAD_OPTIONS: Record<keyof ThreadOptions, OptionKind> = {
  file: [isFile, 'the file that defines the job (import.meta.url)'],
  resourceLimits: 'object',
}

const RESOURCE_LIMITS: Record<keyof ResourceLimits, OptionKind> = {
  maxYoungGenerationSizeMb: 'amount',
  maxOldGenerationSizeMb: 'amount',
  codeRangeSizeMb: 'amount',
  stackSizeMb: 'amount',
}

function isThread(value: unknown): boolean {
  return isFlag(value) || isFile(value) || isObject(value)
}

function isFile(value: unknown): boolean {
  return (typeof value === 'string' && value !== '') || value instanceof URL
}

/** @throws INVALID_OPTION */
export function checkSchema(where: string, schema: unknown): void {
  const standard = typeof schema === 'object' || typeof schema === 'function' ? Object(schema)['~standard'] : undefined
  if (typeof standard?.validate === 'function') return
  throw invalidOption(`${where}: validate must be a Standard Schema, for instance of zod or valibot`)
}

/** The most characters of a queue's name in code, options and pushes: lists and pages show all of it. */
const LONGEST_QUEUE = 200

/** `where` names the option in the error. @throws INVALID_OPTION */
export function checkQueueName(queue: string, where?: string): void {
  if (typeof queue === 'string' && queue.length > LONGEST_QUEUE) {
    const start = `${queue.slice(0, 20)}…`
    throw noQueueName(start, `use at most ${LONGEST_QUEUE} characters (got ${count(queue.length)})`, where)
  }
  checkServedQueueName(queue, where)
}

/** Checks the name of a queue that a worker serves: another program may have made it. @throws INVALID_OPTION */
export function checkServedQueueName(queue: string, where?: string): void {
  if (typeof queue === 'string' && queue !== '' && !/[{}\s\p{Cc}]/u.test(queue) && !/^\.\.?$/.test(queue)) return
  throw noQueueName(queue, 'use a string without spaces, braces and control characters, for instance "default"', where)
}

/**
 * Checks the name of a queue that another program may have made.
 * @throws INVALID_OPTION
 */
export function checkKnownQueueName(queue: string): void {
  if (typeof queue !== 'string' || queue === '') throw noQueueName(queue, 'use a string, for instance "default"')
}

function noQueueName(queue: unknown, right: string, where?: string): HighkiqError {
  return invalidOption(
    `${where === undefined ? '' : `${where}: `}${JSON.stringify(queue)} is not a queue name: ${right}`,
  )
}
