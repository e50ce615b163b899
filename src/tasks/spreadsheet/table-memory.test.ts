import { expect, test } from 'vitest'
import { TableMemory } from './table-memory.ts'

test('tables that are read at the same time share the free memory', () => {
  const [first, second] = [new TableMemory(100), new TableMemory(100)]
  expect([first.reserve(40), second.reserve(60)]).toEqual([true, true])
  expect(first.reserve(50)).toBe(false)
  first.release()
  expect(second.reserve(100)).toBe(true)
  // The table of the second one is in the heap already.
  const third = new TableMemory(10)
  expect([third.reserve(10), third.reserve(11)]).toEqual([true, false])
  second.release()
  third.release()
})
