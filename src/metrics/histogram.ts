/** Run times, counted in 26 buckets: Sidekiq's, so that its pages show ours and ours show its. */

/**
 * Upper limits in milliseconds; a time goes to the first bucket whose limit is greater than it, and what no limit
 * is greater than into one more.
 */
export const LIMITS: readonly number[] = [
  20, 30, 45, 65, 100, 150, 225, 335, 500, 750, 1100, 1700, 2500, 3800, 5750, 8500, 13_000, 20_000, 30_000, 45_000,
  65_000, 100_000, 150_000, 225_000, 335_000,
]

/** What people call the buckets: `20ms` … `335s`, `Slow`. */
export const LABELS: readonly string[] = [...LIMITS.map((ms) => (ms < 1000 ? `${ms}ms` : `${ms / 1000}s`)), 'Slow']

export function bucketOf(ms: number): number {
  let bucket = 0
  // Most jobs are short.
  while (bucket < LIMITS.length && ms >= (LIMITS[bucket] as number)) bucket++
  return bucket
}

/**
 * The time in seconds below which this share (0 to 1) of the runs stayed, as if the runs of a bucket lay evenly between
 * its limits; in the last bucket its lower limit, for it has no other. Null without runs.
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
