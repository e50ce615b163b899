import { expect, test } from 'vitest'
import { isLate } from './late.ts'

const at = (seconds: number) => new Date(1_800_000_000_000 + seconds * 1000).toISOString()

test('figures that are older than those shown come too late, unless the clock of the server was set back', () => {
  expect(isLate(at(0), undefined)).toBe(false)
  expect(isLate(at(0), at(2))).toBe(true)
  expect(isLate(at(2), at(2))).toBe(false)
  expect(isLate(at(4), at(2))).toBe(false)
  expect(isLate(at(0), at(3600))).toBe(false)
})
