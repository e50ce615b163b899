/**
 * Counts what ends, by class, in memory, and tells the store now and then; what ended counts in the minute in which it is
 * cut off to be told.
 */

import { hasCode } from '../job/errors.ts'
import { newJid, type Payload } from '../job/payload.ts'
import { HISTOGRAM_BUCKETS, type MetricsBatch, type Store } from '../store/contract.ts'
import type { Outcome, Plugin } from '../worker/plugin.ts'
import { bucketOf } from './histogram.ts'

interface Counts {
  processed: number
  failed: number
  ms: number
  histogram: number[]
}

/** The most classes in one batch. */
const MAX_CLASSES = 100

export class MetricsCollector implements Plugin {
  readonly #source = newJid()
  #counts = new Map<string, Counts>()
  /** Batches without an answer. A batch keeps its number and counts, since it may be recorded already. */
  #unsent: MetricsBatch[] = []
  #number = 0
  #flushing: Promise<void> = Promise.resolve()

  ended(payload: Payload, { kind }: Outcome, ms: number): void {
    const failed = kind === 'retry' || kind === 'dead' || kind === 'discarded'
    // As in Sidekiq each stretch of an iterable job counts; otherwise the longest jobs would seem to take no time.
    if (!failed && kind !== 'done' && kind !== 'business-failure' && kind !== 'paused') return
    const counts = this.#countsOf(typeof payload.wrapped === 'string' ? payload.wrapped : payload.class)
    counts.processed++
    if (failed) {
      counts.failed++
      return
    }
    // Failed runs may take any time, so only successful ones measure how fast a class is.
    counts.ms += ms
    const bucket = bucketOf(ms)
    counts.histogram[bucket] = (counts.histogram[bucket] as number) + 1
  }

  /**
   * Records what ended; writes nothing when nothing has ended. On an error it keeps the counts for the next call and
   * throws.
   */
  flush(store: Store, now: () => number): Promise<void> {
    const flush = async () => {
      await this.#send(store)
      this.#cut(now())
      await this.#send(store)
    }
    // Workers of one app share this collector.
    const flushed = this.#flushing.then(flush, flush)
    this.#flushing = flushed
    return flushed
  }

  #cut(at: number): void {
    const jobs = [...this.#counts].map(([name, counts]) => ({ name, ...counts, ms: Math.round(counts.ms) }))
    this.#counts = new Map()
    for (let from = 0; from < jobs.length; from += MAX_CLASSES) {
      const some = jobs.slice(from, from + MAX_CLASSES)
      this.#unsent.push({ source: this.#source, number: ++this.#number, at, jobs: some })
    }
  }

  async #send(store: Store): Promise<void> {
    let refused: unknown
    for (let batch = this.#unsent[0]; batch; batch = this.#unsent[0]) {
      try {
        await store.metrics.record(batch)
      } catch (thrown) {
        // The store refuses this batch for good, so it is dropped.
        if (!hasCode(thrown, 'STORE_UNUSABLE')) throw thrown
        refused = thrown
      }
      this.#unsent.shift()
    }
    if (refused) throw refused
  }

  #countsOf(name: string): Counts {
    let counts = this.#counts.get(name)
    if (!counts) {
      counts = { processed: 0, failed: 0, ms: 0, histogram: new Array<number>(HISTOGRAM_BUCKETS).fill(0) }
      this.#counts.set(name, counts)
    }
    return counts
  }
}
