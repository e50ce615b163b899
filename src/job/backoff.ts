/** The delay before a failed job runs again. */

import { type Duration, seconds } from './duration.ts'
import { isObject } from './json.ts'
import type { OptionRule } from './options.ts'

/** A delay: seconds, `'5m'` or `{ minutes: 5 }`; with `jitter`, Sidekiq's random part is added. */
export type RetryDelay = number | Duration | (Exclude<Duration, string> & { jitter?: boolean })

export const DELAY_WORDS = "a number of seconds, 0 or more, or a duration such as '5m' or { minutes: 5, jitter: true }"

/** Reads a delay from an option or a handler; undefined when the value is not a delay. */
export function delayOf(value: unknown): { seconds: number; jitter: boolean } | undefined {
  const { jitter = false, ...units } = isObject(value) ? value : {}
  if (typeof jitter !== 'boolean' || (isObject(value) && Object.keys(units).length === 0)) return undefined
  try {
    const sum = seconds(isObject(value) ? units : (value as number | Duration))
    return sum >= 0 ? { seconds: sum, jitter } : undefined
  } catch {
    return undefined
  }
}

/** The option `retryIn` of a job and of an ordered queue. */
export const RETRY_IN: OptionRule = [
  (value) => typeof value === 'function' || delayOf(value) !== undefined,
  `${DELAY_WORDS}, or a function that answers one`,
]

/**
 * Seconds until the next attempt, as Sidekiq counts: count⁴ + 15 (15, 16, 31, 96, 271, … about 20 days over 25 retries).
 * `count` is 0 after the first failure.
 */
export function backoff(count: number): number {
  return count ** 4 + 15
}

/**
 * Returns whole seconds from 0 to 10·(count + 1) − 1, which spread retries in time. Returns 0 when `random` does not
 * return a number from 0 to 1.
 */
export function jitter(count: number, random: () => number): number {
  const part = random()
  return part >= 0 && part <= 1 ? Math.floor(part * 10 * (count + 1)) : 0
}
