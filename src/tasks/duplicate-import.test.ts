import { expect, test } from 'vitest'
import type { Store } from '../store/contract.ts'
import { claimFile } from './duplicate-import.ts'

type Remember = Store['results']['remember']

/** What a store does in one step. */
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
const nothing = (remember: Remember) => storeOf(remember, null)
const made = (remember: Remember) => storeOf(remember, {})

/** As much of a store as a claim needs. */
function storeOf(remember: Remember, task: object | null): Store {
  return { results: { remember }, tasks: { find: async () => task } } as never
}

test('a second import of the same bytes is refused with the id of the first task', async () => {
  const remember = memory()
  await claimFile(made(remember), { key: 'k', id: 'first', now: 0 })
  await expect(claimFile(made(remember), { key: 'k', id: 'second', now: 5 * MINUTE })).rejects.toMatchObject({
    code: 'ALREADY_IMPORTED',
    details: { task: 'first' },
  })
  await claimFile(made(remember), { key: 'other', id: 'second', now: 5 * MINUTE })
})

test('of two simultaneous imports one continues', async () => {
  const remember = memory()
  const both = await Promise.allSettled(
    ['first', 'second'].map((id) => claimFile(nothing(remember), { key: 'k', id, now: 0 })),
  )
  expect(both.map(({ status }) => status)).toEqual(['fulfilled', 'rejected'])
})

test('a claim is free after its release, without a task, and after its task was deleted', async () => {
  const remember = memory()
  const release = await claimFile(nothing(remember), { key: 'k', id: 'first', now: 0 })
  await release()
  await claimFile(nothing(remember), { key: 'k', id: 'second', now: 1 })
  await claimFile(nothing(remember), { key: 'k', id: 'third', now: 2 * MINUTE })
  await expect(claimFile(made(remember), { key: 'k', id: 'fourth', now: 2 * MINUTE })).rejects.toMatchObject({
    details: { task: 'third' },
  })
})

test('a repeated claim for the same task, as after a lost answer, succeeds', async () => {
  const remember = memory()
  await claimFile(nothing(remember), { key: 'k', id: 'first', now: 0 })
  await claimFile(nothing(remember), { key: 'k', id: 'first', now: 0 })
})

test('an import with a given id may start again and keeps its claim', async () => {
  const remember = memory()
  await claimFile(nothing(remember), { key: 'k', id: 'mine', now: 0 })
  await claimFile(nothing(remember), { key: 'k', id: 'mine', now: 1000 })
  const other = claimFile(nothing(remember), { key: 'k', id: 'other', now: 2000 })
  await expect(other).rejects.toMatchObject({ details: { task: 'mine' } })
})

test('a second import with allowDuplicate takes the claim, unless it created no task', async () => {
  const remember = memory()
  const allowDuplicate = true
  await claimFile(made(remember), { key: 'k', id: 'first', now: 0 })
  const undo = await claimFile(made(remember), { key: 'k', id: 'second', now: 1, allowDuplicate })
  const third = { key: 'k', id: 'third', now: 2 }
  await expect(claimFile(made(remember), third)).rejects.toMatchObject({ details: { task: 'second' } })
  await undo()
  await expect(claimFile(made(remember), third)).rejects.toMatchObject({ details: { task: 'first' } })
})
