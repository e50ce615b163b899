/** Turns a push into a payload: adds defaults and refuses invalid options. */

import { checkValue } from '../job/args.ts'
import { checkQueueName, type JobDefinition, type JobOptions, type LogLevel } from '../job/definition.ts'
import { type Duration, dueAt, LONGEST, LONGEST_SECONDS, refuseMilliseconds } from '../job/duration.ts'
import type { Encryption } from '../job/encryption.ts'
import { invalidJob } from '../job/errors.ts'
import { shown } from '../job/options.ts'
import { isBid, MOST_JID_CHARACTERS, newJid, type Payload, timeOf, type Wire } from '../job/payload.ts'
import { isPriority, isPriorityName, priorityName } from '../job/priority.ts'
import { checkUnique, JID_LOCK, type OnConflict, sidekiqUnique, type Unique, uniqueLockOf } from '../job/unique.ts'
import { isPlaceholder } from '../store/contract.ts'
import { tracked } from './track.ts'

/** The options of a push besides its class and arguments. */
export interface NamedPushOptions {
  queue?: string
  /** 0 to 9; see JobOptions. */
  priority?: number
  /** Delay from now: seconds, `'5m'`, `{ minutes: 5 }`; or a time, as in `waitUntil`. */
  wait?: number | Duration | Date
  /** A Date, or seconds since the epoch; a time in the past means now. Takes precedence over `wait`. */
  waitUntil?: number | Date | Duration
  /** Default: a new one. A job with this jid is not stored a second time while it waits or runs. */
  jid?: string
  retry?: boolean | number | null
  retryFor?: number
  /** Seconds within which the job must start. */
  expiresIn?: number
  /** The queue of the job's retries; default: the queue that it was fetched from. */
  retryQueue?: string
  logLevel?: LogLevel
  tags?: string[]
  backtrace?: boolean | number
  dead?: boolean
  /** Whether the push is repeated when its answer was lost; the job is stored once. */
  idempotent?: boolean
  /** Whether to keep a record of the job; see JobOptions. */
  track?: boolean
  /** Whether to encrypt the last argument; see JobOptions. */
  encrypt?: boolean
  /** Refuses the push while another such job waits or runs; see JobOptions. */
  unique?: Unique
  /** The job that another framework's wrapper, which is the class, runs. */
  wrapped?: string
}

/** Any other members are copied into the payload unchanged. */
export interface PushOptions extends NamedPushOptions {
  [field: string]: unknown
}

/** A push: of any class, including one that only another program defines. */
export interface PushRequest extends PushOptions {
  class: string
  args: unknown[]
  /** Seconds since the epoch; in the past or absent means now. Takes precedence over `wait` and `waitUntil`. */
  at?: number
}

export interface RequestContext {
  /** Returns the definition of a job; undefined for a class of another program. */
  definition: (name: string) => JobDefinition | undefined
  /** Whether an ordered queue of that name is defined here. */
  isOrdered?: (name: string) => boolean
  /** The options of jobs that are not defined here. */
  defaults: JobOptions
  wire: Wire
  now: () => number
  /** Absent without keys. */
  encryption?: Encryption | undefined
  /** `raise`: members that JSON can't carry are refused. */
  strictArgs?: 'raise' | 'warn' | false
}

/** Members of a request that are for the client and are not copied into the payload as they are. */
const CLIENT_OPTIONS = new Set([
  'pool',
  'client_class',
  'sync',
  'at',
  'wait',
  'waitUntil',
  'retryFor',
  'retryQueue',
  'expiresIn',
  'logLevel',
  'idempotent',
  'track',
  'priority',
  'unique',
])
const LONGEST_RETRY_SECONDS = 1e9
/** Each event of a job has its class and its jid. */
const MOST_CLASS_CHARACTERS = 1000

/**
 * Refuses a job that has the name of an ordered queue: without a handler it would fail until its retries are used up.
 * @throws INVALID_JOB
 */
export function refuseOrdered(name: string): never {
  const hint = `push { id, payload } with hq.ordered('${name}').performAsync`
  const message = `${name} is an ordered queue, which takes no ordinary jobs: ${hint}`
  throw invalidJob(message, { path: 'class', option: 'ordered', value: name, hint })
}

/** Returns a push that is not stored a second time while the job with its jid waits or runs. */
export function withJidLock(request: PushRequest): PushRequest {
  const needsLock = request?.jid !== undefined && request.hk_unique === undefined
  return needsLock ? { ...request, hk_unique: JID_LOCK } : request
}

/**
 * Returns a payload with everything that a job must have.
 * Precedence, highest first: the push, the wrapped job, the class, `defaultJobOptions`.
 * @throws INVALID_JOB, INVALID_OPTION, INVALID_ARGS
 */
export function payloadOf(request: PushRequest, context: RequestContext): Payload {
  check(request)
  const { class: name, args, wrapped } = request
  const definition = context.definition(name)
  // Jobs and ordered queues share names.
  if (!definition && context.isOrdered?.(name)) refuseOrdered(name)
  const options = optionsOf(definition, wrapped, context)
  const { queue = 'default' } = options
  const now = context.now()
  const payload: Payload = {
    class: name,
    args,
    queue,
    jid: request.jid ?? newJid(),
    retry: options.retry ?? true,
    created_at: timeOf(now, context.wire),
  }
  addOptions(payload, request, options)
  addMembers(payload, request, context.strictArgs === 'raise')
  if (isBid(request.bid)) {
    const hint = 'push the job in the function of hq.batch, or of hq.batches.add'
    const message = `${name}: a push can't name the batch ${request.bid} as its bid: ${hint}`
    throw invalidJob(message, { option: 'bid', hint })
  }
  // The queue of a definition was checked with it.
  if (payload.queue !== queue) checkQueueName(payload.queue)
  payload.queue = prioritized(name, payload.queue, request.priority, options.priority)
  // Other programs write null when the job has no retry queue.
  if (payload.retry_queue !== undefined && payload.retry_queue !== null) checkQueueName(payload.retry_queue)
  if (request.track ?? options.track) {
    if (request.jid !== undefined) throw invalidJob(`${name}: a tracked job gets an id of its own; leave jid out`)
    Object.assign(payload, tracked())
  }
  if (payload.retry_for !== undefined) payload.retry_for = wholeSeconds(name, payload.retry_for)
  if (payload.expires_in !== undefined) checkExpiry(request, payload.expires_in)
  const at = timeToRun(request, now)
  if (at !== undefined && at * 1000 > now) payload.at = at
  const { unique = options.unique, unique_for, hk_unique } = request
  if (unique !== undefined || unique_for !== undefined || hk_unique !== undefined) {
    addUnique(payload, request, options, context)
  }
  return payload
}

/** Adds the options of a push, and those of its class. */
function addOptions(payload: Payload, request: PushRequest, options: JobOptions): void {
  if (options.backtrace !== undefined) payload.backtrace = options.backtrace
  if (options.dead !== undefined) payload.dead = options.dead
  if (options.tags !== undefined) payload.tags = options.tags
  if (options.encrypt) payload.encrypt = true
  const retryFor = request.retryFor ?? options.retryFor
  if (retryFor !== undefined) payload.retry_for = retryFor
  const retryQueue = request.retryQueue ?? options.retryQueue
  if (retryQueue !== undefined) payload.retry_queue = retryQueue
  const logLevel = request.logLevel ?? options.logLevel
  if (logLevel !== undefined) payload.log_level = logLevel
  const expiresIn = request.expiresIn ?? options.expiresIn
  if (expiresIn !== undefined) payload.expires_in = expiresIn
}

/** Copies the members of a push that are not for the client. @throws INVALID_ARGS with `isStrict` */
function addMembers(payload: Payload, request: PushRequest, isStrict: boolean): void {
  for (const field of Object.keys(request)) {
    const value = request[field]
    if (value === undefined || CLIENT_OPTIONS.has(field)) continue
    if (isStrict && field !== 'args') checkMember(request.class, field, value)
    if (field === '__proto__') Object.defineProperty(payload, field, { ...PLAIN, value })
    else payload[field] = value
  }
}

/** @throws INVALID_OPTION */
function checkExpiry(request: PushRequest, seconds: unknown): void {
  if (typeof seconds === 'number' && seconds > 0 && seconds <= LONGEST_SECONDS) return
  const option = request.expires_in === undefined ? 'expiresIn' : 'expires_in'
  const what = `a number of seconds above 0 and at most ${LONGEST}`
  throw invalidJob(`${request.class}: ${option} must be ${what} (got ${shown(seconds)})`)
}

/** Adds the locks of a unique job to its payload. @throws INVALID_OPTION, INVALID_JOB, INVALID_ARGS */
function addUnique(payload: Payload, request: PushRequest, options: JobOptions, context: RequestContext): void {
  const { hk_unique: given, unique: asked, unique_for: limit } = request
  const name = payload.wrapped ?? payload.class
  if (asked !== undefined) checkUnique(name, asked)
  delete payload.hk_unique
  if (asked === false) return
  const now = context.now()
  if (isDuplicate(request)) {
    // A duplicate needs the lock of its original.
    payload.hk_unique = String(given)
    if (typeof limit === 'number') payload.hk_unique_ends = Math.ceil(now + limit * 1000)
    return
  }
  const unique = asked ?? (limit === undefined ? options.unique : undefined)
  const sidekiq = asked === undefined ? sidekiqUnique(name, request) : undefined
  if (!unique && !sidekiq) {
    if (given === JID_LOCK) payload.hk_unique = JID_LOCK
    return
  }
  if (payload.hk_task !== undefined) {
    const message = `${name}: a tracked job can't be unique: leave out track, or give unique: false`
    throw invalidJob(message, { problem: 'tracked-unique' })
  }
  const about = sidekiq?.unique ?? (typeof unique === 'object' ? unique : {})
  const secret = payload.encrypt ? context.encryption?.digestKey : undefined
  const { lock, seconds = sidekiq?.seconds } = uniqueLockOf(name, argsOf(payload), about, secret)
  payload.hk_unique = given === JID_LOCK ? `${JID_LOCK},${lock}` : lock
  const from = sidekiq && payload.at !== undefined ? (payload.at as number) * 1000 : now
  if (seconds !== undefined) payload.hk_unique_ends = Math.ceil(from + seconds * 1000)
}

/** Returns the arguments of a job, of a wrapped one its own: its wrapper differs in each push. */
function argsOf({ args, wrapped }: Payload): unknown[] {
  const [envelope] = args as [{ arguments?: unknown } | null | undefined]
  const own = wrapped === undefined ? undefined : envelope?.arguments
  return Array.isArray(own) ? own : args
}

/** Whether a push of this request needs a lock of its class. */
export function isUnique(request: PushRequest, context: RequestContext): boolean {
  const { unique, unique_for: limit } = request
  const { unique: own } = optionsOfRequest(request, context)
  return Boolean(unique ?? (limit === undefined ? own : limit))
}

/** Whether the lock of such a push depends on a function of its arguments. */
export function isUniqueBy(request: PushRequest, context: RequestContext): boolean {
  const { unique = optionsOfRequest(request, context).unique } = request
  return typeof unique === 'object' && unique.by !== undefined
}

/** Returns what happens to a refused push. */
export function conflictOf(request: PushRequest, context: RequestContext): OnConflict {
  if (isDuplicate(request)) return 'raise'
  const { unique = optionsOfRequest(request, context).unique } = request
  return (typeof unique === 'object' && unique.onConflict) || 'drop'
}

/** Whether the request gives the lock of another job. */
function isDuplicate({ hk_unique: given }: PushRequest): boolean {
  return given !== undefined && given !== JID_LOCK
}

/** @throws INVALID_ARGS, as for an argument */
function checkMember(job: string, field: string, value: unknown): void {
  if (typeof value !== 'string' && typeof value !== 'boolean') checkValue(value, field, job)
}

const PLAIN = { writable: true, enumerable: true, configurable: true }

function optionsOfRequest({ class: name, wrapped }: PushRequest, context: RequestContext): JobOptions {
  return optionsOf(context.definition(name), wrapped, context)
}

function optionsOf(
  defined: JobDefinition | undefined,
  wrapped: string | undefined,
  { definition, defaults }: RequestContext,
): JobOptions {
  // A definition's options have the defaults in them.
  if (wrapped === undefined) return defined?.options ?? defaults
  return { ...defaults, ...ownOptions(defined), ...ownOptions(definition(wrapped)) }
}

function ownOptions(definition: JobDefinition | undefined): JobOptions | undefined {
  return definition?.own ?? definition?.options
}

/** Seconds since the epoch; undefined: now. @throws INVALID_OPTION */
export function timeToRun({ at, wait, waitUntil }: PushRequest, now: number): number | undefined {
  if (at !== undefined) return at
  const when = waitUntil ?? wait
  return when === undefined ? undefined : dueAt(when, now)
}

function check(request: PushRequest): void {
  if (typeof request !== 'object' || request === null) {
    throw invalidJob(`a push is an object, for instance { class: 'HardJob', args: [1, 2] }, not ${String(request)}`)
  }
  const { class: name, args, at, jid, tags, retry, wrapped } = request
  if (typeof name !== 'string' || name === '') {
    throw invalidJob("a job needs a class: the name it was defined under, for instance { class: 'HardJob', args: [] }")
  }
  if (name.length > MOST_CLASS_CHARACTERS) {
    throw invalidJob(`a class must have at most 1,000 characters (got ${shown(name)} with ${name.length})`)
  }
  if (!Array.isArray(args)) throw invalidJob(`${name}: args must be an array, one element for each argument (none: [])`)
  if (at !== undefined && !Number.isFinite(at)) {
    throw invalidJob(`${name}: at must be a number, in seconds since the epoch: date.getTime() / 1000`)
  }
  if (at !== undefined) refuseMilliseconds(at)
  if (jid !== undefined && (typeof jid !== 'string' || jid === '')) {
    throw invalidJob(`${name}: jid must be a string; leave it out to get a new one`)
  }
  if (jid !== undefined && jid.length > MOST_JID_CHARACTERS) {
    throw invalidJob(`${name}: jid must have at most 200 characters (got ${shown(jid)} with ${jid.length})`)
  }
  if (jid !== undefined && isPlaceholder(jid)) {
    throw invalidJob(
      `${name}: jid ${jid} has the form of ids that large batches use inside: take another one, or leave it out`,
    )
  }
  if (tags && !Array.isArray(tags)) throw invalidJob(`${name}: tags must be an array, for instance ['vip']`)
  if (retry !== undefined && retry !== null && typeof retry !== 'boolean' && !(Number.isInteger(retry) && retry >= 0)) {
    throw invalidJob(`${name}: retry must be true, false or a number of retries`)
  }
  if (request.encrypt !== undefined && typeof request.encrypt !== 'boolean') {
    throw invalidJob(`${name}: encrypt must be true or false`)
  }
  if (wrapped !== undefined && typeof wrapped !== 'string') {
    throw invalidJob(`${name}: wrapped must be the name of the job that it wraps`)
  }
  if (wrapped !== undefined && wrapped.length > MOST_CLASS_CHARACTERS) {
    throw invalidJob(
      `${name}: wrapped must have at most 1,000 characters (got ${shown(wrapped)} with ${wrapped.length})`,
    )
  }
  const [symbol] = Object.getOwnPropertySymbols(request)
  if (symbol) throw invalidJob(`${name}: ${String(symbol)} can't be stored: name members by strings`)
}

/** Returns the name of the queue with the priority of the push, else that in the name itself, else that of the job. */
function prioritized(job: string, queue: string, given: number | undefined, usual: number | undefined): string {
  const priority = given === undefined && !isPriorityName(queue) ? usual : given
  if (priority === undefined) return queue
  if (isPriority(priority)) return priorityName(queue, priority)
  throw invalidJob(`${job}: priority must be a whole number from 0 to 9 (got ${shown(priority)})`)
}

/** Sidekiq reads whole seconds. */
function wholeSeconds(name: string, retryFor: unknown): number {
  if (typeof retryFor === 'number' && retryFor <= LONGEST_RETRY_SECONDS) return Math.trunc(retryFor)
  throw invalidJob(`${name}: retry_for must be a number of seconds, at most 1,000,000,000`)
}
