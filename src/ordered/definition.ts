/** The definition of an ordered queue: its options and its handler. */

import { backoff, delayOf, RETRY_IN, type RetryDelay } from '../job/backoff.ts'
import { checkMiddleware, type Middleware } from '../job/chain.ts'
import type { JobContext } from '../job/context.ts'
import { checkQueueName } from '../job/definition.ts'
import { type Duration, seconds } from '../job/duration.ts'
import { invalidOption } from '../job/errors.ts'
import { checkOptions, given, type OptionKind, type OptionRule } from '../job/options.ts'
import { count as figure } from '../job/plural.ts'
import { DEFAULT_SHARDS } from '../store/contract.ts'
import type { OrderedContext } from './context.ts'

/**
 * A job for an ordered queue. Payloads with the same id never run in parallel and run in the order of their scores.
 */
export interface OrderedItem<P = unknown> {
  /** The id of the job's entity; a number is converted to a string. Required unless `prepare` sets it. */
  id?: string | number | bigint
  /** JSON; default `''`. Equal payloads of one id are kept once, with the smaller score. */
  payload?: P
  /** Orders the payloads of one id, lowest first; default now, in seconds, each push higher than the one before. */
  score?: number
  /**
   * When the job is due: seconds from now, `'5m'`, `{ minutes: 5 }`, or a Date; default now. A number from
   * 1,000,000,000 on is a time in seconds since 1970.
   */
  performIn?: number | Duration | Date
  /** Another name of `performIn`. */
  performAt?: number | Duration | Date
  /** Whether an id that already waits becomes due at `performIn` if that is earlier. By default it keeps its time. */
  wake?: boolean
}

/** Payloads of an id that went to the morgue. They run again only when you resurrect them. */
export interface OrderedDeath<P = unknown> {
  id: string
  payloads: { payload: P; score: number }[]
  error: string | null
}

/** Returns the delay of an id that failed. `'default'`, undefined and null keep the default delay. */
export type OrderedRetryIn = (count: number, error: unknown, id: string) => RetryDelay | 'default' | undefined | null

export interface OrderedOptions<P = unknown> {
  /** The most batches of this queue that run at the same time, over all processes; default 5. */
  shards?: number
  /** The most ids in one call of the handler, 1 to 100; default 1. */
  batchSize?: number
  /** How often an id may fail before its first payload goes to the morgue; default 25. */
  maxRetries?: number
  /**
   * The delay until an id that failed is due again: seconds, `'5m'` or `{ minutes: 5 }`. With `{ minutes: 5, jitter: true }`
   * up to ten random seconds for each failure are added. A function returns the delay after each failure (`count` is 0
   * after the first one); the number may be below 0. Default: count⁴ + 15 seconds and a random part.
   */
  retryIn?: RetryDelay | OrderedRetryIn
  /** The name of the queue in the store; default: the name of the definition. */
  queueName?: string
  /** Called with the payloads that died, after the store has confirmed their death. */
  onExhausted?: (dead: OrderedDeath<P>[]) => unknown
  /**
   * An id moves to the morgue after this many consecutive crashes while no other id of its shard was fetched; default 3. An
   * id of another shard may have caused them.
   */
  maxCrashes?: number
  /** The most payloads of one id in one call, 1 to 1,000 (default): the lowest scores first, the rest in the next. */
  maxPayloads?: number
  /** `'id'`: batches of one shard with different ids may run in parallel. Default `'shard'`: one at a time. */
  serial?: 'shard' | 'id'
  /** Called with each item that is pushed, before it is checked. It can set id, score and time from the payload. */
  prepare?: (item: OrderedItem<P>) => OrderedItem<P> | Promise<OrderedItem<P>>
  /** `'auto'`: a worker that finds another number of shards stored changes it to `shards`; else it warns. */
  reshard?: 'auto'
  /** Ids that the morgue keeps; default 10,000. */
  morgueMax?: number
  /** How long the morgue keeps payloads: seconds, or a text such as `'30d'`; default 180 days. */
  morgueKeep?: number | Duration
  /** Middleware around the handler, inside the app's. */
  use?: readonly Middleware<JobContext, unknown>[]
}

/**
 * Gets the payloads of each id, in the order of their scores. If it throws, all ids of the batch fail, unless it throws
 * a BatchFailure, which names the ids that fail.
 */
export type OrderedHandler<P = unknown> = (ctx: OrderedContext, batch: Map<string, P[]>) => unknown

export interface OrderedDefinition {
  readonly name: string
  readonly queue: string
  readonly options: OrderedSettings
  readonly handler: OrderedHandler
}

/** The options with their defaults. */
export type OrderedSettings = Required<Omit<OrderedOptions, Optional>> & Pick<OrderedOptions, Optional>
type Optional = 'retryIn' | 'queueName' | 'onExhausted' | 'prepare' | 'reshard'

const DEFAULTS = {
  shards: DEFAULT_SHARDS,
  batchSize: 1,
  maxRetries: 25,
  maxCrashes: 3,
  maxPayloads: 1000,
  serial: 'shard' as const,
  morgueMax: 10_000,
  morgueKeep: 180 * 86_400,
  use: [],
}
const OPTIONS: Record<keyof OrderedOptions, OptionKind> = {
  shards: wholeUpTo(1000),
  batchSize: wholeUpTo(100),
  maxRetries: 'whole',
  retryIn: RETRY_IN,
  queueName: null,
  onExhausted: 'function',
  maxCrashes: 'count',
  maxPayloads: wholeUpTo(1000),
  serial: ['shard', 'id'],
  prepare: 'function',
  reshard: [(value) => value === 'auto', "'auto', or left out"],
  morgueMax: 'whole',
  morgueKeep: [isKeep, "a number of seconds above 0, or for instance '30d'"],
  use: null,
}

/** The names of some options in other libraries, for hints. */
const ELSEWHERE = {
  queue: 'queueName',
  queue_name: 'queueName',
  retry: 'maxRetries',
  max_retry_count: 'maxRetries',
  retry_in: 'retryIn',
  retries_exhausted: 'onExhausted',
  shards_count: 'shards',
  batch_size: 'batchSize',
}

/** @throws INVALID_OPTION with the name of the option and what it may be */
export function orderedDefinition(name: string, options: OrderedOptions, handler: OrderedHandler): OrderedDefinition {
  if (typeof name !== 'string' || name === '') {
    throw invalidOption('an ordered queue needs a name')
  }
  const wrong = (what: string) => invalidOption(`${name}: ${what}`)
  if (typeof handler !== 'function') throw wrong('the handler must be a function')
  checkOptions(name, options, OPTIONS, ELSEWHERE)
  const settled = { ...DEFAULTS, ...given(options) }
  const { queueName = name, morgueKeep, use } = settled
  checkQueueName(queueName)
  checkMiddleware(name, use)
  return { name, queue: queueName, options: { ...settled, morgueKeep: seconds(morgueKeep) }, handler }
}

function isKeep(value: unknown): boolean {
  const delay = delayOf(value)
  return delay !== undefined && delay.seconds > 0
}

/** @throws INVALID_OPTION */
export function checkShards(queue: string, shards: number): void {
  checkOptions(queue, { shards: shards ?? null }, { shards: OPTIONS.shards })
}

function wholeUpTo(most: number): OptionRule {
  const holds = (value: unknown) => Number.isInteger(value) && (value as number) >= 1 && (value as number) <= most
  return [holds, `a whole number, 1 to ${figure(most)}`]
}

/** Seconds: count⁴ + 15 + rand(30)·(count + 1). */
export function retryDelay(count: number, random: () => number): number {
  return backoff(count) + Math.floor(random() * 30) * (count + 1)
}
