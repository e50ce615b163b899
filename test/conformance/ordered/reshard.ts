import { expect } from 'vitest'
import { shardOf } from '#dist/store/contract.js'
import { type Case, sure } from '../bench.ts'
import { expectInOrder, ordered, workOff } from './check.ts'
import { done, failed, type HeldBatch, item, type OrderedQueue, type Owner, textOfWaiting } from './ordered-queue.ts'

/** The number of shards changes while all goes on. */
export const orderedReshard: Case[] = [
  ...([10, 1] as const).map((target) =>
    ordered(
      `[40] from 5 shards to ${target} while ids are pushed, run and crash: all is where it belongs, and runs in order`,
      (o) => reshardUnderWay(o, target),
      { shards: 5, seconds: 60 },
    ),
  ),
  ordered(
    '[40] a reshard keeps times, counts and scores of waiting ids',
    async (o) => {
      const owner = await o.owner()
      await o.push(...Array.from({ length: 60 }, (_, n) => item(`${n}`, 'v1', n, { performIn: 500 + n })))
      const some = await owner.fetchAll(6)
      for (const [n, one] of some.entries()) await owner.settle(failed(700 + n, n % 3, `e${n}`), one)
      await o.pushAll(Array.from({ length: 1200 }, (_, n) => item(`${n}`, 'v2', 7, { performIn: 3000 })))
      const before = await o.waiting()
      expect(await o.store.ordered.reshard(o.name, 7)).toBe(true)
      const moved = await moveAll(o)
      expect(moved.length).toBeGreaterThan(2)
      expect(Math.max(...moved)).toBeLessThanOrEqual(500)
      expect(await o.waiting()).toEqual(before)
      for (const { id, shard } of await o.all('id')) expect(shard).toBe(shardOf(id, 7))
      expect(sure(await o.store.ordered.assignments(o.name))).toMatchObject({ shards: 7, from: null })
      expect(await o.store.ordered.moveShards(o.name)).toBe(0)
      expect((await owner.settleAndFetch({})).shards).toBe(7)
    },
    { shards: 2, seconds: 60 },
  ),
  ordered(
    'an unfinished reshard continues with the same number, and another number is refused until it is complete',
    async (o) => {
      await o.pushAll(Array.from({ length: 700 }, (_, n) => item(`${n}`)))
      expect(await o.store.ordered.reshard(o.name, 3)).toBe(true)
      expect(sure(await o.store.ordered.assignments(o.name))).toMatchObject({ shards: 3, from: 2 })
      expect(await o.store.ordered.moveShards(o.name)).toBeGreaterThan(0)
      expect(await o.store.ordered.reshard(o.name, 4)).toBe(false)
      expect(await o.store.ordered.reshard(o.name, 2)).toBe(false)
      expect(await o.store.ordered.reshard(o.name, 3)).toBe(true)
      expect(sure(await o.store.ordered.assignments(o.name))).toMatchObject({ shards: 3, from: 2 })
      await moveAll(o)
      expect(await o.store.ordered.reshard(o.name, 4)).toBe(true)
      await moveAll(o)
      expect(sure(await o.store.ordered.assignments(o.name))).toMatchObject({ shards: 4, from: null })
    },
    { shards: 2 },
  ),
  ordered(
    'an empty queue is resharded, and to the number that it has',
    async (o) => {
      expect(await o.store.ordered.define(o.name, 2)).toBe(2)
      expect(await o.store.ordered.reshard(o.name, 2)).toBe(true)
      expect(await o.store.ordered.moveShards(o.name)).toBe(0)
      expect(sure(await o.store.ordered.assignments(o.name))).toMatchObject({ shards: 2, from: null })
      expect(await o.store.ordered.reshard(o.name, 5)).toBe(true)
      expect(await o.store.ordered.moveShards(o.name)).toBe(0)
      expect(sure(await o.store.ordered.assignments(o.name))).toMatchObject({ shards: 5, from: null })
      expect(await o.store.ordered.define(o.name, 2)).toBe(5)
    },
    { shards: 2 },
  ),
  ordered(
    'an id in flight of a removed shard is settled there, and is fetched again only after that',
    async (o) => {
      const owner = await o.owner()
      await o.pushAll(Array.from({ length: 40 }, (_, n) => item(`${n}`, 'v1', 1)))
      const held = await owner.fetchAll(2)
      expect(await o.store.ordered.reshard(o.name, 2)).toBe(true)
      await moveAll(o)
      await o.pushAll(held.map(({ id }) => item(id, 'v2', 2)))
      const others = await owner.fetchAvailable(50)
      expect(others).toHaveLength(40 - held.length)
      await owner.settle(done, ...others)
      const gone = held.filter(({ shard }) => shard >= 2)
      expect(gone.length).toBeGreaterThan(0)
      await expectInOrder(o)
      await owner.settle(failed(900), ...held)
      expect(await o.waiting()).toHaveLength(held.length)
      for (const { id, shard } of await o.all('id')) expect(shard).toBe(shardOf(id, 2))
      const again = await owner.fetchAvailable(50)
      expect(again).toHaveLength(held.length)
      await owner.settle(done, ...again)
      await moveAll(o)
      expect(sure(await o.store.ordered.assignments(o.name))).toMatchObject({ shards: 2, from: null })
    },
    { shards: 8 },
  ),
  ordered(
    'ids in flight of removed shards are rescued when their owner dies',
    async (o) => {
      const owner = await o.owner()
      await o.pushAll(Array.from({ length: 40 }, (_, n) => item(`${n}`, 'v1', 1)))
      const held = await owner.fetchAll(1)
      expect(held.some(({ shard }) => shard >= 2)).toBe(true)
      await o.store.ordered.reshard(o.name, 2)
      await moveAll(o)
      await owner.die()
      await moveAll(o)
      const heir = await o.owner()
      await moveAll(o)
      expect(await owner.answers(done, ...held)).toEqual(held.map(() => 'fenced'))
      const runs = await workOff(heir)
      expect(runs.map(({ id }) => id).sort()).toEqual(Array.from({ length: 40 }, (_, n) => `${n}`).sort())
      await moveAll(o)
      expect(sure(await o.store.ordered.assignments(o.name))).toMatchObject({ shards: 2, from: null })
    },
    { shards: 8 },
  ),
  ordered(
    'counts stay when shards are removed',
    async (o) => {
      const owner = await o.owner()
      await o.pushAll(Array.from({ length: 40 }, (_, n) => item(`${n}`)))
      await owner.settle(done, ...(await owner.fetchAll(3)))
      await owner.settle(failed(5000), ...(await owner.fetchAll(2)))
      await o.store.ordered.reshard(o.name, 1)
      await moveAll(o)
      expect(await o.sums()).toMatchObject({ processed: o.processed, failed: o.failed })
      await o.store.ordered.reshard(o.name, 8)
      await moveAll(o)
    },
    { shards: 8 },
  ),
  ordered(
    'a paused queue is resharded with its morgue and cancelled ids',
    async (o) => {
      const owner = await o.owner()
      await o.push(item('1'), item('2'), item('3'))
      const held = await owner.fetchAll(3)
      await owner.settle({ kind: 'dead', error: 'x' }, sure(held.find(({ id }) => id === '1')))
      await o.store.ordered.cancel(o.name, ['2'])
      await o.store.ordered.pause(o.name, true)
      await o.store.ordered.reshard(o.name, 5)
      await moveAll(o)
      expect(sure(await o.store.ordered.assignments(o.name))).toMatchObject({ paused: true })
      expect((await owner.settleAndFetch({})).cancelled).toMatchObject([{ id: '2' }])
      expect(await o.store.ordered.resurrect(o.name, ['1'], o.ms)).toBe(1)
      const [one] = await o.all('id')
      expect(one).toMatchObject({ id: '1', shard: shardOf('1', 5) })
    },
    { shards: 3 },
  ),
]

/** How many were moved in each call. */
async function moveAll(o: OrderedQueue): Promise<number[]> {
  const moved: number[] = []
  for (;;) {
    const n = await o.store.ordered.moveShards(o.name)
    if (n === 0) return moved
    moved.push(n)
  }
}

/** 1,000 wait, 20 are in flight, 50 come later; a producer that thinks of 5 shards goes on, and an owner dies. */
async function reshardUnderWay(o: OrderedQueue, target: number): Promise<void> {
  let owner = await o.owner()
  let score = 0
  const ran = new Map<string, number[]>()
  const pushed = new Map<string, number[]>()
  const push = async (ids: string[], performIn = 900) => {
    const items = ids.map((id) => item(id, ++score, score, { performIn }))
    for (const { id, score: n } of items) pushed.set(id, [...(pushed.get(id) ?? []), n])
    await o.pushAll(items)
  }
  const named = (word: string, n: number) => Array.from({ length: n }, (_, i) => `${word}${i}`)
  await push(named('w', 1000))
  await push(named('later', 50), 5000)
  const running = new Map<string, HeldBatch>()
  const fetch = async (n: number) => {
    for (const one of await owner.fetchAvailable(n)) {
      expect(running.has(one.id), `${one.id} runs already`).toBe(false)
      running.set(one.id, one)
    }
  }
  const end = async (some: HeldBatch[]) => {
    for (const one of some) {
      running.delete(one.id)
      ran.set(one.id, [...(ran.get(one.id) ?? []), ...one.payloads.map(([text]) => Number(text))])
    }
    await owner.settle(done, ...some)
  }
  await fetch(4)
  expect(running.size).toBe(20)
  const first = [...running.values()]
  const before = new Map((await o.all('id')).map((one) => [one.id, textOfWaiting(one)]))

  expect(await o.store.ordered.reshard(o.name, target)).toBe(true)
  for (let step = 0; ; step++) {
    const moved = await o.store.ordered.moveShards(o.name)
    await push([...named('w', 10), ...named(`new${step}-`, 10), ...first.slice(0, 5).map(({ id }) => id)])
    await owner.ownAll()
    await fetch(2)
    await end([...running.values()].filter((one) => !first.includes(one)).slice(0, 5))
    if (step === 1) {
      // It dies midway; its heir goes on, and so does who moves.
      await owner.die()
      running.clear()
      owner = await o.owner()
      expect(await o.store.ordered.reshard(o.name, target)).toBe(true)
    }
    await expectInOrder(o)
    if (moved === 0 && step > 2) break
  }
  await end([...running.values()])
  while ((await o.store.ordered.moveShards(o.name)) > 0);
  for (const one of await o.all('id')) {
    expect(one.shard).toBe(shardOf(one.id, target))
    if (one.id.startsWith('later')) expect(textOfWaiting(one)).toBe(before.get(one.id))
  }
  expect(sure(await o.store.ordered.assignments(o.name))).toMatchObject({ shards: target, from: null })

  const heir: Owner = owner
  o.now = 9000
  await heir.ownAll()
  for (const { id, payloads } of await workOff(heir)) {
    ran.set(id, [...(ran.get(id) ?? []), ...payloads.map(([text]) => Number(text))])
  }
  expect(Object.fromEntries(ran)).toEqual(Object.fromEntries(pushed))
}
