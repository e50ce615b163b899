import { expect, test } from 'vitest'
import { type Changes, merged } from './live-list.ts'

interface Item {
  name: string
  size: number
}

const keyOf = ({ name }: Item) => name
const a = (size: number): Item => ({ name: 'a', size })
const b = (size: number): Item => ({ name: 'b', size })
const whole = (version: string, ...items: Item[]): Changes<Item> => ({ version, whole: true, items, removed: [] })
const changes = (version: string, items: Item[], ...removed: string[]): Changes<Item> => {
  return { version, whole: false, items, removed }
}

test('changes are merged into the list by their keys', () => {
  const first = merged(undefined, whole('s.1', b(1), a(1)), keyOf)
  expect(first).toEqual({ version: 's.1', items: [a(1), b(1)] })
  expect(merged(first, changes('s.1', []), keyOf)).toEqual(first)
  const next = merged(first, changes('s.3', [b(2)], 'a'), keyOf)
  expect(next).toEqual({ version: 's.3', items: [b(2)] })
})

test('an answer that arrives late changes nothing, and overlapping changes merge correctly', () => {
  const first = merged(undefined, whole('s.1', a(1), b(1)), keyOf)
  const newest = merged(first, changes('s.3', [a(3)], 'b'), keyOf)
  expect(merged(newest, changes('s.2', [a(2)]), keyOf)).toBe(newest)
  expect(merged(newest, whole('s.2', a(2), b(1)), keyOf)).toBe(newest)
  expect(merged(newest, changes('s.4', [a(3), b(4)]), keyOf).items).toEqual([a(3), b(4)])
})

test('the whole list of a server that has restarted replaces the list', () => {
  const first = merged(undefined, whole('s.9', a(1), b(1)), keyOf)
  const next = merged(first, whole('t.1', a(2)), keyOf)
  expect(next).toEqual({ version: 't.1', items: [a(2)] })
  // An answer of the server before it comes too late.
  expect(merged(next, changes('s.10', [b(1)]), keyOf)).toBe(next)
})
