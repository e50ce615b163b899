import { isUnreachable } from '../../job/errors.ts'
import type { Finding, Store } from '../contract.ts'
import { ShardedBatchStore } from './batches.ts'
import { ShardedCancellationStore } from './cancellations.ts'
import { ShardedCronStore } from './crons.ts'
import { ShardedJobEventStore } from './events.ts'
import { ShardedJobSetStore } from './job-sets.ts'
import { ShardedJobStore } from './jobs.ts'
import { ShardedLimitStore } from './limits.ts'
import { ShardedMetricStore } from './metrics.ts'
import { ShardedOrderedStore } from './ordered.ts'
import { PushShards } from './push-shards.ts'
import { ShardedResultStore } from './results.ts'
import { ShardedSearchStore } from './search.ts'
import { Shards } from './shards.ts'
import { Slots } from './slots.ts'
import { ShardedTaskStore } from './tasks.ts'
import { ShardedTransferStore } from './transfers.ts'
import { ShardedUniqueStore } from './unique.ts'
import { ShardedWorkerStore } from './workers.ts'

/**
 * Several stores, the shards, that work as one store. Each job is on one shard, and each step of a job changes only
 * that shard. These are together on one shard, by the slot of their name: the rows of a task, the members of a batch,
 * the jobs of a lock, an ordered queue, a cron entry, the slots of a limit. All other jobs are spread by their jids.
 *
 * While a shard can't be reached, calls to it fail at once, workers run the jobs of the others, and jobs without such a
 * name are pushed to the others; also while a shard refuses to store jobs.
 */
export class ShardedStore implements Store {
  readonly shardUrls: readonly string[]
  readonly kind: string
  readonly url: string
  readonly maxConcurrentCalls: number
  readonly jobs: ShardedJobStore
  readonly workers: ShardedWorkerStore
  readonly jobSets: ShardedJobSetStore
  readonly search: ShardedSearchStore
  readonly cancellations: ShardedCancellationStore
  readonly tasks: ShardedTaskStore
  readonly ordered: ShardedOrderedStore
  readonly crons: ShardedCronStore
  readonly limits: ShardedLimitStore
  readonly events: ShardedJobEventStore
  readonly unique: ShardedUniqueStore
  readonly batches: ShardedBatchStore
  readonly metrics: ShardedMetricStore
  readonly results: ShardedResultStore
  readonly transfers: ShardedTransferStore
  readonly #shards: Shards

  /**
   * @param stores at least two, always the same ones in the same order
   * @param warn logs that a shard refuses jobs
   */
  constructor(stores: readonly Store[], warn?: (message: string) => void) {
    const shards = new Shards(stores)
    this.#shards = shards
    const slots = new Slots(shards)
    this.kind = [...new Set(stores.map(({ kind }) => kind))].join('+')
    this.shardUrls = stores.map(({ url }) => url)
    this.url = this.shardUrls.join(' ')
    this.maxConcurrentCalls = Math.max(...stores.map(({ maxConcurrentCalls }) => maxConcurrentCalls))
    this.jobs = new ShardedJobStore(shards, new PushShards(shards, warn))
    this.jobSets = new ShardedJobSetStore(shards)
    this.search = new ShardedSearchStore(shards)
    this.cancellations = new ShardedCancellationStore(shards)
    this.workers = new ShardedWorkerStore(shards, this.cancellations.versions, slots)
    this.tasks = new ShardedTaskStore(shards)
    this.ordered = new ShardedOrderedStore(shards)
    this.crons = new ShardedCronStore(shards)
    this.limits = new ShardedLimitStore(shards, slots)
    this.events = new ShardedJobEventStore(shards)
    this.unique = new ShardedUniqueStore(shards)
    this.batches = new ShardedBatchStore(shards)
    this.metrics = new ShardedMetricStore(shards)
    this.results = new ShardedResultStore(shards)
    this.transfers = new ShardedTransferStore(shards)
  }

  get unreachableShards(): string[] {
    return this.#shards.all.flatMap(({ reachability, store }) => (reachability.isReachable ? [] : [store.url]))
  }

  readonly withoutUnreachable = <T>(read: () => T): T => this.#shards.withoutUnreachable(read)

  /** Also checks that each shard is where it was. @throws STORE_UNUSABLE when the shards are others, or in another order */
  async open(): Promise<void> {
    await this.#shards.reachable((store) => store.open(), isUnreachable)
  }

  async diagnose(): Promise<Finding[]> {
    return (await this.#shards.each(async (store) => (await store.diagnose?.()) ?? [])).flat()
  }

  async close(): Promise<void> {
    await this.#shards.each((store) => store.close())
  }
}
