/** The options of a worker. */

import { checkMiddleware, type Middleware } from '../job/chain.ts'
import type { JobContext } from '../job/context.ts'
import { invalidOption } from '../job/errors.ts'
import { isObject } from '../job/json.ts'
import { checkOptions, given, isAboveZero, type OptionKind } from '../job/options.ts'
import { OTHER_WORKER_NAMES } from '../job/other-names.ts'
import type { Payload } from '../job/payload.ts'
import { ALL_QUEUES, expandQueues, type FetchOrder, parseQueue, type QueueOption } from './queue-order.ts'

/**
 * Decides what happens to a scheduled job or retry whose time has come. It returns the name of another queue, `'drop'` to
 * delete the job, or a Date at which it is asked again; undefined sends the job to its own queue.
 */
export type Promote = (payload: Payload) => string | Date | undefined | Promise<string | Date | undefined>

/** Queues with slots of their own. */
export interface CapsuleOptions {
  /** The number of jobs that run at the same time; default 10. */
  concurrency?: number
  /**
   * The queues to serve. Without weights the worker asks them strictly in this order; with one (`'critical,3'`) it
   * draws by weight. `'*'` stands for every queue that a job of the app names. A worker without `queues` serves `'*'`
   * on SQLite and `default` on PostgreSQL and Redis; a capsule serves `default`.
   */
  queues?: readonly QueueOption[]
  /** Chooses the order of the queues for each fetch instead. The worker does not fetch from queues that it omits. */
  fetchOrder?: FetchOrder
  /** Middleware around the jobs that run here, inside the app's. */
  use?: readonly Middleware<JobContext, unknown>[]
}

/** A shard of an ordered queue. */
export interface QueueShard {
  readonly queue: string
  readonly shard: number
}

/** A shard with items that are due. */
export interface ReadyShard extends QueueShard {
  /** Seconds since its oldest item was due. */
  readonly lag: number
  /** The number of ids that the worker has fetched from it. */
  readonly size: number
}

/**
 * Chooses the shards of the ordered queues that this process owns: of all shards in order of definition every `nodes`-th,
 * starting with `node` (0 is the first); or those that a function returns.
 */
export type Splitter = { nodes: number; node: number } | ((shards: readonly QueueShard[]) => readonly QueueShard[])

/**
 * Chooses the shard whose batch runs next: `'lag'`, the one that has waited longest, without starving the others; `'seq'`,
 * one after the other; or the one that a function returns.
 */
export type ShardScheduler = 'lag' | 'seq' | ((ready: readonly ReadyShard[]) => ReadyShard | undefined)

/** The options of the capsule `default`, and of the worker as a whole. */
export interface WorkerOptions extends CapsuleOptions {
  /** Further capsules, by name. */
  capsules?: Readonly<Record<string, CapsuleOptions>>
  /** Seconds that running jobs have after `stop`; default 25, `Infinity` waits for all. */
  timeout?: number
  /** Seconds after which the jobs of a process that is cut off go to other workers; default 15. */
  leaseSeconds?: number
  /**
   * Seconds after which the jobs of a process whose event loop is blocked go to other workers; default 900. A job may block
   * for at least twice its `timeout`. `Infinity` waits for ever.
   */
  maxBlockSeconds?: number
  /** Seconds between two polls for due jobs; at most (and by default) 1. */
  pollInterval?: number
  /** Chooses where a due job goes. One worker moves them for all: set the same function in every worker. */
  promote?: Promote
  /** Batches of ordered queues that run at the same time, over all of them; default 5. */
  orderedConcurrency?: number
  /** Default: each process that knows an ordered queue owns its fair share of the shards. */
  splitter?: Splitter
  /** Default `'lag'`. */
  scheduler?: ShardScheduler
  /** Shown beside the process. */
  tag?: string
  /** Shown beside the process. */
  labels?: readonly string[]
  /** Logs `start` and `done` (or `fail`) of each job at info; default false, which logs them at debug. */
  logJobs?: boolean
}

const CAPSULE: Record<keyof CapsuleOptions, OptionKind> = {
  concurrency: 'count',
  queues: [Array.isArray, 'an array of names'],
  fetchOrder: 'function',
  use: null,
}
const OPTIONS: Record<keyof WorkerOptions, OptionKind> = {
  ...CAPSULE,
  capsules: [isObject, '{ name: { concurrency, queues } }'],
  timeout: 'seconds',
  leaseSeconds: 'amount',
  maxBlockSeconds: 'seconds',
  pollInterval: [(value) => isAboveZero(value) && (value as number) <= 1, 'a number of seconds, at most 1'],
  promote: 'function',
  orderedConcurrency: 'count',
  splitter: [isSplitter, '{ nodes, node } with node from 0 to nodes - 1, or a function of all shards'],
  scheduler: [
    (value) => typeof value === 'function' || value === 'lag' || value === 'seq',
    "'lag', 'seq' or a function of the shards that are ready",
  ],
  tag: [(value) => typeof value === 'string', 'a string'],
  labels: 'texts',
  logJobs: 'flag',
}

export const WORKER_OPTIONS: readonly string[] = Object.keys(OPTIONS)

/** The options with their defaults. */
export type CapsuleSettings = Required<Omit<CapsuleOptions, 'fetchOrder'>> & Pick<CapsuleOptions, 'fetchOrder'>
export type WorkerSettings = Required<Omit<WorkerOptions, 'fetchOrder' | 'promote' | 'splitter'>> &
  CapsuleSettings &
  Pick<WorkerOptions, 'promote' | 'splitter'>

/**
 * Returns the options with the names of all queues to serve. Without `queues` a worker on SQLite serves all `defined`
 * ones. On other stores it serves `default` alone, because the jobs of other programs may be in the others. A queue of a
 * capsule is served by that capsule alone.
 */
export function withQueues(options: WorkerOptions, defined: readonly string[], url: string): WorkerOptions {
  const { queues = url.startsWith('sqlite:') ? [ALL_QUEUES] : ['default'], capsules = {} } = options
  const lists = Object.values(capsules ?? {}).map((capsule) => capsule?.queues ?? [])
  // The check of all options refuses wrong types later.
  if (!Array.isArray(queues) || !lists.every(Array.isArray)) return options
  const apart = lists.flat().map((queue) => parseQueue(queue).name)
  const expanded = expandQueues(queues, defined, apart)
  // The capsules may serve all defined queues.
  return { ...options, queues: expanded.length > 0 || queues.length === 0 ? expanded : ['default'] }
}

/** @throws INVALID_OPTION */
export function workerSettings(options: WorkerOptions): WorkerSettings {
  checkOptions('worker', options, OPTIONS, OTHER_WORKER_NAMES)
  const settings = {
    capsules: {},
    timeout: 25,
    leaseSeconds: 15,
    maxBlockSeconds: 900,
    pollInterval: 1,
    orderedConcurrency: 5,
    scheduler: 'lag' as const,
    tag: '',
    labels: [],
    logJobs: false,
    ...given(options),
    ...capsule('worker', options),
  }
  if ('default' in settings.capsules)
    throw invalidOption(
      "worker: capsules must not name 'default': that capsule has the worker's own queues and concurrency",
    )
  return settings
}

export function isSplitter(value: unknown): boolean {
  if (typeof value === 'function') return true
  const { nodes, node } = (value ?? {}) as { nodes?: unknown; node?: unknown }
  return Number.isInteger(nodes) && Number.isInteger(node) && Number(node) >= 0 && Number(node) < Number(nodes)
}

/** @throws INVALID_OPTION */
export function capsuleSettings(name: string, options: CapsuleOptions): CapsuleSettings {
  checkOptions(`capsule ${name}`, options, CAPSULE)
  const settings = capsule(`capsule ${name}`, options)
  if (settings.queues.some((queue) => parseQueue(queue).name === ALL_QUEUES)) {
    throw invalidOption(
      `capsule ${name}: '${ALL_QUEUES}' is for the queues of the worker itself; name the queues of a capsule`,
    )
  }
  return settings
}

function capsule(where: string, options: CapsuleOptions): CapsuleSettings {
  const { concurrency = 10, queues = ['default'], use = [], fetchOrder } = options
  checkMiddleware(where, use)
  return { concurrency, queues, use, ...(fetchOrder ? { fetchOrder } : {}) }
}
