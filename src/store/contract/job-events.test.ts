import { expect, test } from 'vitest'
import { type EventEntry, eventsAfter, packEvents } from './job-events.ts'

const A = [1, 'a', [1]]
const B = [1, 'b', [1]]
const C = [1, 'c', [1]]

test('a missing event is found wherever it was, and a part of a step can be read', () => {
  const numbers = (...of: Parameters<typeof eventsAfter>) => eventsAfter(...of)?.map(({ number }) => number) ?? null
  expect(
    numbers(
      4,
      [
        [5, [A]],
        [7, [B, C]],
      ],
      7,
    ),
  ).toEqual([5, 6, 7])
  expect(numbers(6, [[7, [B, C]]], 7)).toEqual([7])
  expect(numbers(7, [], 7)).toEqual([])
  expect(numbers(3, [[5, [A]]], 5)).toBe(null)
  expect(
    numbers(
      4,
      [
        [5, [A]],
        [7, [C]],
      ],
      7,
    ),
  ).toBe(null)
  expect(numbers(4, [], 7)).toBe(null)
})

test('the event before must be the one that was read, and the first event of a recording is never read', () => {
  const entries: Parameters<typeof eventsAfter>[1] = [
    [4, ['random']],
    [6, [A, B]],
  ]
  const isA = (event: unknown) => Array.isArray(event) && event[0] === 'a'
  expect(eventsAfter(5, entries, 6, isA)).toEqual([{ number: 6, event: ['b', 1] }])
  expect(eventsAfter(6, entries, 6, isA)).toBe(null)
  expect(eventsAfter(4, entries, 6, (event) => event === 'random')).toHaveLength(2)
  expect(eventsAfter(3, entries, 6)).toBe(null)
})

test('packed events are read as they were recorded, also those of strange jids, and in their order', () => {
  const jids = ['a', 'b', '', 'with space', 'c', '"\\\n\0', '\ud800', 'd']
  const abouts = [...jids.map(() => '["pushed",1]'), '["started",2]', '["pushed",1]']
  const all = abouts.map((about, i) => ({ kind: 'record', jid: jids[i % jids.length] as string, about }) as const)
  const groups = JSON.parse(`[${packEvents(all)}]`) as unknown[]
  expect(groups.length).toBeLessThan(all.length)
  const entry: EventEntry = [all.length, groups]
  const events = eventsAfter(0, [entry], all.length)
  expect(events).toEqual(all.map(({ jid, about }, i) => ({ number: i + 1, event: [jid, ...JSON.parse(about)] })))
  expect(eventsAfter(4, [entry], all.length)).toEqual(events?.slice(4))
})

test("an event that can't be read is missing", () => {
  for (const group of [['pushed', 'a'], null, 5, { n: 1 }]) {
    expect(eventsAfter(5, [[6, [group]]], 6)).toBe(null)
  }
})
