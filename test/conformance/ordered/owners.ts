import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import { type Case, sure, until } from '../bench.ts'
import { ordered } from './check.ts'
import { cancelled, dead, done, failed, item, requeue, settlement } from './ordered-queue.ts'
import { everything } from './settle.ts'

/** Who owns a shard, and that nobody else changes anything in it. */
export const orderedOwners: Case[] = [
  ordered("[34] an owned shard can't be acquired by another owner, and the attempt changes nothing", async (o) => {
    const owner = await o.owner()
    await o.push(item('1'), item('2'))
    const [held] = await owner.fetch(1)
    const other = await o.member()
    const before = await everything(o)
    expect(await other.ask()).toBe(null)
    const token = sure(owner.tokens.get(0))
    for (const guess of [0, token, token + 1]) {
      const answer = await other.settleAndFetch({ fetch: [{ shard: 0, token: guess, n: 5 }] })
      expect(answer.fetched).toMatchObject([{ lost: true, ids: [] }])
    }
    for (const end of [done, failed(1), dead(), requeue, cancelled]) {
      expect(await other.answers(end, held)).toEqual(['fenced'])
    }
    expect(await everything(o)).toEqual(before)
    expect(await owner.fetch(5)).toMatchObject([{ id: '2' }])
  }),
  ordered(
    'an owner that has released its shard and owns it again changes nothing with its earlier token',
    async (o) => {
      const owner = await o.owner()
      await o.push(item('1'), item('2'))
      const [earlier] = await owner.fetch(1)
      expect(await o.store.ordered.releaseShard(o.name, 0, owner.name, earlier.token, o.ms)).toBe(true)
      const { token } = await owner.own()
      const [held] = await owner.fetch(1)
      const before = await everything(o)
      for (const other of [earlier.token, token + 1]) {
        const answer = await owner.settleAndFetch({ fetch: [{ shard: 0, token: other, n: 5 }] })
        expect(answer.fetched).toMatchObject([{ lost: true, ids: [] }])
        expect(await o.store.ordered.releaseShard(o.name, 0, owner.name, other, o.ms)).toBe(false)
        for (const end of [done, failed(1), dead(), requeue, cancelled]) {
          expect(await owner.answers(end, earlier)).toEqual(['fenced'])
          expect(await owner.answers(end, { ...held, token: other })).toEqual(['fenced'])
        }
      }
      expect(await everything(o)).toEqual(before)
      expect(await owner.fetch(5)).toMatchObject([{ id: '2' }])
      await owner.settle(done, held)
    },
  ),
  ordered('acquiring an own shard again changes nothing', async (o) => {
    const owner = await o.owner()
    await o.push(item('1'))
    const [taken] = await owner.fetch()
    const token = sure(owner.tokens.get(0))
    const again = await o.store.ordered.acquireShard(o.name, 0, owner.name, 3, o.ms)
    expect([null, token]).toContain(again?.token ?? null)
    expect(again?.rescued ?? 0).toBe(0)
    expect(await o.busy()).toEqual(['1'])
    await owner.settle(done, taken)
  }),
  ordered(
    '[34] of ten owners that race for a free shard one acquires it',
    async (o, t) => {
      const stores = [o.store, await t.another(), await t.another()]
      const members = await Promise.all(Array.from({ length: 10 }, (_, n) => o.member(stores[n % 3])))
      let last: number | undefined
      for (let round = 1; round <= 3; round++) {
        const answers = await Promise.all(members.map((member) => member.ask()))
        const { token } = sure(answers.find(Boolean))
        expect(answers.filter(Boolean)).toEqual([
          { token: last === undefined ? token : last + 1, rescued: 0, died: [] },
        ])
        last = token
        const winner = sure(members[answers.findIndex(Boolean)])
        const { owners } = sure(await o.store.ordered.assignments(o.name))
        expect(owners).toEqual([{ shard: 0, owner: winner.name, token }])
        expect(await o.store.ordered.releaseShard(o.name, 0, winner.name, token, o.ms)).toBe(true)
      }
    },
    { shared: true },
  ),
  ordered('[35] a replaced owner changes nothing with any settlement', async (o) => {
    const owner = await o.owner()
    await o.push(item('1', 'v1'), item('2', 'v2'), item('3', 'v3', 1, { performIn: 2000 }))
    const held = await owner.fetch()
    await owner.die()
    const heir = await o.member()
    expect(await heir.own()).toEqual({ token: sure(owner.tokens.get(0)) + 1, rescued: 2, died: [] })
    // They were in flight together: each comes alone.
    const [first] = await heir.fetch(5)
    const before = await everything(o)
    for (const end of [done, failed(1), dead(), requeue, cancelled]) {
      expect(await owner.answers(end, ...held)).toEqual(['fenced', 'fenced'])
      expect(await heir.answers(end, ...held)).toEqual(['fenced', 'fenced'])
    }
    expect((await owner.settleAndFetch({ fetch: [owner.request(5)] })).fetched).toMatchObject([{ lost: true, ids: [] }])
    expect((await owner.settleAndFetch({ fetch: [heir.request(5)] })).fetched).toMatchObject([{ lost: true, ids: [] }])
    expect(await everything(o)).toEqual(before)
    await heir.settle(done, first)
    expect(await o.store.ordered.acquireShard(o.name, 0, owner.name, 3, o.ms)).toBe(null)
    expect(await o.store.ordered.join(o.name, owner.name)).toBe(false)
    expect(await o.store.ordered.releaseShard(o.name, 0, owner.name, sure(owner.tokens.get(0)), o.ms)).toBe(false)
    expect(sure(await o.store.ordered.assignments(o.name)).owners).toMatchObject([{ owner: heir.name }])
  }),
  ordered('an owner whose lease was claimed is fenced at once, before its shard has a new owner', async (o) => {
    const owner = await o.owner()
    await o.push(item('1'), item('2'))
    const held = await owner.fetch(1)
    await owner.die()
    const answer = await owner.settleAndFetch({
      settlements: held.map((one) => settlement(one, done)),
      fetch: [owner.request(1)],
    })
    expect(answer).toMatchObject({ settled: ['fenced'], fetched: [{ lost: true, ids: [] }] })
    expect(sure(await o.store.ordered.assignments(o.name))).toMatchObject({
      members: [],
      owners: [{ owner: null, token: owner.tokens.get(0) }],
    })
    expect(await o.busy()).toEqual(['1'])
  }),
  ordered('an expired lease that nobody claimed keeps its shards, and is valid again after a renewal', async (o, t) => {
    await o.push(item('1'))
    const name = await t.owner({ queues: [o.name], seconds: 0.05 })
    expect(await o.store.ordered.join(o.name, name)).toBe(true)
    await o.store.workers.renew(name, 60)
    const token = sure(await o.store.ordered.acquireShard(o.name, 0, name, 3, o.ms)).token
    await o.store.workers.renew(name, 0.05)
    await until('the lease is over', async () => (await o.store.workers.leases()).every(({ ended }) => ended))
    expect(await o.store.workers.renew(name, 60)).toBe(true)
    const fetch = [{ shard: 0, token, n: 5 }]
    const turn = { now: o.ms, settlements: [], fetch, maxPayloads: 10 }
    expect((await o.store.ordered.settleAndFetch(o.name, name, turn)).fetched).toMatchObject([
      { lost: false, ids: [{ id: '1' }] },
    ])
  }),
  ordered('only owners with a lease are members, and members are listed in order', async (o, t) => {
    await o.store.ordered.define(o.name, 1)
    expect(await o.store.ordered.join(o.name, t.ownerName())).toBe(false)
    const members = [await o.member(), await o.member(), await o.member()]
    expect(await o.store.ordered.join(o.name, members[1]?.name ?? '')).toBe(true)
    const names = members.map(({ name }) => name).sort()
    expect(sure(await o.store.ordered.assignments(o.name)).members).toEqual(names)
    const [gone] = members
    await sure(gone).die()
    expect(sure(await o.store.ordered.assignments(o.name)).members).toEqual(names.filter((name) => name !== gone?.name))
    const stranger = await t.owner({ queues: [o.name] })
    expect(await o.store.ordered.acquireShard(o.name, 0, stranger, 3, o.ms)).toBe(null)
  }),
  ordered(
    'a leaving owner releases its shards, and its ids in flight are requeued without a crash',
    async (o) => {
      const owner = await o.owner()
      await o.pushAll(Array.from({ length: 9 }, (_, n) => item(`${n}`, 'v1', 1, { performIn: 900 })))
      await owner.fetchAll(2)
      await o.push(item('0', 'v2', 2))
      await o.store.ordered.leave(o.name, owner.name, o.ms)
      await o.store.ordered.leave(o.name, owner.name, o.ms)
      expect(await o.sums()).toMatchObject({ length: 9, busy: 0 })
      expect(await o.of('0')).toBe('0{900,-1,{v1:1,v2:2}}')
      const { members, owners } = sure(await o.store.ordered.assignments(o.name))
      expect(members).toEqual([])
      expect(owners.map((one) => [one.owner, one.token])).toEqual(
        [0, 1, 2].map((shard) => [null, owner.tokens.get(shard)]),
      )
      expect((await owner.settleAndFetch({ fetch: [owner.request(5)] })).fetched).toMatchObject([
        { lost: true, ids: [] },
      ])
      const heir = await o.member()
      for (let shard = 0; shard < 3; shard++) {
        const token = sure(owner.tokens.get(shard)) + 1
        expect(await heir.own(shard)).toEqual({ token, rescued: 0, died: [] })
      }
      const taken = await heir.fetchAll(10)
      expect(taken.map(({ suspect, crashes }) => [suspect, crashes])).toEqual(taken.map(() => [false, 0]))
      expect(taken).toHaveLength(9)
    },
    { shards: 3 },
  ),
  ordered(
    'a released shard is free, and its ids in flight are requeued without a crash; other shards stay',
    async (o) => {
      const owner = await o.owner()
      await o.pushAll(Array.from({ length: 12 }, (_, n) => item(`${n}`, 'v1', 1, { performIn: 900 })))
      const held = await owner.fetchAll(3)
      const token = sure(owner.tokens.get(1))
      expect(await o.store.ordered.releaseShard(o.name, 1, owner.name, token + 1, o.ms)).toBe(false)
      expect(await o.store.ordered.releaseShard(o.name, 1, owner.name, token, o.ms)).toBe(true)
      expect(await o.store.ordered.releaseShard(o.name, 1, owner.name, token, o.ms)).toBe(false)
      const [left, gone] = [held.filter(({ shard }) => shard === 0), held.filter(({ shard }) => shard === 1)]
      expect(await owner.answers(done, ...gone)).toEqual(gone.map(() => 'fenced'))
      const other = await o.member()
      expect(await other.own(1)).toEqual({ token: token + 1, rescued: 0, died: [] })
      const taken = await other.fetch(12, 1)
      expect(taken.map(({ id }) => id)).toEqual(expect.arrayContaining(gone.map(({ id }) => id)))
      expect(taken.every(({ suspect, crashes }) => !suspect && crashes === 0)).toBe(true)
      await owner.settle(done, ...left)
    },
    { shards: 2 },
  ),
  ordered('the token grows with each owner, also with a previous one', async (o) => {
    const [one, two] = [await o.member(), await o.member()]
    const tokens: number[] = []
    for (const member of [one, two, one, one, two]) {
      const { token } = await member.own()
      tokens.push(token)
      expect(await o.store.ordered.releaseShard(o.name, 0, member.name, token, o.ms)).toBe(true)
    }
    const [first = 0] = tokens
    expect(tokens).toEqual([0, 1, 2, 3, 4].map((n) => first + n))
    await o.push(item('1'))
    await o.store.ordered.leave(o.name, one.name, o.ms)
    await o.store.ordered.leave(o.name, two.name, o.ms)
    expect(await (await o.member()).own()).toMatchObject({ token: first + 5 })
  }),
  ordered('a removed member may join again', async (o) => {
    const member = await o.owner()
    const token = sure(member.tokens.get(0))
    await o.store.ordered.leave(o.name, member.name, o.ms)
    expect(await member.ask()).toBe(null)
    expect(await o.store.ordered.join(o.name, member.name)).toBe(true)
    expect(await member.own()).toMatchObject({ token: token + 1 })
  }),
  ordered('a queue that is deleted and defined again repeats no token', async (o) => {
    const before = await o.owner()
    const { token } = await (async () => {
      await o.store.ordered.releaseShard(o.name, 0, before.name, sure(before.tokens.get(0)), o.ms)
      return before.own()
    })()
    await o.store.ordered.leave(o.name, before.name, o.ms)
    expect(await o.store.ordered.deleteQueue(o.name)).toBe(true)
    // A call of the store may take less than the clock can tell.
    await sleep(5)
    await o.store.ordered.define(o.name, 1)
    const heir = await o.member()
    expect((await heir.own()).token).toBeGreaterThan(token)
    expect((await before.settleAndFetch({ fetch: [before.request(1)] })).fetched).toMatchObject([{ lost: true }])
  }),
  ordered('an owner that acquires its shard again gets the same token, and another owner nothing', async (o) => {
    const owner = await o.owner()
    const token = sure(owner.tokens.get(0))
    await o.push(item('1'))
    await owner.fetch()
    expect(await owner.ask()).toEqual({ token, rescued: 0, died: [] })
    expect(await (await o.member()).ask()).toBe(null)
    expect(await o.busy()).toEqual(['1'])
  }),
]
