import { describe, expect, test } from 'vitest'
import { Schedule } from '#dist/cron/schedule.js'
import { chance } from '../conformance/chance.js'
import { expectedTicks } from './oracle.ts'
import { OLD_ZONES, turningPoints, ZONES } from './zones.ts'

const HOUR = 3_600_000
const SEED = Number(process.env.HIGHKIQ_TEST_SEED ?? 20260517)
/** Specs for each change; more with HIGHKIQ_CRON_SPECS. */
const SPECS = Number(process.env.HIGHKIQ_CRON_SPECS ?? 6)

const random = chance(SEED)
const dice = (n: number) => Math.floor(random() * n)
const oneOf = <T>(...all: T[]): T => all[dice(all.length)] as T

function someSpec(): string {
  const minute = oneOf('0', '30', '*', `${dice(60)}`, `*/${oneOf(5, 7, 15, 20, 30)}`, `${dice(30)},${30 + dice(30)}`)
  const hour = oneOf('*', '0', '2', '23', `${dice(4)}`, `${dice(2)},${2 + dice(2)}`, '22-23', '1-3', `*/${1 + dice(5)}`)
  const day = oneOf('*', '*', '*', `${1 + dice(31)}`, '1-15', '*/2')
  const weekday = oneOf('*', '*', '*', '0', '1-5')
  return `${minute} ${hour} ${day} * ${weekday}`
}

/** As in the oracle's words, so that differences can be read. */
const isos = (ticks: number[]) => ticks.map((tick) => new Date(tick).toISOString())

describe.each(Object.entries({ ...ZONES, ...OLD_ZONES }))('%s in %i', (zone, year) => {
  test('every spec is due by the clock on the wall, also where the clock changes', { timeout: 300_000 }, () => {
    for (const point of turningPoints(zone, year)) {
      const [from, to] = [point - 14 * HOUR, point + 14 * HOUR]
      for (let n = 0; n < SPECS; n++) {
        const spec = someSpec()
        const expected = isos(expectedTicks(spec, zone, from, to))
        const schedule = new Schedule(spec, zone)
        expect(isos(schedule.ticks(from - 1, to, 10_000)), spec).toEqual(expected)
        expect(isos(schedule.ticks(from - 1, to, 5)), spec).toEqual(expected.slice(-5))
      }
    }
  })
})

test.for<[what: string, spec: string, zone: string, from: string, ticks: string[]]>([
  [
    'a time that is skipped runs when the clock has jumped',
    '30 2 * * *',
    'Europe/Berlin',
    '2025-03-29T12:00Z',
    ['30T01:00', '31T00:30'],
  ],
  [
    'times that are skipped together run once',
    '0,15,30 2 * * *',
    'Europe/Berlin',
    '2025-03-29T12:00Z',
    ['30T01:00', '31T00:00', '31T00:15'],
  ],
  [
    'a time that comes twice runs the first time',
    '30 2 * * *',
    'Europe/Berlin',
    '2025-10-25T12:00Z',
    ['26T00:30', '27T01:30'],
  ],
  [
    'every half hour stays that, back',
    '*/30 * * * *',
    'Europe/Berlin',
    '2025-10-26T00:15Z',
    ['26T00:30', '26T01:00', '26T01:30', '26T02:00'],
  ],
  [
    'every half hour stays that, forth',
    '*/30 * * * *',
    'Europe/Berlin',
    '2025-03-30T00:15Z',
    ['30T00:30', '30T01:00', '30T01:30'],
  ],
  [
    'a skipped hour of a repeating spec does not run',
    '*/30 2 * * *',
    'Europe/Berlin',
    '2025-03-29T12:00Z',
    ['31T00:00', '31T00:30'],
  ],
  ['by half an hour', '15 2 * * *', 'Australia/Lord_Howe', '2025-10-04T00:00Z', ['04T15:30', '05T15:15']],
  [
    'where the day ends with the skipped hour',
    '30 23 * * *',
    'America/Nuuk',
    '2025-03-29T12:00Z',
    ['30T01:00', '31T00:30'],
  ],
  ['a day that never was', '0 9 30 12 *', 'Pacific/Apia', '2011-12-01T00:00Z', ['30T10:00']],
])('%s', ([_, spec, zone, from, ticks]) => {
  const schedule = new Schedule(spec, zone)
  const found: number[] = []
  for (let at = Date.parse(from); found.length < ticks.length; at = found.at(-1) as number) {
    found.push(schedule.next(at) as number)
  }
  expect(isos(found).map((iso) => iso.slice(8, 16))).toEqual(ticks)
})

test('with seconds, by name, and on the last days of months', () => {
  const schedule = (spec: string) => new Schedule(spec, 'UTC')
  const next = (spec: string) =>
    new Date(schedule(spec).next(Date.parse('2026-05-17T12:00:00.500Z')) ?? 0).toISOString()
  expect(next('*/10 * * * * *')).toBe('2026-05-17T12:00:10.000Z')
  expect(next('30 0 9 * JAN-mar Mon')).toBe('2027-01-04T09:00:30.000Z')
  expect(next('0 0 L * *')).toBe('2026-05-31T00:00:00.000Z')
  expect(next('0 0 * * fri#2')).toBe('2026-06-12T00:00:00.000Z')
  expect(next('0 0 * * 5#L')).toBe('2026-05-29T00:00:00.000Z')
  for (const [name, spec] of Object.entries({
    '@hourly': '0 * * * *',
    '@daily': '0 0 * * *',
    '@midnight': '0 0 * * *',
    '@weekly': '0 0 * * 0',
    '@monthly': '0 0 1 * *',
    '@yearly': '0 0 1 1 *',
    ' @Annually ': '0 0 1 1 *',
  })) {
    expect(next(name)).toBe(next(spec))
  }
  // A name has the rule of its spec where the clock changes.
  const back = Date.parse('2025-10-25T22:30Z')
  expect(new Schedule('@hourly', 'Europe/Berlin').ticks(back, back + 4 * 3_600_000, 9)).toHaveLength(4)
  expect(
    new Schedule('@daily', 'Africa/Cairo').ticks(Date.parse('2025-04-24T12:00Z'), Date.parse('2025-04-25T12:00Z'), 9),
  ).toEqual([Date.parse('2025-04-24T22:00Z')])
})

test('@every has its ticks at the multiples of its interval, through a change of the clock', () => {
  const schedule = new Schedule('@every 1h 30m', 'Europe/Berlin')
  const [from, interval] = [Date.parse('2025-03-29T20:00Z'), 5_400_000]
  const ticks = schedule.ticks(from, from + 86_400_000, 99)
  expect(ticks).toHaveLength(16)
  expect(
    ticks.every((tick, i) => tick % interval === 0 && tick - from > 0 && tick === (ticks[0] ?? 0) + i * interval),
  ).toBe(true)
  expect(schedule.next(ticks[0] as number)).toBe(ticks[1])
  expect(schedule.ticks(0, from, 3)).toEqual(new Schedule('@every 90m', 'UTC').ticks(from - 3 * interval, from, 3))
})
