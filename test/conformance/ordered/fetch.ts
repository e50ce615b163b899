import { expect } from 'vitest'
import { type Case, NOW, pause, sure } from '../bench.ts'
import { expectInOrder, ordered, workOff } from './check.ts'
import { done, failed, item, requeue, textOf } from './ordered-queue.ts'

/** What is due comes to who owns its shard, the earliest first. */
export const orderedFetch: Case[] = [
  ordered(
    '[10] due ids are fetched earliest first, ties by the bytes of the id, and none before its time',
    async (o) => {
      await o.push(item('a', '', 1, { performIn: 995 }), item('B', '', 1, { performIn: 990 }))
      await o.push(item('b', '', 1, { performIn: 990 }), item('c', '', 1, { performIn: 1001 }))
      await o.push(item('😀', '', 1, { performIn: 992 }), item('～', '', 1, { performIn: 992 }))
      const owner = await o.owner()
      const ids = async (n: number) => (await owner.fetch(n)).map(({ id }) => id)
      expect(await ids(2)).toEqual(['B', 'b'])
      expect(await ids(2)).toEqual(['～', '😀'])
      expect(await ids(2)).toEqual(['a'])
      expect(await ids(2)).toEqual([])
      o.now = 1000.999
      expect(await ids(2)).toEqual([])
      o.now = 1001
      expect(await ids(2)).toEqual(['c'])
    },
  ),
  ordered('[11] a fetched id is in flight with all its state, and no longer waits', async (o) => {
    const owner = await o.owner()
    await o.push(item('1', 'v1', 1), item('1', 'v2', 2))
    await owner.settle(failed(900, 1, 'no'), (await owner.fetch())[0])
    await o.push(item('2', 'v', 5, { performIn: 950 }), item('3', 'v', 5, { performIn: 2000 }))
    const [numbers] = sure(await o.store.ordered.counts(o.name, o.ms)).shards
    expect(numbers).toMatchObject({ length: 3, fresh: 2, retries: 1, busy: 0, lag: 100 })
    const taken = await owner.fetch(1)
    expect(taken).toMatchObject([{ id: '1', performIn: 900, retryCount: 1, error: 'no', crashes: 0, suspect: false }])
    expect(textOf(taken[0].payloads)).toBe('{v1:1,v2:2}')
    const more = await owner.fetch(5)
    expect(await o.waiting()).toEqual(['3{2000,-1,{v:5}}'])
    expect(await o.sums()).toMatchObject({ length: 1, busy: 2 })
    expect(sure(await o.store.ordered.counts(o.name, o.ms)).shards[0]?.lag).toBe(0)
    expect(await o.store.ordered.inFlight(o.name, owner.name)).toEqual(
      [taken[0], more[0]].map(({ id, ticket, shard, token }) => {
        return { id, ticket, shard, token, owner: owner.name, fetchedAt: o.ms }
      }),
    )
    expect(await o.store.ordered.inFlight(o.name, 'nobody')).toEqual([])
    expect(await owner.fetch(5)).toEqual([])
  }),
  ordered('[12] a fetch from an empty queue returns nothing and writes nothing', async (o, t) => {
    const owner = await o.owner()
    const before = await t.contents()
    for (let i = 0; i < 3; i++) expect(await owner.fetch()).toEqual([])
    expect(await t.contents()).toEqual(before)
  }),
  ordered('[13] an id that was due before the epoch is due', async (o) => {
    await o.push(item('1', '', 1, { performIn: -5 }), item('2', '', 1, { performIn: 0 }))
    const owner = await o.owner()
    expect((await owner.fetch()).map(({ id, performIn }) => [id, performIn])).toEqual([
      ['1', -5],
      ['2', 0],
    ])
  }),
  ordered('[14] a paused queue accepts pushes and settlements and returns no ids until it is resumed', async (o) => {
    const owner = await o.owner()
    await o.push(item('1'), item('2'))
    const taken = await owner.fetch(1)
    await o.store.ordered.pause(o.name, true)
    await o.store.ordered.pause(o.name, true)
    expect(sure(await o.store.ordered.assignments(o.name)).paused).toBe(true)
    await o.push(item('3'))
    const answer = await owner.settleAndFetch({
      settlements: [{ ...taken[0], end: failed(1000) }],
      fetch: [owner.request(10)],
    })
    expect(answer).toMatchObject({ settled: ['ok'], paused: true, fetched: [{ lost: false, ids: [] }] })
    await expectInOrder(o)
    await o.store.ordered.pause(o.name, false)
    const after = await owner.settleAndFetch({ fetch: [owner.request(10)] })
    expect(after.paused).toBe(false)
    expect(after.fetched[0]?.ids.map(({ id }) => id)).toEqual(['1', '2', '3'])
  }),
  ordered('a fetch returns the next due time, also for zero ids', async (o) => {
    const owner = await o.owner()
    const next = async (n: number) => (await owner.settleAndFetch({ fetch: [owner.request(n)] })).fetched
    expect(await next(0)).toEqual([{ lost: false, ids: [], next: null }])
    await o.push(item('1', '', 1, { performIn: 900 }), item('2', '', 1, { performIn: 950 }))
    await o.push(item('3', '', 1, { performIn: 2000.5 }))
    expect(await next(0)).toEqual([{ lost: false, ids: [], next: 900 }])
    expect(await next(1)).toMatchObject([{ ids: [{ id: '1' }], next: 950 }])
    expect(await next(5)).toMatchObject([{ ids: [{ id: '2' }], next: 2000.5 }])
    expect(await next(5)).toEqual([{ lost: false, ids: [], next: 2000.5 }])
  }),
  ordered('an id that waits behind its own flight is not next', async (o) => {
    const owner = await o.owner()
    await o.push(item('1'))
    const [taken] = await owner.fetch()
    await o.push(item('1', 'v2'))
    expect((await owner.settleAndFetch({ fetch: [owner.request(0)] })).fetched).toEqual([
      { lost: false, ids: [], next: null },
    ])
    const answer = await owner.settleAndFetch({ settlements: [{ ...taken, end: done }], fetch: [owner.request(5)] })
    expect(answer.fetched).toMatchObject([{ ids: [{ id: '1' }], next: null }])
  }),
  ordered(
    'one call fetches from several shards',
    async (o) => {
      await o.pushAll(Array.from({ length: 60 }, (_, n) => item(`${n}`)))
      const owner = await o.owner()
      const answer = await owner.settleAndFetch({ fetch: [2, 0, 1].map((shard) => owner.request(4, shard)) })
      expect(answer.shards).toBe(3)
      const assignments = (await o.store.ordered.inFlight(o.name)).map(({ id, shard }) => [id, shard])
      const said = answer.fetched.flatMap(({ ids }, i) => ids.map(({ id }) => [id, [2, 0, 1][i]]))
      expect(said).toHaveLength(12)
      expect(assignments.sort()).toEqual(said.sort())
    },
    { shards: 3 },
  ),
  ordered(
    'with more payloads than a fetch may return, the lowest scores are fetched and the others wait',
    async (o) => {
      await o.push(...[5, 3, 1, 4, 2].map((n) => item('1', `v${n}`, n, { performIn: 900 })))
      const owner = await o.owner()
      const [first] = await owner.fetch(10, 0, { maxPayloads: 2 })
      expect(textOf(first.payloads)).toBe('{v1:1,v2:2}')
      expect(await o.waiting()).toEqual(['1{900,-1,{v3:3,v4:4,v5:5}}'])
      expect(await o.sums()).toMatchObject({ length: 0, busy: 1 })
      expect(await owner.fetch(10)).toEqual([])
      await owner.settle(done, first)
      const [second] = await owner.fetch(10, 0, { maxPayloads: 2 })
      expect(textOf(second.payloads)).toBe('{v3:3,v4:4}')
      await owner.settle(failed(950, 0), second)
      expect(await o.waiting()).toEqual(['1{950,0,{v3:3,v4:4,v5:5},"x"}'])
      const [third] = await owner.fetch(10, 0, { maxPayloads: 2 })
      expect(third.retryCount).toBe(0)
      expect(await o.waiting()).toEqual(['1{950,-1,{v5:5}}'])
      await owner.settle(requeue, third)
      expect(await o.waiting()).toEqual(['1{950,0,{v3:3,v4:4,v5:5},"x"}'])
    },
  ),
  ordered('a fetch returns at most a megabyte, also of one id, but always its first payload', async (o) => {
    const big = (n: number, bytes: number) => `${n}${'x'.repeat(bytes)}`
    for (let n = 0; n < 4; n++) await o.push(item(`${n}`, big(n, 400_000), n))
    await o.push(item('large', big(0, 900_000), 1, { performIn: 1 }))
    await o.push(item('large', big(1, 900_000), 2))
    const owner = await o.owner()
    const first = await owner.fetch(10)
    expect(first.map(({ id, payloads }) => [id, payloads.length])).toEqual([['large', 1]])
    const second = await owner.fetch(10)
    expect(second.map(({ id }) => id)).toEqual(['0', '1'])
    expect((await owner.fetch(10)).map(({ id }) => id)).toEqual(['2', '3'])
    await o.push(item('huge', big(0, 1_100_000), 1, { performIn: 2 }), item('huge', big(1, 10), 2))
    await owner.settle(requeue, first[0])
    expect((await o.store.ordered.find(o.name, 'large')).waiting).toMatchObject({ size: 2 })
    for (const n of [0, 1]) {
      const [large] = await owner.fetch(10)
      expect(large.payloads).toEqual([[`"${big(n, 900_000)}"`, n + 1]])
      await owner.settle(done, large)
    }
    const [huge] = await owner.fetch(10)
    expect(huge.payloads.map(([, score]) => score)).toEqual([1])
    await owner.settle(done, huge)
    expect((await owner.fetch(10)).map(({ id, payloads }) => [id, payloads.length])).toEqual([['huge', 1]])
  }),
  ordered('[18] a push for an id in flight waits as a fresh id until that is settled', async (o) => {
    const owner = await o.owner()
    await o.push(item('1', 'v1', 10))
    const [first] = await owner.fetch()
    await o.push(item('1', 'v2', 20))
    expect(await o.waiting()).toEqual(['1{1000,-1,{v2:20}}'])
    expect(await o.sums()).toMatchObject({ length: 0, busy: 1 })
    expect(await owner.fetch()).toEqual([])
    expect(first.payloads).toEqual([['"v1"', 10]])
    await owner.settle(done, first)
    expect(await o.sums()).toMatchObject({ length: 1, busy: 0 })
    expect((await owner.fetch())[0].payloads).toEqual([['"v2"', 20]])
  }),
  ordered('a ticket is never used twice', async (o) => {
    const owner = await o.owner()
    await o.push(item('1'))
    const tickets = new Set<string>()
    for (let i = 0; i < 20; i++) {
      const [taken] = await owner.fetch()
      tickets.add(taken.ticket)
      await owner.settle(i % 2 ? requeue : failed(900), taken)
    }
    expect(tickets.size).toBe(20)
  }),
  ordered(
    'owners of several shards on two connections fetch at the same time, and get each id once',
    async (o, t) => {
      await o.pushAll(Array.from({ length: 300 }, (_, n) => item(`${n}`, 'v', n)))
      const stores = [o.store, await t.another()]
      const owners = await Promise.all([0, 1, 2, 3].map((n) => o.member(stores[n % 2])))
      await Promise.all(owners.map((owner, n) => owner.own(n)))
      const runs = await Promise.all(owners.map((owner) => workOff(owner, 7)))
      const ids = runs.flat().map(({ id }) => id)
      expect(ids).toHaveLength(300)
      expect(new Set(ids).size).toBe(300)
    },
    { shards: 4, shared: true },
  ),
  ordered(
    'pushes during the work on a shard all run, none twice, each id in order',
    async (o, t) => {
      const other = await t.another()
      const owner = await o.owner()
      let pushing = true
      const producer = (async () => {
        for (let n = 0; n < 60; n++) {
          const items = Array.from({ length: 5 }, (_, i) => item(`${i}`, n, n))
          await other.ordered.push(o.name, o.shards, items, NOW)
        }
        pushing = false
      })()
      const seen = new Map<string, number[]>()
      for (let idle = 0; idle < 3; ) {
        for (const { id, payloads } of await workOff(owner, 3)) {
          seen.set(id, [...(seen.get(id) ?? []), ...payloads.map(([text]) => Number(text))])
        }
        await pause(1)
        if (!pushing) idle++
      }
      await producer
      for (let i = 0; i < 5; i++) expect(seen.get(`${i}`)).toEqual(Array.from({ length: 60 }, (_, n) => n))
    },
    { shards: 2, shared: true },
  ),
]
