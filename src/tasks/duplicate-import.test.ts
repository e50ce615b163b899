import { expect, onTestFinished, test, vi } from 'vitest'
import type { Store } from '../store/contract.ts'
import { claimFile } from './duplicate-import.ts'

type Remember = Store['results']['remember']

/** Returns a `remember` that keeps the values in memory. It compares and replaces them in one step, as a store does. */
function memory(): Remember {
  const kept = new Map<string, string>()
  return async (key, value, seconds, instead) => {
    const there = kept.get(key) ?? null
    if (there !== null && there !== instead && there !== value) return there
    if (seconds === 0) kept.delete(key)
    else kept.set(key, value)
    return null
  }
}

const MINUTE = 60_000

/** Claims a file in a store that has a task for each claim, or none. The claim is not renewed. */
async function claim(remember: Remember, has: 'task' | 'no task', id: string, now: number, options = {}) {
  const claimed = await claimFile(storeOf(remember, has), { key: 'k', id, now: () => now, ...options })
  claimed.end()
  return claimed
}

function storeOf(remember: Remember, has: 'task' | 'no task'): Store {
  const tasks = { find: async () => (has === 'task' ? {} : null) }
  return { results: { remember }, tasks } as unknown as Store
}

test('a second import of the same bytes is refused with the id of the first task', async () => {
  const remember = memory()
  await claim(remember, 'task', 'first', 0)
  await expect(claim(remember, 'task', 'second', 5 * MINUTE)).rejects.toMatchObject({
    code: 'ALREADY_IMPORTED',
    details: { task: 'first' },
  })
  await claim(remember, 'task', 'second', 5 * MINUTE, { key: 'other' })
})

test('one of two simultaneous imports of the same bytes is refused', async () => {
  const remember = memory()
  const both = await Promise.allSettled(['first', 'second'].map((id) => claim(remember, 'no task', id, 0)))
  expect(both.map(({ status }) => status)).toEqual(['fulfilled', 'rejected'])
})

test('bytes can be claimed again after undo, a minute without a task, or the deletion of the task', async () => {
  const remember = memory()
  const first = await claim(remember, 'no task', 'first', 0)
  await first.undo()
  await claim(remember, 'no task', 'second', 1)
  await claim(remember, 'no task', 'third', 2 * MINUTE)
  await expect(claim(remember, 'task', 'fourth', 2 * MINUTE)).rejects.toMatchObject({ details: { task: 'third' } })
})

test('a repeated claim for the same task, as after a lost answer, succeeds', async () => {
  const remember = memory()
  await claim(remember, 'no task', 'first', 0)
  await claim(remember, 'no task', 'first', 0)
})

test('an import with a given id may start again and keeps its claim', async () => {
  const remember = memory()
  await claim(remember, 'no task', 'mine', 0)
  await claim(remember, 'no task', 'mine', 1000)
  const other = claim(remember, 'no task', 'other', 2000)
  await expect(other).rejects.toMatchObject({ details: { task: 'mine' } })
})

test('an import with allowDuplicate replaces the claim; undo restores the earlier claim', async () => {
  const remember = memory()
  await claim(remember, 'task', 'first', 0)
  const second = await claim(remember, 'task', 'second', 1, { allowDuplicate: true })
  const third = () => claim(remember, 'task', 'third', 2)
  await expect(third()).rejects.toMatchObject({ details: { task: 'second' } })
  await second.undo()
  await expect(third()).rejects.toMatchObject({ details: { task: 'first' } })
})

test('an import that needs minutes to create its task renews its claim until undo', async () => {
  vi.useFakeTimers({ now: 0 })
  onTestFinished(() => void vi.useRealTimers())
  const remember = memory()
  const slow = await claimFile(storeOf(remember, 'no task'), { key: 'k', id: 'slow', now: Date.now })
  await vi.advanceTimersByTimeAsync(5 * MINUTE)
  const second = () => claim(remember, 'no task', 'second', Date.now())
  await expect(second()).rejects.toMatchObject({
    details: { task: 'slow' },
    message: expect.stringContaining('1970-01-01T00:00:00'),
  })
  await slow.undo()
  await second()
  expect(vi.getTimerCount()).toBe(0)
})

test('an import whose process died before it created its task keeps its claim for a minute', async () => {
  const remember = memory()
  await claim(remember, 'no task', 'gone', 0)
  await expect(claim(remember, 'no task', 'second', MINUTE - 1)).rejects.toMatchObject({ details: { task: 'gone' } })
  await claim(remember, 'no task', 'third', MINUTE)
})

test('an import whose claim was taken because of a stepped clock creates no task; the other one does', async () => {
  const remember = memory()
  const slow = await claim(remember, 'no task', 'slow', 0)
  const ahead = await claim(remember, 'no task', 'ahead', 2 * MINUTE)
  await expect(slow.confirm()).rejects.toMatchObject({ code: 'ALREADY_IMPORTED', details: { task: 'ahead' } })
  await ahead.confirm()
  await slow.undo()
  await expect(claim(remember, 'task', 'third', 0)).rejects.toMatchObject({ details: { task: 'ahead' } })
})

test('a claim from far ahead of the own clock counts as gone', async () => {
  const remember = memory()
  await claim(remember, 'no task', 'gone', 60 * MINUTE)
  await claim(remember, 'no task', 'second', 0)
})

test('an import goes on when another one has claimed the bytes with allowDuplicate, and after a lost answer', async () => {
  const remember = memory()
  const first = await claim(remember, 'no task', 'first', 0)
  const second = await claim(remember, 'no task', 'second', 1, { allowDuplicate: true })
  await first.confirm()
  await second.confirm()
  const lost = await claimFile(storeOf(remember, 'no task'), { key: 'other', id: 'lost', now: () => 0 })
  await remember('other', 'lost 0 5', 1, 'lost 0')
  await lost.confirm()
})
