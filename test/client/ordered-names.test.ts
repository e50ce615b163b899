/** Tests of ordered queues that another app defines: you can push to them by name, and a job can't have their name. */

import type { Highkiq } from 'highkiq'
import { fake } from 'highkiq/testing'
import { expect, test } from 'vitest'
import { type Bench, bench } from '../engine/bench.ts'

/** An app that defines an ordered queue, and another one on the same store that does not. */
async function two(): Promise<{ owner: Bench; other: Bench; hq: Highkiq; stats: () => Promise<object> }> {
  const owner = bench()
  const Sync = owner.hq.ordered('Sync', { shards: 2 }, () => {})
  await Sync.performAsync({ id: 1 })
  const other = owner.another()
  return { owner, other, hq: other.hq, stats: () => Sync.stats() }
}

/** Counts the calls that ask the store for the names. */
function counted({ store }: Highkiq): { asked: number } {
  const ask = store.ordered.queues.bind(store.ordered)
  const count = { asked: 0 }
  store.ordered.queues = () => {
    count.asked++
    return ask()
  }
  return count
}

const REFUSED = { code: 'INVALID_JOB', message: expect.stringContaining('Sync is an ordered queue') }

test('every push of a job with the name of an undefined ordered queue is refused', async () => {
  const { hq, other } = await two()
  await expect(hq.push({ class: 'Sync', args: [7] })).rejects.toMatchObject(REFUSED)
  await expect(hq.push({ class: 'Sync', args: [7], wait: 60 })).rejects.toMatchObject(REFUSED)
  await expect(hq.push({ class: 'Sync', args: [{ id: 7, payload: 'x' }] })).rejects.toMatchObject(REFUSED)
  await expect(hq.pushBulk({ class: 'Sync', args: [[1], [2]] })).rejects.toMatchObject(REFUSED)
  await expect(hq.client.with((_payload, next) => next()).push({ class: 'Sync', args: [] })).rejects.toMatchObject(
    REFUSED,
  )
  expect(await other.queue()).toEqual([])
  expect(await hq.scheduled.size()).toBe(0)
})

test('the names are read once, and never for a job that this app defines', async () => {
  const { hq, other } = await two()
  const Mine = hq.job('Mine', () => {})
  const count = counted(hq)
  for (let n = 0; n < 20; n++) await Mine.performAsync()
  await hq.push({ class: 'Mine', args: [] })
  expect(count.asked).toBe(0)
  await Promise.all([hq.push({ class: 'Theirs', args: [] }), hq.push({ class: 'Others', args: [] })])
  for (let n = 0; n < 20; n++) await hq.push({ class: 'Theirs', args: [n] })
  await hq.pushBulk({ class: 'Theirs', args: [[1], [2]] })
  expect(count.asked).toBe(1)
  expect(await other.queue()).toHaveLength(45)
})

test("a push succeeds when the names can't be read", async () => {
  const { hq, other } = await two()
  hq.store.ordered.queues = () => Promise.reject(new Error('away'))
  expect(await hq.push({ class: 'Sync', args: [1] })).toMatch(/^[0-9a-f]{24}$/)
  expect(await other.queue()).toMatchObject([{ class: 'Sync' }])
})

test('a push by name reaches an ordered queue, which keeps its shards', async () => {
  const { hq, stats } = await two()
  const Sync = hq.ordered('Sync')
  expect(await Sync.performAsync([{ id: 7, payload: { v: 1 }, score: 3 }, { id: 8 }])).toBe(2)
  expect(await Sync.performAsync({ id: 7, payload: { v: 1 }, score: 3 })).toBe(1)
  expect(await Sync.waiting.find(7)).toMatchObject({ payloads: [{ payload: { v: 1 }, score: 3 }] })
  expect(await stats()).toMatchObject({ length: 3, shards: [{ shard: 0 }, { shard: 1 }] })
  await expect(Sync.performAsync([{ id: 9 }, { id: '' }])).rejects.toMatchObject({
    code: 'INVALID_JOB',
    message: expect.stringContaining('Sync: items[1]'),
  })
  await expect(hq.ordered('Snyc').performAsync({ id: 1 })).rejects.toMatchObject({
    code: 'UNKNOWN_ORDERED',
    message: 'no ordered queue is named Snyc: there are Sync',
  })
  expect(await hq.orderedQueues()).toEqual(['Sync'])
})

test('without any ordered queue in the store, the refusal says what to do', async () => {
  const { hq } = bench()
  await expect(hq.ordered('Sync').performAsync({ id: 1 })).rejects.toMatchObject({
    code: 'UNKNOWN_ORDERED',
    message: 'no ordered queue is named Sync: there are none yet; start a worker that defines it',
  })
})

test('in an app that defines the queue, a push by name runs its prepare', async () => {
  const { hq } = bench()
  hq.ordered('Sync', { queueName: 'sync', prepare: ({ payload }) => ({ id: `made of ${payload}`, payload }) }, () => {})
  await hq.ordered('Sync').performAsync({ payload: 1 })
  await hq.ordered('sync').performAsync({ payload: 2 })
  const { items } = await hq.ordered('Sync').waiting.list({ by: 'id' })
  expect(items.map(({ id }) => id)).toEqual(['made of 1', 'made of 2'])
})

test('the fake store of highkiq/testing collects pushes to an undefined ordered queue', async () => {
  const { hq } = bench()
  using _ = fake(hq)
  await hq.ordered('Elsewhere').performAsync({ id: 1, payload: 'x' })
  expect(await hq.push({ class: 'Elsewhere', args: [] })).not.toBeNull()
  expect(await hq.orderedQueues()).toEqual([])
})
