import { expect, test } from 'vitest'
import { RenewedMap } from './renewed-map.ts'

test('keeps exactly the entries that were not deleted, in their order, over many renewals', () => {
  const map = new RenewedMap<number, string>()
  for (let i = 0; i < 10_000; i++) {
    map.set(i, `job ${i}`)
    if (i >= 50) expect(map.delete(i - 50)).toBe(true)
  }
  expect(map.size).toBe(50)
  expect(map.keys()).toEqual(Array.from({ length: 50 }, (_, i) => 9950 + i))
  expect(map.values().at(-1)).toBe('job 9999')
  expect([map.get(9950), map.has(9950), map.get(9949), map.has(9949)]).toEqual(['job 9950', true, undefined, false])
})

test('an iteration yields the entries of its beginning, whatever is added and deleted meanwhile', () => {
  for (const added of [1, 5000]) {
    const map = new RenewedMap<number, number>()
    for (let i = 0; i < 3; i++) map.set(i, i)
    const seen: number[] = []
    for (const key of map.keys()) {
      for (let i = 0; i < added; i++) map.set(1000 * (key + 1) + i, 0)
      map.delete(2)
      seen.push(key)
    }
    expect(seen).toEqual([0, 1, 2])
  }
})

test('holds more entries than it takes to be renewed', () => {
  const map = new RenewedMap<number, number>()
  for (let i = 0; i < 20_000; i++) map.set(i, i)
  expect(map.size).toBe(20_000)
  map.clear()
  expect([map.size, map.get(1), map.delete(1)]).toEqual([0, undefined, false])
})
