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

export class JobCounters {
  readonly #hq: Highkiq
  readonly #counts = new Map<string, JobCounts>()
  /** The end of the counted minutes. */
  #upTo: number | undefined
  #counting: Promise<unknown> = Promise.resolve()

  constructor(hq: Highkiq) {
    this.#hq = hq
  }

  /** Returns the counters by class. */
  async count(): Promise<ReadonlyMap<string, JobCounts>> {
    const counting = this.#counting.then(
      () => this.#count(),
      () => this.#count(),
    )
    this.#counting = counting
    await counting
    return this.#counts
  }

  async #count(): Promise<void> {
    const flushed = this.#hq.now() - FLUSH_MS
    const end = flushed - (flushed % MINUTE)
    const from = Math.max(this.#upTo ?? end - MINUTE, end - MOST_MINUTES * MINUTE)
    const minutes = Array.from({ length: Math.max((end - from) / MINUTE, 0) }, (_, i) => from + i * MINUTE)
    const sums = minutes.length > 0 ? await this.#hq.store.metrics.sums(1, minutes) : []
    for (const { name, processed, failed, ms } of sums) {
      const isKnown = this.#counts.has(name) || this.#counts.size < MOST_CLASSES
      const key = isKnown ? name : OTHERS
      const counts = this.#counts.get(key) ?? { processed: 0, failed: 0, seconds: 0 }
      counts.processed += processed
      counts.failed += failed
      counts.seconds += ms / 1000
      this.#counts.set(key, counts)
    }
    this.#upTo = end
  }
}
