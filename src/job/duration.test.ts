import { expect, test } from 'vitest'
import { type Duration, dueAt, seconds } from './duration.ts'

test.each<[number | Duration, number]>([
  [300, 300],
  [0.5, 0.5],
  [-5, -5],
  ['90s', 90],
  ['5m', 300],
  ['2h', 7200],
  ['1d', 86_400],
  ['1w', 604_800],
  ['1h 30m', 5400],
  ['1h30m', 5400],
  ['1.5h', 5400],
  ['  10 m ', 600],
  ['5M', 300],
  ['1d 1h 1m 1s', 90_061],
  [{ minutes: 5 }, 300],
  [{ days: 1, hours: 2, minutes: 3, seconds: 4 }, 93_784],
  [{ seconds: 0.25 }, 0.25],
  ['365000d', 31_536_000_000],
])('%o is %d s', (duration, expected) => {
  expect(seconds(duration)).toBe(expected)
})

const texts = ['', 'm', '5', '5x', '5m later', '-5m', '5m,3s', '1e3s']
const objects = [{ minuts: 5 }, { minutes: Number.NaN }, { minutes: '5' }, { minutes: undefined }, {}]
const lists = [[5], [], new Map([['minutes', 5]])]
const long = [1e308, 365_000 * 86_400 + 1, '365001d', { days: 365_001 }]
const others = [Number.NaN, Number.POSITIVE_INFINITY, null, undefined, true, 5n]

test.each([...texts, ...objects, ...lists, ...long, ...others])(
  '%o is refused, and the message says what to use',
  (duration) => {
    expect(() => seconds(duration as never)).toThrow(
      expect.objectContaining({ code: 'INVALID_OPTION', message: expect.stringContaining("'5m'") }),
    )
  },
)

const NOW = 1_700_000_000_000

test('a number below 1e9 counts from now, from 1e9 on it is an epoch second', () => {
  expect(dueAt(999_999_999, NOW)).toBe(1_700_000_000 + 999_999_999)
  expect(dueAt(1_000_000_000, NOW)).toBe(1_000_000_000)
  expect(dueAt(-1, NOW)).toBe(1_699_999_999)
  expect(dueAt(0, NOW)).toBe(1_700_000_000)
})

test('durations count from now, and Dates keep their milliseconds', () => {
  expect(dueAt('5m', NOW + 1)).toBe(1_700_000_300.001)
  expect(dueAt({ hours: 1 }, NOW)).toBe(1_700_003_600)
  expect(dueAt(new Date(NOW + 250), 0)).toBe(1_700_000_000.25)
})

test.each([new Date('never'), Number.NaN, null, undefined])('%o is not a time', (when) => {
  expect(() => dueAt(when as never, NOW)).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }))
})

test('a number of milliseconds is refused with a hint; a Date may be that far ahead', () => {
  for (const when of [1e11, NOW, 8.64e15]) {
    expect(() => dueAt(when, NOW)).toThrow(/looks like milliseconds: divide it by 1000, or give a Date/)
  }
  expect(dueAt(99_999_999_999, NOW)).toBe(99_999_999_999)
  expect(dueAt(new Date(2e14), NOW)).toBe(2e11)
})
