/** Finds ordered queues that no worker runs. */

import type { Store } from '../store/contract.ts'

const LAG_SECONDS = 10

export interface UnownedShard {
  queue: string
  shard: number
  /** Seconds since its next id was due. */
  lag: number
}

/** Returns, for each of these ordered queues, its shard without an owner that lags most, the worst first. */
export async function unownedShards(store: Store, names: readonly string[], now: number): Promise<UnownedShard[]> {
  const counts = await Promise.all(names.map((name) => store.ordered.counts(name, now)))
  const found = counts.flatMap((queue) => {
    if (!queue || queue.paused) return []
    const [worst] = queue.shards.filter(({ owner }) => owner === null).sort((a, b) => b.lag - a.lag)
    if (!worst || worst.lag < LAG_SECONDS) return []
    return [{ queue: queue.name, shard: worst.shard, lag: worst.lag }]
  })
  return found.sort((a, b) => b.lag - a.lag)
}
