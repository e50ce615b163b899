import { expect, test } from 'vitest'
import { QueueGrowth } from './queue-growth.ts'

const MINUTE = 60_000

function grown(sizes: readonly number[], stepMs = 10_000): QueueGrowth {
  const growth = new QueueGrowth()
  for (const [i, size] of sizes.entries()) growth.add(i * stepMs, [{ name: 'q', size }])
  return growth
}

test('growth counts the minutes that each ended with a larger queue', () => {
  const steps = Array.from({ length: 61 }, (_, i) => i)
  expect(grown(steps).of('q')).toEqual({ perMinute: 6, minutes: 10 })
  // It may shrink within a minute.
  expect(grown(steps.map((i) => i + (i % 6 === 3 ? 20 : 0))).of('q')).toEqual({ perMinute: 6, minutes: 10 })
  expect(grown(steps.map(() => 5)).of('q')).toEqual({ perMinute: 0, minutes: 0 })
  expect(grown(steps.map((i) => 100 - i)).of('q')).toEqual({ perMinute: 0, minutes: 0 })
  expect(grown(steps.map((i) => Math.max(i, 30))).of('q')).toEqual({ perMinute: 6, minutes: 5 })
  expect(grown(steps).of('other')).toEqual({ perMinute: 0, minutes: 0 })
})

test('growth is unknown for minutes without samples, and for more than an hour', () => {
  const growth = grown([0, 10, 20], MINUTE)
  growth.add(6 * MINUTE, [{ name: 'q', size: 60 }])
  growth.add(7 * MINUTE, [{ name: 'q', size: 70 }])
  expect(growth.of('q')).toEqual({ perMinute: 10, minutes: 1 })
  const sizes = Array.from({ length: 100 }, (_, i) => i)
  expect(grown(sizes, MINUTE).of('q')).toEqual({ perMinute: 1, minutes: 60 })
})

test('when the clock is set back, the growth counts from then on', () => {
  const growth = grown(Array.from({ length: 61 }, (_, i) => i))
  for (let i = 0; i <= 12; i++) growth.add(i * 10_000 - 60 * MINUTE, [{ name: 'q', size: 60 - i }])
  expect(growth.of('q')).toEqual({ perMinute: 0, minutes: 0 })
  expect(growth.isKnown(-58 * MINUTE, 2)).toBe(true)
  expect(growth.isKnown(-58 * MINUTE, 5)).toBe(false)
  expect(growth.isKnown(5 * MINUTE, 1)).toBe(false)
})
