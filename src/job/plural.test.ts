import { expect, test } from 'vitest'
import { count, plural } from './plural.ts'

test.each([0, 7, 999, 1000, 123_456, 1_234_567, -4321, 10_000.125])('%d is written with separators', (n) => {
  expect(count(n)).toBe(n.toLocaleString('en'))
})

test('one row, two rows', () => {
  const texts = [plural(1, 'row'), plural(2000, 'row'), plural(2, 'entry', 'entries')]
  expect(texts).toEqual(['1 row', '2,000 rows', '2 entries'])
})
