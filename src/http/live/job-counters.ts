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

/** Returns a function that counts the runs by class, and the waits by queue, up to now. */
export function jobCounters(hq: Highkiq): () => Promise<Counters> {
  const all = new Map<string, JobCounts>()
  const runs = new Map<string, Times>()
  const waits = new Map<string, Times>()
  /** The start of the first counted minute. */
  let first = Number.POSITIVE_INFINITY
  /** The end of the counted minutes. */
  let upTo: number | undefined
  /** The newest counted minutes that had jobs. They are not counted again after the clock was set back. */
  const counted = new Set<number>()
  let counting = Promise.resolve()
  const count = async () => {
    const flushed = hq.now() - FLUSH_MS
    const end = flushed - (flushed % MINUTE)
    first = Math.min(first, end - MINUTE)
    const isSetBack = upTo !== undefined && upTo > end
    const from = Math.max(isSetBack ? first : (upTo ?? first), end - MOST_MINUTES * MINUTE)
    const minutes = Array.from({ length: (end - from) / MINUTE }, (_, i) => from + i * MINUTE).filter(
      (minute) => !counted.has(minute),
    )
    // Everything is read before anything is counted, so that a failed read counts nothing twice.
    const sums = minutes.length > 0 ? await hq.store.metrics.sums(1, minutes) : []
    const waited = minutes.length > 0 ? await hq.store.metrics.waits(minutes) : []
    const timed = sums.filter(({ processed, failed }) => processed > failed)
    let room = MOST_HISTOGRAMS - runs.size
    const wanted = [...new Set(timed.map(({ name }) => name))].filter((name) => runs.has(name) || room-- > 0)
    const histograms = await hq.store.metrics.histograms(
      1,
      wanted.map((name) => ({ name, times: minutes })),
    )
    for (const { name, processed, failed, ms } of sums) {
      const key = all.has(name) || all.size < MOST_CLASSES ? name : OTHERS
      const { processed: p, failed: f, seconds } = all.get(key) ?? { processed: 0, failed: 0, seconds: 0 }
      all.set(key, { processed: p + processed, failed: f + failed, seconds: seconds + ms / 1000 })
    }
    const isWanted = new Set(wanted)
    for (const { name, ms } of timed) if (isWanted.has(name)) add(runs, name, [], ms)
    for (const { name, counts } of histograms) add(runs, name, counts, 0)
    for (const { queue, histogram, ms } of waited) {
      const isKnown = waits.has(queue) || waits.size < MOST_HISTOGRAMS
      add(waits, isKnown ? queue : OTHERS, histogram, ms)
    }
    for (const { at } of [...sums, ...waited]) counted.add(at)
    for (const oldest of counted) {
      if (counted.size <= 2 * MOST_MINUTES) break
      counted.delete(oldest)
    }
    upTo = end
  }
  return async () => {
    counting = counting.then(count, count)
    await counting
    return { jobs: all, runs, waits }
  }
}

function add(all: Map<string, Times>, name: string, counts: readonly number[], ms: number): void {
  const times = all.get(name) ?? { counts: Array<number>(LABELS.length).fill(0), seconds: 0 }
  for (const [bucket, count] of counts.entries()) times.counts[bucket] = (times.counts[bucket] ?? 0) + count
  all.set(name, { counts: times.counts, seconds: times.seconds + ms / 1000 })
}
