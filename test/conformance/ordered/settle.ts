import { expect } from 'vitest'
import type { Case } from '../bench.ts'
import { expectInOrder, ordered } from './check.ts'
import {
  cancelled,
  dead,
  done,
  failed,
  item,
  later,
  type OrderedQueue,
  requeue,
  settlement,
  textOf,
} from './ordered-queue.ts'

/** What becomes of what was taken. */
export const orderedSettle: Case[] = [
  ordered('[15] done ids are removed and counted', async (o, t) => {
    const owner = await o.owner()
    const before = await t.contents()
    await o.push(item('1', 'v1'), item('1', 'v2'), item('2'))
    await owner.settle(done, ...(await owner.fetch()))
    expect(await o.sums()).toEqual({ length: 0, fresh: 0, retries: 0, busy: 0, processed: 2, failed: 0 })
    expect(await o.store.ordered.find(o.name, '1')).toEqual({ waiting: null, inFlight: null, dead: null })
    // What is counted and what counts tickets may come to be.
    const left = (await t.contents()).filter((thing) => !before.includes(thing))
    expect(left.filter((thing) => /payload|inflight|in_flight|due/.test(thing))).toEqual([])
  }),
  ordered('[16] a repeated settlement of each kind changes nothing', async (o) => {
    const owner = await o.owner()
    for (const end of [done, failed(1010), dead(), requeue, cancelled]) {
      await o.push(item('1', 'v1', 1), item('1', 'v2', 2))
      const [taken] = await owner.fetch()
      expect(await owner.answers(end, taken, taken)).toEqual(['ok', 'fenced'])
      const before = await everything(o)
      expect(await owner.answers(end, taken)).toEqual(['fenced'])
      for (const other of [done, failed(1), dead(), requeue, cancelled]) {
        expect(await owner.answers(other, taken)).toEqual(['fenced'])
      }
      expect(await everything(o)).toEqual(before)
      await o.store.ordered.act(o.name, 'delete', ['1'], { now: o.ms })
    }
  }),
  ordered('[17] an old settlement does not change a later fetch of the same id', async (o) => {
    const owner = await o.owner()
    await o.push(item('1', 'v1'))
    const [old] = await owner.fetch()
    await owner.settle(failed(900), old)
    const [now] = await owner.fetch()
    const before = await everything(o)
    for (const end of [done, failed(1), dead(), requeue, cancelled]) {
      expect(await owner.answers(end, old)).toEqual(['fenced'])
      expect(await owner.answers(end, { ...old, ticket: now.ticket, id: '2' })).toEqual(['fenced'])
      expect(await owner.answers(end, { ...now, token: now.token + 1 })).toEqual(['fenced'])
    }
    expect(await everything(o)).toEqual(before)
    expect(await o.busy()).toEqual(['1'])
    await owner.settle(done, now)
  }),
  ordered('[17] a settlement changes only the ids that it names; others of the shard stay in flight', async (o) => {
    const owner = await o.owner()
    await o.push(item('1'), item('2'), item('3'))
    const first = await owner.fetch(2)
    const second = await owner.fetch(2)
    await owner.settle(done, ...first)
    expect(await o.busy()).toEqual(['3'])
    await owner.die()
    const heir = await o.owner()
    expect(await o.waiting()).toEqual(['3{1000,-1,{"":1000}}'])
    expect(second).toHaveLength(1)
    expect(await heir.fetch()).toMatchObject([{ id: '3' }])
  }),
  ordered('[19] the same payload, pushed again while it is in flight, is fetched once more', async (o) => {
    const owner = await o.owner()
    await o.push(item('1', 'v1', 10))
    const [first] = await owner.fetch()
    await o.push(item('1', 'v1', 30))
    await owner.settle(done, first)
    expect(await o.waiting()).toEqual(['1{1000,-1,{v1:30}}'])
  }),
  ordered('[20] the same payload, pushed again while it is in flight, is merged when that fails', async (o) => {
    const owner = await o.owner()
    await o.push(item('1', 'v1', 10))
    const [first] = await owner.fetch()
    await o.push(item('1', 'v1', 30))
    await owner.settle(failed(1010), first)
    expect(await o.waiting()).toEqual(['1{1010,0,{v1:10},"x"}'])
    o.now = 1010
    const [second] = await owner.fetch()
    await o.push(item('1', 'v1', 5))
    await owner.settle(failed(1030, 1), second)
    expect(await o.waiting()).toEqual(['1{1030,1,{v1:5},"x"}'])
  }),
  ordered('[21] a failed id is retried with its own time and count, with any pushes meanwhile', async (o) => {
    const owner = await o.owner()
    await o.push(item('1', 'v1', 10))
    const [first] = await owner.fetch()
    await o.push(item('1', 'v2', 20, { performIn: 2000 }))
    await o.push(item('1', 'v3', 30, { performIn: 1, wake: true }))
    await owner.settle(failed(1010), first)
    expect(await o.waiting()).toEqual(['1{1010,0,{v1:10,v2:20,v3:30},"x"}'])
  }),
  ordered('[22] failed ids of a batch wait again, the others are done', async (o) => {
    const owner = await o.owner()
    await o.push(item('1'), item('2'), item('3'))
    const [one, two, three] = await owner.fetch()
    const answer = await owner.settleAndFetch({
      settlements: [settlement(one, failed(1010)), settlement(two, done), settlement(three, failed(1010))],
    })
    expect(answer.settled).toEqual(['ok', 'ok', 'ok'])
    expect(await o.waiting()).toEqual(['1{1010,0,{"":1000},"x"}', '3{1010,0,{"":1000},"x"}'])
    expect(await o.sums()).toMatchObject({ processed: 1, failed: 2, retries: 2 })
    expect(await owner.fetch()).toEqual([])
  }),
  ordered('[23] a second failure increments the count', async (o) => {
    const owner = await o.owner()
    await o.push(item('1', 'v1', 1))
    await owner.settle(failed(1010, 0, 'a'), (await owner.fetch())[0])
    o.now = 1010
    const [again] = await owner.fetch()
    expect(again).toMatchObject({ retryCount: 0, error: 'a', performIn: 1010 })
    await owner.settle(failed(1030, 1, 'b'), again)
    expect(await o.waiting()).toEqual(['1{1030,1,{v1:1},"b"}'])
  }),
  ordered('a snoozed id has its own time and count, and does not count as failed', async (o) => {
    const owner = await o.owner()
    await o.push(item('1', 'v1', 1))
    const [first] = await owner.fetch()
    await o.push(item('1', 'v1', 0), item('1', 'v2', 2))
    await owner.settle(later(1010, 1), first)
    expect(await o.waiting()).toEqual(['1{1010,1,{v1:0,v2:2}}'])
    expect(await o.sums()).toMatchObject({ failed: 0, processed: 0, retries: 1 })
  }),
  ordered('[24] only the payload with the smallest score dies, the others start over', async (o) => {
    const owner = await o.owner()
    await o.push(item('1', 'v1', 1), item('1', 'v2', 2))
    await owner.settle(failed(900, 2), (await owner.fetch())[0])
    await owner.settle(dead('x'), (await owner.fetch())[0])
    expect(await o.dead()).toEqual(['1{1000,{v1:1},"x"}'])
    expect(await o.waiting()).toEqual(['1{1000,-1,{v2:2},"x"}'])
    expect(await o.sums()).toMatchObject({ failed: 2, processed: 0, fresh: 1 })
  }),
  ordered('among equal scores the first payload by its bytes dies, and payloads pushed meanwhile stay', async (o) => {
    const owner = await o.owner()
    await o.push(item('1', 'b', 1), item('1', 'a', 1))
    const [taken] = await owner.fetch()
    await o.push(item('1', 'c', 0, { performIn: 3000 }), item('1', 'b', 0, { performIn: 3000 }))
    await owner.settle(dead('x'), taken)
    expect(await o.dead()).toEqual(['1{1000,{a:1},"x"}'])
    expect(await o.waiting()).toEqual(['1{1000,-1,{b:0,c:0},"x"}'])
  }),
  ordered('a payload that is pushed while the same one is in flight and dies still waits', async (o) => {
    const owner = await o.owner()
    await o.push(item('1', 'v1', 10))
    const [taken] = await owner.fetch()
    await o.push(item('1', 'v1', 20))
    await owner.settle(dead('x'), taken)
    expect(await o.dead()).toEqual(['1{1000,{v1:10},"x"}'])
    expect((await o.all('id')).map(({ payloads }) => textOf(payloads))).toEqual(['{v1:20}'])
  }),
  ordered('[25] an id whose only payload dies no longer waits; the rest of the batch waits again', async (o) => {
    const owner = await o.owner()
    await o.push(item('1', 'v1', 1))
    await owner.settle(failed(900, 2), (await owner.fetch())[0])
    await o.push(item('2', 'v2', 2))
    const [one, two] = await owner.fetch()
    await owner.settleAndFetch({ settlements: [settlement(one, dead()), settlement(two, failed(1010))] })
    expect(await o.dead()).toEqual(['1{1000,{v1:1},"x"}'])
    expect(await o.waiting()).toEqual(['2{1010,0,{v2:2},"x"}'])
  }),
  ordered('[26] payloads that die one after the other are all in the morgue, in their order', async (o) => {
    const owner = await o.owner()
    await o.push(item('1', 'v1', 1), item('1', 'v2', 2))
    const calls: string[] = []
    for (const end of [failed(1000), dead(), failed(1000), dead()]) {
      const [taken] = await owner.fetch()
      calls.push(textOf(taken.payloads))
      await owner.settle(end, taken)
    }
    expect(calls).toEqual(['{v1:1,v2:2}', '{v1:1,v2:2}', '{v2:2}', '{v2:2}'])
    expect(await o.dead()).toEqual(['1{1000,{v1:1,v2:2},"x"}'])
    expect(await o.waiting()).toEqual([])
    expect(await o.store.ordered.morgue(o.name, 'id', { limit: 9 })).toMatchObject([{ deaths: 2 }])
  }),
  ordered('a requeued id is unchanged, merged with payloads pushed meanwhile', async (o) => {
    const owner = await o.owner()
    await o.push(item('1', 'v1', 10), item('1', 'v2', 20))
    await owner.settle(failed(900, 2, 'no'), (await owner.fetch())[0])
    const [taken] = await owner.fetch()
    await o.push(item('1', 'v2', 5), item('1', 'v3', 30))
    await owner.settle(requeue, taken)
    expect(await o.waiting()).toEqual(['1{900,2,{v2:5,v1:10,v3:30},"no"}'])
    expect(await o.sums()).toMatchObject({ processed: 0, failed: 1, retries: 1 })
  }),
  ordered('an id that is settled in a call can be fetched in it', async (o) => {
    const owner = await o.owner()
    await o.push(item('1', 'v1', 1))
    const [first] = await owner.fetch()
    await o.push(item('1', 'v2', 2))
    const answer = await owner.settleAndFetch({
      settlements: [settlement(first, failed(1000))],
      fetch: [owner.request(5)],
    })
    expect(answer.fetched[0]?.ids.map(({ id, payloads }) => id + textOf(payloads))).toEqual(['1{v1:1,v2:2}'])
    await expectInOrder(o)
  }),
  ordered(
    'one wrong settlement does not affect the others',
    async (o) => {
      await o.pushAll(Array.from({ length: 100 }, (_, n) => item(`${n}`)))
      const owner = await o.owner()
      const held = await owner.fetchAll(100)
      expect(held).toHaveLength(100)
      const settlements = held.map((one, i) =>
        settlement(i % 3 === 1 ? { ...one, ticket: `${one.ticket}9` } : one, done),
      )
      const { settled } = await owner.settleAndFetch({ settlements })
      expect(settled).toEqual(held.map((_, i) => (i % 3 === 1 ? 'fenced' : 'ok')))
      await expectInOrder(o)
    },
    { shards: 2 },
  ),
]

/** All that is shown of a queue. */
export async function everything(o: OrderedQueue): Promise<unknown> {
  return {
    board: await o.store.ordered.assignments(o.name),
    numbers: await o.store.ordered.counts(o.name, o.ms),
    waiting: await o.all('id'),
    inFlight: await o.store.ordered.inFlight(o.name),
    morgue: await o.store.ordered.morgue(o.name, 'id', { limit: 1000 }),
  }
}
