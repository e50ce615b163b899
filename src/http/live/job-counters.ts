/** Counters of the runs of each class since the first scrape of this server. They only grow, as Prometheus expects. */

import type { Highkiq } from '../../app.ts'

const MINUTE = 60_000
/** How long after its end a minute is complete, since processes flush their metrics late. */
const FLUSH_MS = 15_000
/** The number of minutes that the store keeps. */
const MOST_MINUTES = 480
/** The most classes with counters of their own. */
const MOST_CLASSES = 1000
const OTHERS = '(others)'

export interface JobCounts {
  processed: number
  failed: number
  seconds: number
}

/** Returns a function that counts the runs by class up to now. */
export function jobCounters(hq: Highkiq): () => Promise<ReadonlyMap<string, JobCounts>> {
  const all = new Map<string, JobCounts>()
  /** The end of the counted minutes. */
  let upTo: number | undefined
  let counting = Promise.resolve()
  const count = async () => {
    const flushed = hq.now() - FLUSH_MS
    const end = flushed - (flushed % MINUTE)
    const from = Math.max(upTo ?? end - MINUTE, end - MOST_MINUTES * MINUTE)
    const minutes = Array.from({ length: Math.max((end - from) / MINUTE, 0) }, (_, i) => from + i * MINUTE)
    const sums = minutes.length > 0 ? await hq.store.metrics.sums(1, minutes) : []
    for (const { name, processed, failed, ms } of sums) {
      const key = all.has(name) || all.size < MOST_CLASSES ? name : OTHERS
      const { processed: p, failed: f, seconds } = all.get(key) ?? { processed: 0, failed: 0, seconds: 0 }
      all.set(key, { processed: p + processed, failed: f + failed, seconds: seconds + ms / 1000 })
    }
    upTo = end
  }
  return async () => {
    counting = counting.then(count, count)
    await counting
    return all
  }
}
