/**
 * Seconds until the next attempt, as Sidekiq counts: count⁴ + 15 (15, 16, 31, 96, 271, … about 20 days over 25 retries).
 * `count` is 0 after the first failure.
 */
export function backoff(count: number): number {
  return count ** 4 + 15
}

/** Whole seconds from 0 to 10·(count + 1) − 1, also added to delays of one's own, so that failures spread. */
export function jitter(count: number, random: () => number): number {
  return Math.floor(random() * 10 * (count + 1))
}
