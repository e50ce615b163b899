import { expect, test } from 'vitest'
import { eventsAfter } from './job-events.ts'

test('a missing event is found wherever it was, and a part of a step can be read', () => {
  const numbers = (...of: Parameters<typeof eventsAfter>) => eventsAfter(...of)?.map(({ number }) => number) ?? null
  expect(
    numbers(
      4,
      [
        [5, ['a']],
        [7, ['b', 'c']],
      ],
      7,
    ),
  ).toEqual([5, 6, 7])
  expect(numbers(6, [[7, ['b', 'c']]], 7)).toEqual([7])
  expect(numbers(7, [], 7)).toEqual([])
  expect(numbers(3, [[5, ['a']]], 5)).toBe(null)
  expect(
    numbers(
      4,
      [
        [5, ['a']],
        [7, ['c']],
      ],
      7,
    ),
  ).toBe(null)
  expect(numbers(4, [], 7)).toBe(null)
})
