import { expect, test } from 'vitest'
import { StatsHistory } from './stats-history.ts'

const at = (seconds: number, processed: number, failed = 0) => ({ at: seconds * 1000, processed, failed })

function ring(...samples: ReturnType<typeof at>[]): StatsHistory {
  const one = new StatsHistory()
  for (const sample of samples) one.add(sample)
  return one
}

test('samples closer than ten seconds replace each other', () => {
  const one = ring(at(0, 0), at(4, 70), at(8, 80), at(10, 100))
  expect(one.between(0, 5000)).toEqual({ finished: 50, failed: 0 })
})

test('between returns counts only for a span without gaps', () => {
  const one = ring(at(0, 0), at(10, 100, 20), at(20, 200, 20), at(30, 300, 20))
  expect(one.between(0, 30_000)).toEqual({ finished: 280, failed: 20 })
  expect(one.between(5000, 15_000)).toEqual({ finished: 90, failed: 10 })
  expect(one.between(-10_000, 10_000)).toBeUndefined()
  expect(one.between(20_000, 40_000)).toBeUndefined()
  one.add(at(32, 320, 20))
  expect(one.between(20_000, 32_000)).toEqual({ finished: 120, failed: 0 })
  one.add(at(132, 400, 20))
  expect(one.between(20_000, 132_000)).toBeUndefined()
  expect(one.between(0, 30_000)).toEqual({ finished: 280, failed: 20 })
})

test('rates cover the last ten seconds, or the known part of them', () => {
  expect(ring().rates()).toEqual({ finished: 0, failed: 0 })
  expect(ring(at(0, 50)).rates()).toEqual({ finished: 0, failed: 0 })
  expect(ring(at(0, 50), at(2, 60, 2)).rates()).toEqual({ finished: 4, failed: 1 })
  expect(ring(at(0, 0), at(10, 1000), at(20, 1050), at(22, 1120)).rates().finished).toBe(10)
  // A gap of an hour gives no rate.
  expect(ring(at(0, 0), at(3600, 36_000)).rates()).toEqual({ finished: 0, failed: 0 })
})

test('reset totals do not become negative rates', () => {
  const one = ring(at(0, 1000, 10), at(10, 5, 0))
  expect(one.rates()).toEqual({ finished: 0, failed: 0 })
  expect(one.between(0, 10_000)).toEqual({ finished: 0, failed: 0 })
})

test('the history begins again after the clock was set back', () => {
  const before = [at(0, 0), at(10, 1000), at(3600, 36_000), at(3610, 36_100)]
  expect(ring(...before, at(8, 36_110), at(18, 36_210)).rates().finished).toBe(10)
})

test('the history keeps one hour', () => {
  const one = ring(...Array.from({ length: 1000 }, (_, i) => at(i * 10, i)))
  expect(one.between(6_380_000, 6_400_000)).toBeUndefined()
  expect(one.between(6_390_000, 6_400_000)).toEqual({ finished: 1, failed: 0 })
})
