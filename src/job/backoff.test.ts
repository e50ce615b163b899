import { expect, test } from 'vitest'
import { backoff, jitter } from './backoff.ts'

test('the delays grow as Sidekiq’s do: about twenty days over 25 retries', () => {
  const delays = Array.from({ length: 25 }, (_, count) => backoff(count))
  expect(delays.slice(0, 6)).toEqual([15, 16, 31, 96, 271, 640])
  expect(delays.reduce((sum, delay) => sum + delay)).toBe(1_763_395)
})

test('jitter is a whole number of seconds below ten for each failure', () => {
  expect(jitter(0, () => 0)).toBe(0)
  expect(jitter(0, () => 0.999)).toBe(9)
  expect(jitter(4, () => 0.999)).toBe(49)
  expect(jitter(4, () => 0.55)).toBe(27)
})
