import { expect, test } from 'vitest'
import { causeOf } from './cause.ts'

const text = (errorMessage: string | null, errorClass: string | null = 'TypeError') =>
  causeOf({ errorClass, errorMessage })?.text

test('a cause leaves out the parts that differ from job to job and keeps the others', () => {
  expect(text('HTTP 404 from port 5432 in 12.5 s')).toBe('TypeError: HTTP 404 from port 5432 in 12.5 s')
  expect(text('order 99999')).toBe('TypeError: order 99999')
  expect(text('order 100000 of 1234567')).toBe('TypeError: order … of …')
  expect(text('took 1,234,567 ms')).toBe('TypeError: took … ms')
  expect(text('connect ECONNREFUSED 10.0.0.7:6379')).toBe('TypeError: connect ECONNREFUSED …:6379')
  expect(text('at 2026-11-22T14:50:43.123Z, 2026-11-22 or 0x1f')).toBe('TypeError: at …, … or …')
  expect(text('no 0f3a6c1e-9b2d-4857-8a6b-0f3a6c1e9b2d, no 0f3a6c1e9b2d4857')).toBe('TypeError: no …, no …')
  expect(text('decade, facade')).toBe('TypeError: decade, facade')
})

test('the class is unchanged, and class or message may be missing', () => {
  expect(text('no 1234567', 'Error1234567')).toBe('Error1234567: no …')
  expect(text(null)).toBe('TypeError')
  expect(text('broke', null)).toBe('broke')
  expect(text(null, null)).toBe(undefined)
  expect(text(`${'x'.repeat(299)}${'7'.repeat(5000)}`)).toBe(`TypeError: ${'x'.repeat(299)}…`)
})
