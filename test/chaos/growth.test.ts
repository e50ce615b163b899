import { expect, test } from 'vitest'
import { type Growth, growthsOf, slopeOf, textOf } from './harness/growth.ts'

/** Samples of an hour, one each half minute, of one figure. */
function growthOf(valueAt: (seconds: number) => number, name = 'heap', unit: Growth['unit'] = 'megabytes'): Growth {
  const none = { megabytes: {}, rows: {}, handles: {} }
  const samples = Array.from({ length: 121 }, (_, i) => i * 30).map((at) => ({
    at,
    figures: { ...none, [unit]: { [name]: valueAt(at) } },
  }))
  return growthsOf(samples)[0] as Growth
}

/** A sawtooth, as of a table whose old rows are deleted every five minutes. */
const saw = (at: number) => (at % 300) / 300

test('the slope of a line is the median of all pairs, which a few outliers do not change', () => {
  const line = Array.from({ length: 20 }, (_, x) => [x, 5 + 2 * x] as const)
  expect(slopeOf(line)).toBe(2)
  expect(slopeOf(line.map(([x, y]) => [x, x % 7 === 3 ? 1000 : y]))).toBe(2)
  expect(slopeOf([[0, 1]])).toBe(0)
})

test('a figure that grows by more than a tenth of its level grows, also under noise', () => {
  expect(growthOf((at) => 20 + at / 600 + saw(at))).toMatchObject({ verdict: 'grows', unit: 'megabytes' })
  expect(growthOf((at) => 20 + at / 600).slope).toBeCloseTo(6)
  expect(growthOf((at) => 20 + at / 600)).toMatchObject({ start: expect.closeTo(22), end: expect.closeTo(26) })
  expect(growthOf((at) => 10 + at / 500, 'connections', 'handles').verdict).toBe('grows')
})

test('a figure is flat when it only warms up, swings, falls, or grows by a small part of its level or by little', () => {
  const flat = (valueAt: (at: number) => number, unit?: Growth['unit']) =>
    expect(growthOf(valueAt, 'figure', unit).verdict).toBe('flat')
  flat((at) => 20 + Math.min(at, 1200) / 10)
  flat((at) => 20 + 10 * saw(at))
  flat((at) => 100 - at / 100)
  flat((at) => 100 + at / 600)
  flat((at) => 1 + at / 3600)
  flat((at) => at / 100, 'rows')
  flat((at) => (at < 2000 ? 4 : 6), 'handles')
})

test('statistics, which are kept for hours, are shown without a verdict', () => {
  const growth = growthOf((at) => at, 'hk_metric', 'rows')
  expect(growth.verdict).toBe('hours')
  expect(textOf([growth, { ...growth, name: 'tasks', verdict: 'grows' }])).toMatch(
    /^figure.*\ntasks .*3600 +grows\nhk_metric .*hours$/,
  )
})
