import { expect } from 'vitest'
import { type Case, sure } from '../bench.ts'
import { expectInOrder, ordered } from './check.ts'
import {
  cancelled,
  dead,
  done,
  failed,
  type HeldBatch,
  item,
  type OrderedQueue,
  type Owner,
  textOf,
} from './ordered-queue.ts'

/** What a dead owner had in flight goes back when its shard is taken over. */
export const orderedCrash: Case[] = [
  ordered('[28] ids in flight of a dead owner wait as before, with one more crash', async (o) => {
    const owner = await o.owner()
    await o.push(item('1', 'v1', 10, { performIn: 900 }))
    await owner.fetch()
    await owner.die()
    expect(await o.busy()).toEqual(['1'])
    const heir = await o.member()
    expect(await heir.own()).toEqual({ token: sure(owner.tokens.get(0)) + 1, rescued: 1, died: [] })
    expect(await o.waiting()).toEqual(['1{900,-1,{v1:10}}'])
    const [again] = await heir.fetch()
    expect(again).toMatchObject({ crashes: 1, suspect: false, retryCount: -1 })
    expect(await o.sums()).toMatchObject({ processed: 0, failed: 0 })
  }),
  ordered('[29] unsettled ids of a dead owner run again and count once', async (o) => {
    const owner = await o.owner()
    await o.push(item('1', 'v1', 10))
    const [taken] = await owner.fetch()
    await owner.die()
    const heir = await o.owner()
    const [again] = await heir.fetch()
    expect(again.payloads).toEqual(taken.payloads)
    expect(await owner.answers(done, taken)).toEqual(['fenced'])
    await heir.settle(done, again)
    expect(await o.sums()).toMatchObject({ processed: 1, length: 0, busy: 0 })
  }),
  ordered('[30] rescued payloads are merged with payloads pushed meanwhile', async (o) => {
    const owner = await o.owner()
    await o.push(item('1', 'v1', 10, { performIn: 900 }))
    await owner.fetch()
    await o.push(item('1', 'v1', 5), item('1', 'v2', 20))
    await owner.die()
    await o.owner()
    expect(await o.waiting()).toEqual(['1{900,-1,{v1:5,v2:20}}'])
  }),
  ordered('a failed id keeps its count, its time and its error through a crash', async (o) => {
    const owner = await o.owner()
    await o.push(item('1', 'v1', 10))
    await owner.settle(failed(950, 3, 'no'), (await owner.fetch())[0])
    await owner.fetch()
    await owner.die()
    const heir = await o.owner()
    expect(await o.waiting()).toEqual(['1{950,3,{v1:10},"no"}'])
    expect((await heir.fetch())[0]).toMatchObject({ retryCount: 3, error: 'no', crashes: 1 })
  }),
  ordered('[32] an id that was alone in flight at three crashes in a row goes to the morgue', async (o) => {
    await o.push(item('1', 'v1', 1), item('1', 'v2', 2), item('2', 'w', 3, { performIn: 5000 }))
    for (let crash = 1; crash <= 3; crash++) {
      const owner = await o.owner()
      const taken = await owner.fetch()
      expect(taken).toMatchObject([{ id: '1', crashes: crash - 1 }])
      if (crash === 3) await o.push(item('1', 'v3', 3))
      await owner.die()
    }
    const { died, rescued } = await (await o.member()).own()
    expect(rescued).toBeLessThanOrEqual(1)
    expect(died.map(({ id, payloads, error, deaths }) => [id, textOf(payloads), error, deaths])).toEqual([
      ['1', '{v1:1,v2:2}', 'crashed 3 times', 1],
    ])
    expect(await o.dead()).toEqual(['1{1000,{v1:1,v2:2},"crashed 3 times"}'])
    expect(await o.waiting()).toEqual(['1{1000,-1,{v3:3}}', '2{5000,-1,{w:3}}'])
    expect(await o.sums()).toMatchObject({ processed: 0 })
  }),
  ordered('a success between two crashes resets their count', async (o) => {
    for (let i = 0; i < 2; i++) {
      await o.push(item('1', `v${i}`))
      await crashWith(o, ['1'])
      await crashWith(o, ['1'])
      const owner = await o.owner()
      const [taken] = await owner.fetch()
      expect(taken.crashes).toBe(2)
      await owner.settle(done, taken)
      await o.store.ordered.leave(o.name, owner.name, o.ms)
    }
    expect(await o.dead()).toEqual([])
  }),
  ordered('a crash with several ids in flight counts for none; each runs alone until it is done', async (o) => {
    await o.push(item('1'), item('2'), item('3'))
    await crashWith(o, ['1', '2', '3'])
    await o.push(item('4'), item('0', '', 1, { performIn: 1 }))
    const owner = await o.owner()
    expect(await o.sums()).toMatchObject({ length: 5 })
    const runs: string[][] = []
    let held: HeldBatch[] = []
    for (let i = 0; i < 12; i++) {
      const before = held
      held = await owner.fetch(10)
      if (before.some(({ suspect }) => suspect)) expect(held).toEqual([])
      if (held.some(({ suspect }) => suspect)) {
        expect(held).toHaveLength(1)
        expect(await o.busy()).toHaveLength(1)
      }
      expect(held.every(({ crashes }) => crashes === 0)).toBe(true)
      if (held.length > 0) runs.push(held.map(({ id, suspect }) => `${id}${suspect ? '?' : ''}`))
      if (held.some(({ suspect }) => suspect)) expect(await owner.fetch(10)).toEqual([])
      await owner.settle(done, ...held)
      held = []
    }
    expect(runs).toEqual([['0'], ['1?'], ['2?'], ['3?'], ['4']])
    await o.push(item('1'), item('2'))
    expect(await owner.fetch()).toMatchObject([
      { id: '1', suspect: false },
      { id: '2', suspect: false },
    ])
  }),
  ordered('a suspect id is not delayed forever by ids that are due later', async (o) => {
    await o.push(item('s1'), item('s2'))
    await crashWith(o, ['s1', 's2'])
    o.now = 1002
    await o.push(item('a', '', 1, { performIn: 900 }))
    const owner = await o.owner()
    const held: HeldBatch[] = [...(await owner.fetch(1))]
    const suspects: string[] = []
    // More is pushed all the time, and as long as more comes, something is in flight.
    for (let n = 0; n < 15 && suspects.length < 2; n++) {
      await o.push(item(`${n}`, '', 1, { performIn: 1001 }))
      const taken = await owner.fetch(2)
      held.push(...taken)
      for (const { id, suspect } of taken) if (suspect) suspects.push(id)
      if (taken.some(({ suspect }) => suspect)) expect(held).toHaveLength(1)
      if (held.length > 1 || taken.length === 0 || suspects.length > 0) await owner.settle(done, sure(held.shift()))
    }
    expect(suspects).toEqual(['s1', 's2'])
  }),
  ordered('a suspect id that is alone when its owner dies gets the crash', async (o) => {
    await o.push(item('1'), item('2'))
    await crashWith(o, ['1', '2'])
    for (let crash = 0; crash < 3; crash++) {
      const owner = await o.owner()
      expect(await owner.fetch(10)).toMatchObject([{ id: '1', suspect: true, crashes: crash }])
      await owner.die()
    }
    const heir = await o.owner()
    expect(await o.dead()).toEqual(['1{1000,{"":1000},"crashed 3 times"}'])
    expect(await heir.fetch(10)).toMatchObject([{ id: '2', suspect: true, crashes: 0 }])
  }),
  ordered(
    'crashes are counted by shard',
    async (o) => {
      const owner = await o.owner()
      await o.pushAll(Array.from({ length: 20 }, (_, n) => item(`${n}`)))
      const [one] = await owner.fetch(1, 0)
      const several = await owner.fetch(2, 1)
      await owner.die()
      const heir = await o.owner()
      expect((await heir.fetch(1, 0))[0]).toMatchObject({ id: one.id, crashes: 1, suspect: false })
      expect(await heir.fetch(5, 1)).toMatchObject([{ id: several[0].id, crashes: 0, suspect: true }])
    },
    { shards: 2 },
  ),
  ordered('an id that is requeued on purpose has no crash and is not suspect', async (o) => {
    await o.push(item('1'), item('2'))
    const owner = await o.owner()
    await owner.settle({ kind: 'requeue' }, ...(await owner.fetch()))
    expect(await owner.fetch()).toMatchObject([
      { id: '1', crashes: 0, suspect: false },
      { id: '2', crashes: 0, suspect: false },
    ])
  }),
  ordered('[33] a server that forgets its scripts between any two calls changes nothing', async (o, t) => {
    let owner = await o.owner()
    const step = async <T>(call: () => Promise<T>) => {
      await t.disturb()
      const answer = await call()
      await expectInOrder(o)
      return answer
    }
    await step(() => o.push(item('1', 'v1', 1), item('2', 'w', 2)))
    const [one, two] = await step(() => owner.fetch(2))
    await step(() => o.push(item('1', 'v2', 2)))
    await step(() => owner.settle(failed(900), one))
    await step(() => owner.settle(dead(), two))
    await step(() => o.store.ordered.resurrect(o.name, ['2'], o.ms))
    await step(() => owner.fetch(1))
    await step(() => owner.die())
    const heir = await o.member()
    await step(() => heir.own())
    owner = heir
    expect(await o.waiting()).toEqual(['1{900,0,{v1:1,v2:2},"x"}', '2{1000,-1,{w:2},"x"}'])
    await step(() => o.store.ordered.act(o.name, 'kill', ['2'], { now: o.ms }))
    await step(() => o.store.ordered.cancel(o.name, ['1']))
    await step(() => o.store.ordered.reshard(o.name, 3))
    await step(() => o.store.ordered.moveShards(o.name))
    await step(() => o.store.ordered.releaseShard(o.name, 0, owner.name, sure(owner.tokens.get(0)), o.ms))
    await step(() => o.store.ordered.deleteDead(o.name, ['2']))
  }),
  ordered('an id cancelled in flight is not rescued after a crash; later payloads are', async (o) => {
    const owner = await o.owner()
    await o.push(item('1', 'v1'), item('2', 'w1'))
    await owner.fetch()
    expect(await o.store.ordered.cancel(o.name, ['1'])).toEqual(['signalled'])
    await o.push(item('1', 'v2', 7))
    await owner.die()
    await o.owner()
    expect(await o.waiting()).toEqual(['1{1000,-1,{v2:7}}', '2{1000,-1,{w1:1000}}'])
    expect(await o.sums()).toMatchObject({ processed: 0, failed: 0, busy: 0 })
  }),
  ordered('late calls of a claimed owner change nothing, before and after its shard has another owner', async (o) => {
    const owner = await o.owner()
    await o.push(item('1', 'v1'))
    const [taken] = await owner.fetch()
    await owner.die()
    for (const end of [done, failed(1), dead(), cancelled]) expect(await owner.answers(end, taken)).toEqual(['fenced'])
    await o.store.ordered.leave(o.name, owner.name, o.ms)
    const heir = await o.member()
    await heir.own()
    expect(await o.waiting()).toEqual(['1{1000,-1,{v1:1000}}'])
    for (const end of [done, failed(1), dead(), cancelled]) expect(await owner.answers(end, taken)).toEqual(['fenced'])
    expect(await o.sums()).toMatchObject({ length: 1, busy: 0, processed: 0, failed: 0 })
  }),
]

/** A new owner takes just these and dies; the next who owns the shard restores them. */
async function crashWith(o: OrderedQueue, ids: string[]): Promise<Owner> {
  const owner = await o.owner()
  expect((await owner.fetch(ids.length)).map(({ id }) => id)).toEqual(ids)
  await owner.die()
  return owner
}
