import { expect, test } from 'vitest'
import { openStore } from '#dist/store/open.js'

const DAY = 86_400_000
const NOON = Date.UTC(2026, 4, 17, 12)

/** Data that the store deletes by the clock of its callers. */

test('a cancellation older than 30 days is deleted with the next request, and a dropped job is remembered for a minute', async () => {
  const store = openStore('sqlite::memory:')
  await store.cancellations.request('a', NOON)
  await store.cancellations.request('dropped', NOON)
  await store.jobs.push([{ to: 'retry', text: 'x', score: 1 }], NOON)
  const effects = [{ kind: 'clear-cancellation', jid: 'dropped', at: NOON, dropped: true } as const]
  expect(await store.jobSets.swap('retry', [{ text: 'x', score: 1, to: null, effects }], NOON)).toEqual(['ok'])
  await store.cancellations.request('b', NOON + 59_000)
  expect(await store.cancellations.withdraw('dropped', NOON)).toBe('dropped')
  await store.cancellations.request('c', NOON + 61_000)
  expect(await store.cancellations.withdraw('dropped', NOON)).toBe('none')
  await store.cancellations.request('d', NOON + 30 * DAY + 1)
  expect((await store.cancellations.since(0)).jids).toEqual(['b', 'c', 'd'])
  expect(await store.cancellations.withdraw('a', NOON)).toBe('none')
  await store.close()
})

test('the id of a push with once is remembered for five minutes', async () => {
  const store = openStore('sqlite::memory:')
  const push = (at: number) => store.jobs.push([{ to: 'queue', queue: 'q', text: 'x', end: 'back', once: 'jid' }], at)
  for (const seconds of [0, 299, 301]) await push(NOON + seconds * 1000)
  expect(await store.jobs.peek('q', 0, 9)).toEqual(['x', 'x'])
  await store.close()
})
