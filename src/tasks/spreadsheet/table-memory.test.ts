import { expect, test } from 'vitest'
import { TableMemory } from './table-memory.ts'

test('tables that are read at the same time share the free memory', () => {
  const [first, second] = [new TableMemory(100), new TableMemory(100)]
  expect([first.fits(40), second.fits(60)]).toEqual([true, true])
  expect(first.fits(50)).toBe(false)
  first.release()
  expect(second.fits(100)).toBe(true)
  // The table of the second one is in the heap already.
  const third = new TableMemory(10)
  expect([third.fits(10), third.fits(11)]).toEqual([true, false])
  second.release()
  third.release()
})
