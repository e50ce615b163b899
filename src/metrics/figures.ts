/** The figures of the ended runs of a class, from what the store keeps. */

import type { AppPort } from '../app/port.ts'
import { HISTOGRAM_BUCKETS, type JobSums, type MetricStore } from '../store/contract.ts'
import { percentile } from './collector.ts'

/** The ended runs of a class. */
export interface JobFigures {
  name: string
  /** The number of runs that ended, failed or not. */
  processed: number
  failed: number
  success: number
  /** Run time of all successful runs together, in seconds. */
  seconds: number
  /** Average run time of a successful run, in seconds; 0 when there is none. */
  average: number
}

/** The run times in seconds below which 50, 95 and 99 percent of the successful runs stayed. */
export interface Percentiles {
  /**
   * The median run time, estimated from the histogram as if times were spread evenly within a bucket. Null without a
   * successful run. `p95` and `p99` are estimated in the same way.
   */
  p50: number | null
  p95: number | null
  p99: number | null
}

export const NONE: readonly number[] = new Array<number>(HISTOGRAM_BUCKETS).fill(0)

/** Returns the sum of histograms. */
export function total(histograms: readonly { counts: readonly number[] }[]): number[] {
  return NONE.map((_, bucket) => histograms.reduce((sum, { counts }) => sum + (counts[bucket] ?? 0), 0))
}

export function percentilesOf(counts: readonly number[]): Percentiles {
  return { p50: percentile(counts, 0.5), p95: percentile(counts, 0.95), p99: percentile(counts, 0.99) }
}

export function byName<T extends { name: string }>(items: readonly T[]): Map<string, T[]> {
  const all = new Map<string, T[]>()
  for (const item of items) {
    const some = all.get(item.name)
    if (some) some.push(item)
    else all.set(item.name, [item])
  }
  return all
}

/** Reads the run times of classes at their times. A class without a successful run has none. */
export async function percentilesAt(
  { store }: Pick<AppPort, 'store'>,
  ...asked: Parameters<MetricStore['histograms']>
): Promise<Map<string, Percentiles>> {
  const found = byName(await store.metrics.histograms(...asked))
  return new Map([...found].map(([name, histograms]) => [name, percentilesOf(total(histograms))]))
}

export function figuresOf(name: string, sums: readonly JobSums[]): JobFigures {
  const sum = (what: 'processed' | 'failed' | 'ms') => sums.reduce((total, one) => total + one[what], 0)
  const [processed, failed, ms] = [sum('processed'), sum('failed'), sum('ms')]
  const success = processed - failed
  return { name, processed, failed, success, seconds: ms / 1000, average: success > 0 ? ms / 1000 / success : 0 }
}
