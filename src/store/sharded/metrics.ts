/** Totals and metrics: sums over all shards. */

import {
  type JobHistogram,
  type JobSums,
  MAX_BUCKET_COUNT,
  type MetricStore,
  type StoreStats,
  type WaitSums,
} from '../contract.ts'
import type { Shards } from './shards.ts'

export class ShardedMetricStore implements MetricStore {
  readonly #shards: Shards

  constructor(shards: Shards) {
    this.#shards = shards
  }

  readonly totals: MetricStore['totals'] = async () => {
    const [first, ...others] = (await this.#shards.each((store) => store.metrics.totals())) as [StoreStats]
    return others.reduce((sum, one) => addAll(sum, one, Object.keys(sum) as (keyof StoreStats)[]), { ...first })
  }

  readonly resetTotals: MetricStore['resetTotals'] = async (which) => {
    await this.#shards.each((store) => store.metrics.resetTotals(which))
  }

  readonly history: MetricStore['history'] = async (days) => {
    const all = await this.#shards.each((store) => store.metrics.history(days))
    return days.map((_, i) => {
      const sum = { processed: 0, failed: 0 }
      for (const history of all) addAll(sum, history[i] as typeof sum, ['processed', 'failed'])
      return sum
    })
  }

  readonly record: MetricStore['record'] = (batch) => this.#shards.of(batch.source).store.metrics.record(batch)

  readonly sums: MetricStore['sums'] = async (span, times, name) =>
    summed<JobSums>(
      await this.#shards.each((store) => store.metrics.sums(span, times, name)),
      ({ name, at }) => `${at} ${name}`,
      (a, b) => addAll({ ...a }, b, ['processed', 'failed', 'ms']),
    )

  readonly histograms: MetricStore['histograms'] = async (span, wanted) =>
    summed<JobHistogram>(
      await this.#shards.each((store) => store.metrics.histograms(span, wanted)),
      ({ name, at }) => `${at} ${name}`,
      (a, b) => ({ ...a, counts: sumOf(a.counts, b.counts, span === 1 ? MAX_BUCKET_COUNT : Number.POSITIVE_INFINITY) }),
    )

  readonly waits: MetricStore['waits'] = async (minutes, queue) =>
    summed<WaitSums>(
      await this.#shards.each((store) => store.metrics.waits(minutes, queue)),
      ({ queue, at }) => `${at} ${queue}`,
      (a, b) => ({ ...a, ms: a.ms + b.ms, histogram: sumOf(a.histogram, b.histogram) }),
    )

  // The first shard has the data that exist once.

  readonly recordSnapshot: MetricStore['recordSnapshot'] = (...args) => this.#first.recordSnapshot(...args)
  readonly snapshots: MetricStore['snapshots'] = (...args) => this.#ofFirst((first) => first.snapshots(...args))
  readonly recordQueueSizes: MetricStore['recordQueueSizes'] = (...args) => this.#first.recordQueueSizes(...args)
  readonly queueSizes: MetricStore['queueSizes'] = (...args) => this.#ofFirst((first) => first.queueSizes(...args))
  readonly recordDeploy: MetricStore['recordDeploy'] = (...args) => this.#first.recordDeploy(...args)
  readonly deploys: MetricStore['deploys'] = (days) => this.#ofFirst((first) => first.deploys(days))

  async #ofFirst<T>(read: (metrics: MetricStore) => Promise<T[]>): Promise<T[]> {
    return (await this.#shards.unlessLeftOut(this.#shards.first, read(this.#first))) ?? []
  }

  get #first(): MetricStore {
    return this.#shards.first.store.metrics
  }
}

function addAll<Sums extends { [Name in Key]: number }, Key extends string>(
  sum: Sums,
  more: Sums,
  names: readonly Key[],
): Sums {
  for (const name of names) (sum as Record<Key, number>)[name] += more[name]
  return sum
}

function sumOf(a: readonly number[], b: readonly number[], most = Number.POSITIVE_INFINITY): number[] {
  return a.map((count, i) => Math.min(count + (b[i] ?? 0), most))
}

/** Sums the items with the same key. */
function summed<Item>(
  lists: readonly (readonly Item[])[],
  keyOf: (item: Item) => string,
  add: (a: Item, b: Item) => Item,
): Item[] {
  const sums = new Map<string, Item>()
  for (const item of lists.flat()) {
    const key = keyOf(item)
    const before = sums.get(key)
    sums.set(key, before ? add(before, item) : item)
  }
  return [...sums.values()]
}
