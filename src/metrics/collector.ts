/**
 * Counts the ended jobs by class, in memory, and sends the counts to the store now and then. A job counts in the minute in
 * which its counts are cut off for that.
 */

import { hasCode } from '../job/errors.ts'
import { newJid, type Payload, waitOf } from '../job/payload.ts'
import { baseQueue } from '../job/priority.ts'
import { HISTOGRAM_BUCKETS, type MetricsBatch, type Store } from '../store/contract.ts'
import { Periodic, type Report } from '../worker/background-service.ts'
import type { Outcome, Plugin } from '../worker/plugin.ts'

interface Counts {
  processed: number
  failed: number
  ms: number
  histogram: number[]
}

interface Waits {
  ms: number
  histogram: number[]
}

/** The queues that have counts of their own in one batch, and the name of the others. */
const MAX_QUEUES = 99
const OTHERS = '(others)'
/** The most classes in one batch. */
const MAX_CLASSES = 100

/** As in Sidekiq each stretch of an iterable job counts; otherwise the longest jobs would seem to take no time. */
const SUCCEEDED: ReadonlySet<Outcome['kind']> = new Set(['done', 'deferred', 'business-failure', 'paused'])

export class MetricsCollector implements Plugin {
  readonly #source = newJid()
  #counts = new Map<string, Counts>()
  /** The wait times of jobs, by queue. */
  #waits = new Map<string, Waits>()
  /** Batches without an answer. A batch keeps its number and counts, since it may be recorded already. */
  #unsent: MetricsBatch[] = []
  #number = 0
  #flushing: Promise<void> = Promise.resolve()

  ended(payload: Payload, { kind }: Outcome, ms: number, startedAt: number): void {
    const failed = kind === 'retry' || kind === 'dead' || kind === 'discarded'
    if (!failed && !SUCCEEDED.has(kind)) return
    const counts = this.#countsOf(typeof payload.wrapped === 'string' ? payload.wrapped : payload.class)
    counts.processed++
    this.#addWait(payload, startedAt)
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
    let waits = [...this.#waits].map(([queue, counts]) => ({ queue, ...counts, ms: Math.round(counts.ms) }))
    this.#counts = new Map()
    this.#waits = new Map()
    for (let from = 0; from < jobs.length; from += MAX_CLASSES) {
      const some = jobs.slice(from, from + MAX_CLASSES)
      this.#unsent.push({ source: this.#source, number: ++this.#number, at, jobs: some, waits })
      waits = []
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

  #addWait(payload: Payload, startedAt: number): void {
    const wait = waitOf(payload, startedAt)
    if (wait === undefined) return
    const waits = this.#waitsOf(typeof payload.queue === 'string' ? baseQueue(payload.queue) : 'default')
    waits.ms += wait
    const bucket = bucketOf(wait)
    waits.histogram[bucket] = (waits.histogram[bucket] as number) + 1
  }

  #waitsOf(queue: string): Waits {
    let waits = this.#waits.get(queue)
    if (!waits) {
      if (this.#waits.size >= MAX_QUEUES && queue !== OTHERS) return this.#waitsOf(OTHERS)
      waits = { ms: 0, histogram: new Array<number>(HISTOGRAM_BUCKETS).fill(0) }
      this.#waits.set(queue, waits)
    }
    return waits
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

/** Milliseconds between two flushes, as between two heartbeats. */
const FLUSH_MS = 10_000

/** Flushes the collected metrics every ten seconds while a worker runs, and once more when it stops. */
export class MetricsFlusher extends Periodic {
  readonly #flush: () => Promise<void>

  constructor(report: Report, flush: () => Promise<void>) {
    super(report, { during: 'recording metrics', everyMs: FLUSH_MS, first: 'later', runsWhenQuiet: true })
    this.#flush = flush
  }

  protected override run(): Promise<void> {
    return this.#flush()
  }

  override async stop(): Promise<void> {
    await this.runNow()
    await super.stop()
  }
}

// The histogram of run times -----------------------------------------------------------------------------------

/**
 * The upper limits of the buckets of run times, in milliseconds. They are Sidekiq's, so that both show each other's. A time
 * goes into the first bucket whose limit is greater; one more bucket has the times above all limits.
 */
export const LIMITS: readonly number[] = [
  20, 30, 45, 65, 100, 150, 225, 335, 500, 750, 1100, 1700, 2500, 3800, 5750, 8500, 13_000, 20_000, 30_000, 45_000,
  65_000, 100_000, 150_000, 225_000, 335_000,
]

/** The names of the buckets, as people see them: `20ms` … `335s`, `Slow`. */
export const LABELS: readonly string[] = [...LIMITS.map((ms) => (ms < 1000 ? `${ms}ms` : `${ms / 1000}s`)), 'Slow']

/** Returns the index of the bucket of a run time. */
export function bucketOf(ms: number): number {
  let bucket = 0
  // Most jobs are short.
  while (bucket < LIMITS.length && ms >= (LIMITS[bucket] as number)) bucket++
  return bucket
}

/**
 * Returns the time in seconds that this share (0 to 1) of the runs did not exceed, as if the runs of a bucket lay evenly
 * between its limits. In the last bucket, which has no upper limit, it is the lower one. Null without runs.
 */
export function percentile(counts: readonly number[], share: number): number | null {
  const total = counts.reduce((sum, count) => sum + count, 0)
  if (total === 0) return null
  let left = total * share
  for (const [bucket, count] of counts.entries()) {
    if (count === 0) continue
    const lower = bucket === 0 ? 0 : (LIMITS[bucket - 1] as number)
    if (left <= count) {
      const upper = LIMITS[bucket] ?? lower
      return (lower + (upper - lower) * (left / count)) / 1000
    }
    left -= count
  }
  return (LIMITS.at(-1) as number) / 1000
}
