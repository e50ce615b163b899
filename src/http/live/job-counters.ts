/**
 * Counters of the runs of each class, and of the waits in each queue, since the first scrape of this server. They only grow,
 * as Prometheus expects.
 */

import type { Highkiq } from '../../app.ts'
import { LABELS } from '../../metrics/collector.ts'

const MINUTE = 60_000
/** How long after its end a minute is complete, since processes flush their metrics late. */
const FLUSH_MS = 15_000
/** The number of minutes that the store keeps. */
const MOST_MINUTES = 480
/** The most classes with counters of their own. */
const MOST_CLASSES = 1000
const OTHERS = '(others)'
/** The most classes with a histogram of run times, and queues with one of waits: each has 28 series. */
const MOST_HISTOGRAMS = 100

export interface JobCounts {
  processed: number
  failed: number
  seconds: number
}

/** A histogram of times: counts by bucket, and their sum. */
export interface Times {
  counts: number[]
  seconds: number
}

export interface Counters {
  jobs: ReadonlyMap<string, JobCounts>
  /** Run times by class. */
  runs: ReadonlyMap<string, Times>
  /** Waits by queue. */
  waits: ReadonlyMap<string, Times>
}

export class JobCounters {
  readonly #hq: Highkiq
  readonly #jobs = new Map<string, JobCounts>()
  readonly #runs = new Map<string, Times>()
  readonly #waits = new Map<string, Times>()
  /** The start of the first counted minute. */
  #first = Number.POSITIVE_INFINITY
  /** The end of the counted minutes. */
  #upTo: number | undefined
  /** The newest counted minutes that had jobs. They are not counted again after the clock was set back. */
  readonly #counted = new Set<number>()
  #counting = Promise.resolve()

  constructor(hq: Highkiq) {
    this.#hq = hq
  }

  /** Counts the runs by class, and the waits by queue, up to now. */
  async read(): Promise<Counters> {
    const count = () => this.#count()
    this.#counting = this.#counting.then(count, count)
    await this.#counting
    return { jobs: this.#jobs, runs: this.#runs, waits: this.#waits }
  }

  async #count(): Promise<void> {
    const { metrics } = this.#hq.store
    const flushed = this.#hq.now() - FLUSH_MS
    const end = flushed - (flushed % MINUTE)
    const minutes = this.#minutesUntil(end)
    // Everything is read before anything is counted, so that a failed read counts nothing twice.
    const sums = minutes.length > 0 ? await metrics.sums(1, minutes) : []
    const waited = minutes.length > 0 ? await metrics.waits(minutes) : []
    const timed = sums.filter(({ processed, failed }) => processed > failed)
    const wanted = this.#withHistogram(timed.map(({ name }) => name))
    const histograms = await metrics.histograms(
      1,
      Array.from(wanted, (name) => ({ name, times: minutes })),
    )
    for (const one of sums) this.#countJobs(one)
    for (const { name, ms } of timed) if (wanted.has(name)) add(this.#runs, name, [], ms)
    for (const { name, counts } of histograms) add(this.#runs, name, counts, 0)
    for (const { queue, histogram, ms } of waited) {
      const isKnown = this.#waits.has(queue) || this.#waits.size < MOST_HISTOGRAMS
      add(this.#waits, isKnown ? queue : OTHERS, histogram, ms)
    }
    for (const { at } of [...sums, ...waited]) this.#counted.add(at)
    for (const oldest of this.#counted) {
      if (this.#counted.size <= 2 * MOST_MINUTES) break
      this.#counted.delete(oldest)
    }
    this.#upTo = end
  }

  /** Returns the starts of the minutes that are not counted yet. */
  #minutesUntil(end: number): number[] {
    this.#first = Math.min(this.#first, end - MINUTE)
    const isSetBack = this.#upTo !== undefined && this.#upTo > end
    const from = Math.max(isSetBack ? this.#first : (this.#upTo ?? this.#first), end - MOST_MINUTES * MINUTE)
    const minutes = Array.from({ length: (end - from) / MINUTE }, (_, i) => from + i * MINUTE)
    return minutes.filter((minute) => !this.#counted.has(minute))
  }

  /** Returns those of the classes that have a histogram or get one. */
  #withHistogram(names: readonly string[]): Set<string> {
    let room = MOST_HISTOGRAMS - this.#runs.size
    return new Set([...new Set(names)].filter((name) => this.#runs.has(name) || room-- > 0))
  }

  #countJobs({ name, processed, failed, ms }: { name: string; processed: number; failed: number; ms: number }): void {
    const key = this.#jobs.has(name) || this.#jobs.size < MOST_CLASSES ? name : OTHERS
    const known = this.#jobs.get(key) ?? { processed: 0, failed: 0, seconds: 0 }
    this.#jobs.set(key, {
      processed: known.processed + processed,
      failed: known.failed + failed,
      seconds: known.seconds + ms / 1000,
    })
  }
}

function add(all: Map<string, Times>, name: string, counts: readonly number[], ms: number): void {
  const times = all.get(name) ?? { counts: Array<number>(LABELS.length).fill(0), seconds: 0 }
  for (const [bucket, count] of counts.entries()) times.counts[bucket] = (times.counts[bucket] ?? 0) + count
  all.set(name, { counts: times.counts, seconds: times.seconds + ms / 1000 })
}
