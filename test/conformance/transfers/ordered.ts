import { expect } from 'vitest'
import { ORDERED_STEP, type OrderedPush, type Store } from '#dist/store/contract.js'
import { type Case, NOW, sure } from '../bench.ts'

const SECONDS = NOW / 1000

function push(id: string, payload: string, more: Partial<OrderedPush> = {}): OrderedPush {
  return { id, payload: JSON.stringify(payload), score: SECONDS, performIn: SECONDS, ...more }
}

/** Three ids: a waits with two payloads, b failed, c is dead. */
export async function fillOrdered(store: Store, queue = 'o'): Promise<void> {
  const { ordered, workers } = store
  const items = [
    push('a', 'a2', { score: 2, performIn: SECONDS + 9 }),
    push('a', 'a1', { score: 1.5 }),
    push('b', 'b'),
    push('c', 'č'),
  ]
  await ordered.push(queue, 3, items, NOW)
  await ordered.act(queue, 'kill', ['c'], { error: 'bad', now: NOW })
  const owner = 'h:1:ordered'
  await workers.join(owner, { queues: [queue], seconds: 3600, host: 'here' })
  await ordered.join(queue, owner)
  const { shard } = sure((await ordered.find(queue, 'b')).waiting)
  const { token } = sure(await ordered.acquireShard(queue, shard, owner, 3, NOW))
  const fetch = [{ shard, token, n: 9 }]
  const { fetched } = await ordered.settleAndFetch(queue, owner, { now: NOW, settlements: [], fetch, maxPayloads: 9 })
  const state = { performIn: SECONDS + 5, retryCount: 2, error: 'ř' }
  const settlements = sure(fetched[0]).ids.map(({ id, ticket }) => {
    const end = id === 'b' ? ({ kind: 'failed', state } as const) : ({ kind: 'requeue' } as const)
    return { id, ticket, shard, token, end }
  })
  await ordered.settleAndFetch(queue, owner, { now: NOW, settlements, fetch: [], maxPayloads: 9 })
  await ordered.leave(queue, owner, NOW)
}

/** Returns all ids of a queue. */
export async function idsOf({ ordered }: Store, queue = 'o') {
  const waiting = await ordered.waiting(queue, 'id', { limit: 99, payloads: 9999 })
  const dead = await ordered.morgue(queue, 'id', { limit: 99 })
  const counts = sure(await ordered.counts(queue, NOW))
  const sum = (what: 'length' | 'fresh' | 'retries' | 'busy') => counts.shards.reduce((n, shard) => n + shard[what], 0)
  expect(sum('length')).toBe(waiting.length)
  expect(sum('retries')).toBe(waiting.filter(({ retryCount }) => retryCount >= 0).length)
  expect(counts.morgueLength).toBe(dead.length)
  return { waiting, dead }
}

const some = (ids: string[], dead = false) => ({ queue: 'o', ids, dead })

/** Ids of ordered queues that go to another store. */
export const orderedTransfers: Case[] = [
  {
    name: 'ids are the same in the other store: payloads, scores, state, and the morgue',
    shared: true,
    async run(t) {
      const target = await t.anotherEmpty()
      await fillOrdered(t.store)
      await t.store.ordered.pause('o', true)
      const before = await idsOf(t.store)
      const { transfers } = t.store
      for (const from of [some(['a', 'b', 'never']), some(['a', 'c'], true)]) {
        const page = sure(await transfers.holdIds('T', 'there', from))
        expect(await transfers.held()).toEqual(page)
        expect(await transfers.holdIds('U', 'there', some(['a']))).toEqual(page)
        expect(await transfers.hold('U', 'there', { queue: 'q', offset: 0, texts: [] })).toEqual(page)
        const { queue, ids } = sure(page.ordered)
        expect(await target.transfers.putIds(page, queue, 3, ids)).toBe('stored')
        expect(await target.transfers.putIds(page, queue, 3, ids)).toBe('stored')
        expect(await transfers.endPage(page, [], NOW)).toBe(true)
        expect(await transfers.returnIds(page)).toBe(false)
      }
      expect(await transfers.holdIds('T', 'there', some(['a', 'b']))).toBe(null)
      expect(await idsOf(target)).toEqual(before)
      expect(await idsOf(t.store)).toEqual({ waiting: [], dead: [] })
    },
  },
  {
    name: 'returnIds puts the ids of a page back, merged with what was pushed meanwhile',
    async run(t) {
      await fillOrdered(t.store)
      const before = await idsOf(t.store)
      const { transfers, ordered } = t.store
      await ordered.pause('o', true)
      for (const from of [some(['a', 'b']), some(['c'], true)]) {
        const page = sure(await transfers.holdIds('T', 'there', from))
        expect(await transfers.returnIds(page)).toBe(true)
        expect(await transfers.returnIds(page)).toBe(false)
        expect(await transfers.held()).toBe(null)
      }
      expect(await idsOf(t.store)).toEqual(before)
      const page = sure(await transfers.holdIds('T', 'there', some(['a'])))
      await ordered.push('o', 3, [push('a', 'a0', { score: 0, performIn: SECONDS + 99 })], NOW)
      await transfers.returnIds(page)
      const { waiting } = await ordered.find('o', 'a')
      const texts = (await ordered.waiting('o', 'id', { limit: 1, payloads: 9 }))[0]?.payloads
      expect(texts).toEqual([
        ['"a0"', 0],
        ['"a1"', 1.5],
        ['"a2"', 2],
      ])
      expect(waiting).toMatchObject({ performIn: sure(before.waiting[0]).performIn, retryCount: -1 })
      const dead = sure(await transfers.holdIds('T', 'there', some(['c'], true)))
      await ordered.push('o', 3, [push('c', 'c2')], NOW)
      await ordered.act('o', 'kill', ['c'], { error: 'newer', now: NOW + 5000 })
      await transfers.returnIds(dead)
      expect((await ordered.find('o', 'c')).dead).toMatchObject({
        error: 'newer',
        updatedAt: (NOW + 5000) / 1000,
        deaths: 1,
        payloads: [{}, {}],
      })
    },
  },
  {
    name: 'returnIds puts the ids of a page back into a queue that was deleted meanwhile',
    async run(t) {
      const { transfers, ordered } = t.store
      await ordered.push('o', 2, [push('a', 'a')], NOW)
      await ordered.pause('o', true)
      const page = sure(await transfers.holdIds('T', 'there', some(['a'])))
      expect(await ordered.deleteQueue('o')).toBe(true)
      expect(await transfers.returnIds(page)).toBe(true)
      expect((await idsOf(t.store)).waiting).toMatchObject([{ id: 'a', payloads: [['"a"', SECONDS]] }])
    },
  },
  {
    name: 'an id in flight is not taken, and a page that is void is not stored',
    shared: true,
    async run(t) {
      const target = await t.anotherEmpty()
      const { transfers, ordered } = t.store
      await ordered.push('o', 1, [push('a', 'a'), push('b', 'b')], NOW)
      const owner = await t.owner({ queues: ['o'] })
      await ordered.join('o', owner)
      const { token } = sure(await ordered.acquireShard('o', 0, owner, 3, NOW))
      const fetch = [{ shard: 0, token, n: 1 }]
      await ordered.settleAndFetch('o', owner, { now: NOW, settlements: [], fetch, maxPayloads: 9 })
      await ordered.push('o', 1, [push('a', 'later')], NOW)
      await ordered.pause('o', true)
      const page = sure(await transfers.holdIds('T', 'there', some(['a', 'b'])))
      const { ids } = sure(page.ordered)
      expect(ids.map(({ id }) => id)).toEqual(['b'])
      expect(await target.transfers.put(page, [], NOW)).toBe('void')
      expect(await target.transfers.putIds(page, 'o', 1, ids)).toBe('void')
      expect(await target.ordered.waiting('o', 'id', { limit: 9, payloads: 9 })).toEqual([])
    },
  },
  {
    name: 'no id of a queue that is not paused is taken, also when no worker serves it',
    async run(t) {
      await fillOrdered(t.store)
      const before = await idsOf(t.store)
      const { transfers, ordered } = t.store
      for (const from of [some(['a', 'b']), some(['c'], true)]) {
        expect(await transfers.holdIds('T', 'there', from)).toBe(null)
      }
      expect(await idsOf(t.store)).toEqual(before)
      await ordered.pause('o', true)
      const page = sure(await transfers.holdIds('T', 'there', some(['a'])))
      await transfers.endPage(page, [], NOW)
      await ordered.pause('o', false)
      expect(await transfers.holdIds('T', 'there', some(['b']))).toBe(null)
    },
  },
  {
    name: 'an id with very many payloads goes in several pages, the lowest payloads first',
    async run(t) {
      const { transfers, ordered } = t.store
      const count = ORDERED_STEP + 150
      for (let from = 0; from < count; from += 100) {
        const items = Array.from({ length: Math.min(100, count - from) }, (_, i) =>
          push('a', `${from + i}`, { score: from + i }),
        )
        await ordered.push('o', 2, items, NOW)
      }
      await ordered.pause('o', true)
      const before = await idsOf(t.store)
      const first = sure(await transfers.holdIds('T', 'there', some(['a'])))
      const payloads = sure(sure(first.ordered).ids[0]).payloads
      expect(payloads).toHaveLength(ORDERED_STEP)
      expect(payloads.map(([, score]) => score)).toEqual(payloads.map((_, i) => i))
      expect((await ordered.find('o', 'a')).waiting?.size).toBe(150)
      await transfers.returnIds(first)
      expect(await idsOf(t.store)).toEqual(before)
    },
  },
]
