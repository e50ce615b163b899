import { expect, test } from 'vitest'
import { eventsAfter } from './job-events.ts'

test('a missing event is found wherever it was, and a part of a step can be read', () => {
  const numbers = (...of: Parameters<typeof eventsAfter>) => eventsAfter(...of)?.map(({ number }) => number) ?? null
  expect(
    numbers(
      4,
      [
        [5, [['a']]],
        [7, [['b'], ['c']]],
      ],
      7,
    ),
  ).toEqual([5, 6, 7])
  expect(numbers(6, [[7, [['b'], ['c']]]], 7)).toEqual([7])
  expect(numbers(7, [], 7)).toEqual([])
  expect(numbers(3, [[5, [['a']]]], 5)).toBe(null)
  expect(
    numbers(
      4,
      [
        [5, [['a']]],
        [7, [['c']]],
      ],
      7,
    ),
  ).toBe(null)
  expect(numbers(4, [], 7)).toBe(null)
})

test('the event before must be the one that was read, and the first event of a recording is never read', () => {
  const entries: Parameters<typeof eventsAfter>[1] = [
    [4, ['random']],
    [6, [['a'], ['b']]],
  ]
  const isA = (event: unknown) => Array.isArray(event) && event[0] === 'a'
  expect(eventsAfter(5, entries, 6, isA)).toEqual([{ number: 6, event: ['b'] }])
  expect(eventsAfter(6, entries, 6, isA)).toBe(null)
  expect(eventsAfter(4, entries, 6, (event) => event === 'random')).toHaveLength(2)
  expect(eventsAfter(3, entries, 6)).toBe(null)
})
