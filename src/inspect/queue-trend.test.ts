import { expect, test } from 'vitest'
import { QueueTrends } from './queue-trend.ts'

function seen(...samples: [at: number, size: number][]): QueueTrends {
  const trends = new QueueTrends()
  for (const [at, size] of samples) trends.add(at, size > 0 ? [{ name: 'mail', size }] : [])
  return trends
}

test('a queue that grows, shrinks, is emptied, or stays as it is', () => {
  expect(seen([0, 100], [10_000, 120]).of('mail')).toEqual({ perMinute: 120, emptyIn: null })
  expect(seen([0, 120], [10_000, 100]).of('mail')).toEqual({ perMinute: -120, emptyIn: 50 })
  expect(seen([0, 0], [10_000, 5]).of('mail')).toEqual({ perMinute: 30, emptyIn: null })
  expect(seen([0, 5], [10_000, 0]).of('mail')).toEqual({ perMinute: -30, emptyIn: 0 })
  expect(seen([0, 5], [10_000, 5]).of('mail')).toEqual({ perMinute: 0, emptyIn: null })
  expect(seen([0, 5], [10_000, 5]).of('other')).toEqual({ perMinute: 0, emptyIn: null })
})

test('the trend is that of the last minute, and unknown before two samples', () => {
  expect(seen().of('mail')).toBe(null)
  expect(seen([0, 5]).of('mail')).toBe(null)
  expect(seen([0, 9000], [30_000, 100], [90_000, 40]).of('mail')).toEqual({ perMinute: -60, emptyIn: 40 })
  expect(seen([0, 9000], [90_000, 40]).of('mail')).toBe(null)
  // The clock was set back.
  expect(seen([50_000, 9000], [10_000, 40]).of('mail')).toBe(null)
})
