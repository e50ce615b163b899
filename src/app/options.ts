/** The options of an app. */

import { type AlertOptions, alertPlan } from '../alerts/options.ts'
import { checkJobOptions, checkQueueName, type JobOptions } from '../job/definition.ts'
import { checkEncryption, type EncryptionOptions } from '../job/encryption.ts'
import { invalidOption } from '../job/errors.ts'
import { isObject } from '../job/json.ts'
import { checkKeepFinished, type KeepFinished } from '../job/keep-finished.ts'
import { checkLimit, type LimitOptions } from '../job/limit.ts'
import { type BareLogger, type Logger, missingMethods } from '../job/logger.ts'
import { checkOptions, meantBy, type OptionKind, type OptionRule } from '../job/options.ts'
import { OTHER_APP_NAMES } from '../job/other-names.ts'
import type { Wire } from '../job/payload.ts'
import type { Store } from '../store/contract.ts'
import type { RedisSettings } from '../store/open.ts'
import { WORKER_OPTIONS } from '../worker/options.ts'
import type { AppSettings } from './port.ts'

export type { RedisClientOptions } from '../store/open.ts'

export interface HighkiqOptions {
  /**
   * `sqlite:PATH`, `sqlite::memory:`, `postgres://…`, `redis://…`, `rediss://…`, `redis+sentinel://…` or
   * `redis+cluster://…`; default HIGHKIQ_URL, else what REDIS_PROVIDER names, else REDIS_URL, else `sqlite:highkiq.db`.
   * Several URLs, separated by spaces, are those of `shards`.
   */
  url?: string
  /**
   * The URLs of several stores that work as one, instead of `url`: `['redis://a:6379', 'redis://b:6379']`. Name all of
   * them in each process, always in the same order. Their number can't change.
   */
  shards?: readonly string[]
  /** An open store, instead of `url`. */
  store?: Store
  /** On Redis: a prefix of every key, followed by a colon. */
  namespace?: string
  /** On Redis: seconds after which a command fails; default 5, at most 600. */
  redisTimeout?: number
  /** On Redis, a push resolves once this many replicas have confirmed it; default 0. */
  waitForReplicas?: number
  /** On Redis: options for ioredis beyond the URL, for instance `tls`. */
  redis?: RedisSettings['redis']
  /** A pino logger, any other logger of its shape, or `console`. */
  logger?: Logger | BareLogger
  /** The members of a payload that every log line of its job shows; default `bid` and `tags`. */
  loggedJobAttributes?: readonly string[]
  /** For tests: the time in milliseconds since the epoch. */
  clock?: { now(): number }
  /** For tests: returns a number from 0 up to but not including 1. */
  random?: () => number
  /** Characters of a job above which a warning is logged (default 64,000), and bytes above which it is refused (10,000,000). */
  maxArgsBytes?: { warn?: number; refuse?: number }
  defaultJobOptions?: JobOptions
  /** Decides about arguments that JSON can't carry faithfully; default `raise`. */
  strictArgs?: 'raise' | 'warn' | false
  /**
   * The major version of the Sidekiq beside this app. Jobs are written in its dialect; every dialect is read. Default
   * 8. Name the json gem too when that Ruby has an unusual version: `{ sidekiq: 7, json: '2.16' }` (8 has 2.12 or
   * later, 7 and 6 an older one).
   */
  wire?: Wire
  /** The retries of a job with `retry: true`; default 25. */
  maxRetries?: number
  /** The limits of the dead set; default 10,000 jobs and 180 days. */
  dead?: { max?: number; seconds?: number }
  /** How many jobs run at the same time, or start within a time, on all workers together. */
  limit?: LimitOptions
  /** The options of queues, by name. */
  queues?: Readonly<Record<string, QueueOptions>>
  /** Seconds after which an attempt of an iterable job makes room for other jobs, unless the job has its own limit; default none. */
  maxIterationRuntime?: number
  /** The files that define the jobs of this app (`import.meta.url` in them), for jobs that run in threads. */
  files?: readonly (string | URL)[]
  /** The keys of jobs with `encrypt`, by version: the active one encrypts, all of them decrypt. */
  encryption?: EncryptionOptions
  /** Records the events of jobs also while nobody reads them. `keep`: how many of the newest events are kept. */
  events?: { keep: number }
  /** The address of the dashboard, with the path at which it is mounted: `https://shop.example/jobs`. For `task.link`. */
  publicUrl?: string
  /** The secret that signs links to tasks; default: kept in the store. A new secret ends all links. */
  secret?: string
  /** Sends what needs attention to webhooks, chats and mail addresses, from one worker at a time. */
  alerts?: AlertOptions
  /** Gets the lines of an error's stack and returns those to store, for jobs with `backtrace`. */
  backtraceCleaner?: (lines: string[]) => string[]
}

export interface QueueOptions {
  /** How many jobs of this queue run at the same time, or start within a time, on all workers. */
  limit?: LimitOptions
  /** The name of another queue: both have its limit together, as while one of them is renamed. */
  limitOf?: string
  /** The option `keepFinished` for the jobs of this queue that have none of their own. */
  keepFinished?: KeepFinished
  /** The most jobs that wait in the queue: a push of another one throws QUEUE_FULL. Retries are never refused. */
  maxLength?: number
}

/** The options of an app that a configuration file may set. */
export type FileOptions = Pick<
  HighkiqOptions,
  'maxRetries' | 'dead' | 'loggedJobAttributes' | 'maxIterationRuntime' | 'alerts'
>

const WIRES =
  "8 (the default), 7 or 6, the major version of the Sidekiq beside this app, or with its json gem { sidekiq: 7, json: '2.16' }"

const LOGGER = 'an object with debug, info, warn and error, as pino or console'

const OPTIONS: Record<keyof HighkiqOptions, OptionKind> = {
  url: 'text',
  shards: [isShards, "an array of two or more different store URLs, such as ['redis://a:6379', 'redis://b:6379']"],
  store: 'object',
  namespace: [(value) => typeof value === 'string', 'a string'],
  redisTimeout: null,
  waitForReplicas: null,
  redis: 'object',
  logger: [(value) => isObject(value) || typeof value === 'function', LOGGER],
  loggedJobAttributes: 'texts',
  clock: [(value) => isObject(value) && typeof value.now === 'function', '{ now: () => milliseconds }'],
  random: 'function',
  maxArgsBytes: [isObject, '{ warn: bytes, refuse: bytes }'],
  defaultJobOptions: 'object',
  strictArgs: [(value) => value === 'raise' || value === 'warn' || value === false, "'raise', 'warn' or false"],
  wire: [isWire, WIRES],
  maxRetries: 'whole',
  dead: [isObject, '{ max: jobs, seconds: number }'],
  queues: [isObject, '{ name: { keepFinished, limit, limitOf, maxLength } }'],
  limit: 'object',
  maxIterationRuntime: 'seconds',
  files: [
    (value) => Array.isArray(value) && value.every((file) => typeof file === 'string' || file instanceof URL),
    'an array of files (import.meta.url)',
  ],
  encryption: null,
  events: [isObject, '{ keep: events }'],
  publicUrl: [isPublicUrl, "an http or https address without parameters, such as 'https://shop.example/jobs'"],
  secret: 'text',
  alerts: null,
  backtraceCleaner: 'function',
}
const MOST_EVENTS = 10_000_000
const KEEP: OptionRule = [
  (n) => Number.isInteger(n) && Number(n) >= 1 && Number(n) <= MOST_EVENTS,
  `a whole number of events from 1 to ${MOST_EVENTS}`,
]
const DEAD_MAX = 10_000
const DEAD_SECONDS = 180 * 86_400
const MAX_RETRIES = 25
const LOGGED = ['bid', 'tags']

/** @throws INVALID_OPTION */
export function checkAppOptions(options: HighkiqOptions): void {
  checkOptions('new Highkiq', options, OPTIONS, {
    ...optionsOfWorker(options),
    ...OTHER_APP_NAMES,
    keepFinished: 'defaultJobOptions: { keepFinished }',
  })
  const { logger, dead, maxArgsBytes, encryption, events, defaultJobOptions, publicUrl, queues = {} } = options
  const other = (['url', 'store'] as const).find((name) => options[name] !== undefined)
  if (options.shards !== undefined && other)
    throw invalidOption(`new Highkiq: shards and ${other} exclude each other: leave one of them out`)
  const missing = logger ? missingMethods(logger) : []
  if (missing.length > 0) {
    throw invalidOption(`new Highkiq: logger must be ${LOGGER} (it has no ${missing.join(', ')})`)
  }
  if (dead !== undefined) checkOptions('new Highkiq: dead', dead, { max: 'whole', seconds: 'amount' })
  if (maxArgsBytes !== undefined)
    checkOptions('new Highkiq: maxArgsBytes', maxArgsBytes, { warn: 'amount', refuse: 'amount' })
  if (encryption !== undefined) checkEncryption(encryption)
  if (events !== undefined) {
    checkOptions('new Highkiq: events', events, { keep: KEEP })
    if (events.keep === undefined) throw invalidOption(`new Highkiq: events needs keep, ${KEEP[1]}`)
  }
  if (options.alerts !== undefined) alertPlan(options.alerts)
  if (publicUrl !== undefined) checkLinkAddress(publicUrl)
  if (defaultJobOptions) checkJobOptions('defaultJobOptions', defaultJobOptions)
  for (const name of Object.keys(queues)) checkQueueOptions(name, queues)
  if (options.limit !== undefined) checkLimit('new Highkiq', options.limit)
}

function checkQueueOptions(name: string, queues: Readonly<Record<string, QueueOptions>>): void {
  const where = `new Highkiq: queues: ${name}`
  checkQueueName(name)
  const options = queues[name] as QueueOptions
  checkOptions(where, options, { keepFinished: null, limit: 'object', limitOf: 'text', maxLength: 'count' })
  const { limit, limitOf, keepFinished } = options
  if (limit !== undefined) checkLimit(where, limit)
  if (keepFinished !== undefined) checkKeepFinished(where, keepFinished)
  if (limitOf === undefined) return
  if (limit !== undefined) throw invalidOption(`${where}: limit and limitOf exclude each other: leave one of them out`)
  checkQueueName(limitOf, `${where}: limitOf`)
  if (limitOf === name || queues[limitOf]?.limitOf !== undefined) {
    throw invalidOption(`${where}: limitOf must name another queue, which has no limitOf itself (got '${limitOf}')`)
  }
}

/** Returns a hint for each name that is, or resembles, an option of a worker. */
function optionsOfWorker(options: HighkiqOptions): Record<string, string> {
  const found = Object.keys(options ?? {}).flatMap((name) => {
    const meant = WORKER_OPTIONS.includes(name) ? name : meantBy(name, WORKER_OPTIONS)
    return meant === undefined ? [] : [[name, `${meant}, an option of hq.worker()`]]
  })
  return Object.fromEntries(found)
}

/** Returns the most jobs of each queue that has such a limit. */
export function maxLengthsOf({ queues = {} }: HighkiqOptions): Map<string, number> {
  return new Map(
    Object.entries(queues).flatMap(([name, { maxLength }]) => (maxLength === undefined ? [] : [[name, maxLength]])),
  )
}

/** Merges options. Precedence, highest first: the app, the file, Sidekiq's defaults. */
export function settled(options: HighkiqOptions, file: FileOptions): AppSettings {
  const { maxRetries, dead, loggedJobAttributes, maxIterationRuntime, publicUrl, secret } = options
  return {
    publicUrl,
    secret,
    alerts: options.alerts ?? file.alerts,
    maxIterationRuntime: maxIterationRuntime ?? file.maxIterationRuntime ?? Number.POSITIVE_INFINITY,
    loggedJobAttributes: loggedJobAttributes ?? file.loggedJobAttributes ?? LOGGED,
    limits: {
      retries: maxRetries ?? file.maxRetries ?? MAX_RETRIES,
      dead: dead?.max ?? file.dead?.max ?? DEAD_MAX,
      deadSeconds: dead?.seconds ?? file.dead?.seconds ?? DEAD_SECONDS,
    },
  }
}

function isWire(value: unknown): boolean {
  if (!isObject(value)) return isSidekiq(value)
  const { sidekiq, json, ...others } = value
  const isVersion = json === undefined || (typeof json === 'string' && /^\d+\.\d+(\.|$)/.test(json))
  return isSidekiq(sidekiq) && isVersion && Object.keys(others).length === 0
}

function isShards(value: unknown): boolean {
  const isUrl = (one: unknown) => typeof one === 'string' && one !== ''
  return Array.isArray(value) && value.every(isUrl) && value.length > 1 && new Set(value).size === value.length
}

function isPublicUrl(value: unknown): boolean {
  return typeof value === 'string' && /^https?:\/\/[^?#\s]+$/.test(value) && URL.canParse(value)
}

/** Refuses a user and a password in the address of links; does not repeat them. @throws INVALID_OPTION */
function checkLinkAddress(address: string): void {
  const url = new URL(address)
  if (url.username === '' && url.password === '') return
  Object.assign(url, { username: '', password: '' })
  throw invalidOption(
    `new Highkiq: publicUrl must not have a user or password, because everyone who gets a link would see them: use '${url.href}'`,
  )
}

function isSidekiq(value: unknown): boolean {
  return value === 8 || value === 7 || value === 6
}
