import { expect, test } from 'vitest'
import { isQuiet, type QuietHours } from './quiet-hours.ts'

const night = { from: '22:00', to: '07:00' }
const weekend: QuietHours = { from: '00:00', to: '24:00', days: ['sat', 'sun'] }

test.each<[QuietHours, zone: string, at: string, quiet: boolean]>([
  [night, 'UTC', '2026-05-18T21:59:59Z', false],
  [night, 'UTC', '2026-05-18T22:00:00Z', true],
  [night, 'UTC', '2026-05-19T00:00:00Z', true],
  [night, 'UTC', '2026-05-19T06:59:59Z', true],
  [night, 'UTC', '2026-05-19T07:00:00Z', false],
  [{ from: '12:00', to: '13:30' }, 'UTC', '2026-05-19T13:29:00Z', true],
  [{ from: '12:00', to: '13:30' }, 'UTC', '2026-05-19T13:30:00Z', false],
  // Saturday in Auckland is Friday in UTC.
  [weekend, 'Pacific/Auckland', '2026-05-22T11:59:00Z', false],
  [weekend, 'Pacific/Auckland', '2026-05-22T12:00:00Z', true],
  [weekend, 'UTC', '2026-05-24T23:59:00Z', true],
  [weekend, 'UTC', '2026-05-25T00:00:00Z', false],
  // A span that begins on a Friday ends on Saturday.
  [{ ...night, days: ['fri'] }, 'UTC', '2026-05-23T06:00:00Z', true],
  [{ ...night, days: ['fri'] }, 'UTC', '2026-05-22T06:00:00Z', false],
  [{ ...night, days: ['fri'] }, 'UTC', '2026-05-23T22:30:00Z', false],
  // In Berlin the clock is set from 02:00 to 03:00 on 29 March, and back on 25 October.
  [{ from: '01:00', to: '03:00' }, 'Europe/Berlin', '2026-03-29T00:59:00Z', true],
  [{ from: '01:00', to: '03:00' }, 'Europe/Berlin', '2026-03-29T01:00:00Z', false],
  [night, 'Europe/Berlin', '2026-03-29T05:00:00Z', false],
  [night, 'Europe/Berlin', '2026-03-28T05:00:00Z', true],
  [{ from: '02:30', to: '03:00' }, 'Europe/Berlin', '2026-10-25T00:45:00Z', true],
  [{ from: '02:30', to: '03:00' }, 'Europe/Berlin', '2026-10-25T01:45:00Z', true],
])('%j in %s contains %s: %s', (span, zone, at, quiet) => {
  expect(isQuiet([span], zone, Date.parse(at))).toBe(quiet)
})

test('without spans, and outside of all, it is not quiet', () => {
  expect(isQuiet([], 'UTC', 0)).toBe(false)
  expect(isQuiet([weekend, night], 'UTC', Date.parse('2026-05-18T12:00:00Z'))).toBe(false)
  expect(isQuiet([weekend, night], 'UTC', Date.parse('2026-05-18T23:00:00Z'))).toBe(true)
})
