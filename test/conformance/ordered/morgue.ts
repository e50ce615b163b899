import { expect } from 'vitest'
import type { ScoredPayload } from '#dist/store/contract.js'
import { type Case, sure } from '../bench.ts'
import { ordered } from './check.ts'
import { dead, done, failed, item, type OrderedQueue, textOf } from './ordered-queue.ts'

/** What died, and how it comes back. */
export const orderedMorgue: Case[] = [
  ordered('[39] a resurrected id is due now, fresh, with its scores and its error', async (o) => {
    await addDead(o, '1', [['v1', 10]], 'no')
    o.now = 2000
    expect(await o.store.ordered.resurrect(o.name, ['1'], o.ms)).toBe(1)
    expect(await o.dead()).toEqual([])
    expect(await o.waiting()).toEqual(['1{2000,-1,{v1:10},"no"}'])
  }),
  ordered('[39] a resurrected id is merged with its waiting payloads: the smaller score, due now, fresh', async (o) => {
    await addDead(o, '1', [['v1', 1010]])
    await addDead(o, '2', [['v1', 10]])
    await addDead(o, '3', [['v1', 10]])
    await o.push(item('1', 'v1', 1000, { performIn: 5000 }), item('2', 'v1', 30), item('2', 'v2', 5))
    const owner = await o.owner()
    await o.push(item('3', 'v3', 3, { performIn: 1 }))
    await owner.settle(failed(1010, 0, 'x'), (await owner.fetch(1))[0])
    expect(await o.store.ordered.resurrect(o.name, ['1', '2', '3'], o.ms)).toBe(3)
    expect(await o.waiting()).toEqual([
      '1{1000,-1,{v1:1000},"x"}',
      '2{1000,-1,{v2:5,v1:10},"x"}',
      '3{1000,-1,{v3:3,v1:10},"x"}',
    ])
  }),
  ordered('[39] payloads resurrected while their id is in flight wait until that is settled', async (o) => {
    await addDead(o, '1', [['v1', 10]])
    const owner = await o.owner()
    await o.push(item('1', 'v2', 20))
    const [taken] = await owner.fetch()
    expect(await o.store.ordered.resurrect(o.name, ['1'], o.ms)).toBe(1)
    expect(await owner.fetch()).toEqual([])
    expect(await o.sums()).toMatchObject({ length: 0, busy: 1 })
    expect((await o.all('id')).map(({ payloads }) => textOf(payloads))).toEqual(['{v1:10}'])
    await owner.settle(done, taken)
    expect(textOf((await owner.fetch())[0].payloads)).toBe('{v1:10}')
  }),
  ordered('[39] resurrecting ids that are not in the morgue changes nothing', async (o) => {
    await addDead(o, '1', [['v1', 10]])
    expect(await o.store.ordered.resurrect(o.name, ['2', '__proto__'], o.ms)).toBe(0)
    expect(await o.store.ordered.resurrect(o.name, [], o.ms)).toBe(0)
    expect(await o.store.ordered.resurrect(o.name, ['1', '2', '1'], o.ms)).toBe(1)
    expect(await o.store.ordered.resurrect(o.name, ['1'], o.ms)).toBe(0)
    expect(await o.waiting()).toHaveLength(1)
    expect(await o.store.ordered.deleteDead(o.name, ['1'])).toBe(0)
  }),
  ordered('[39] a payload that dies again keeps its first score, and has a new time of death and error', async (o) => {
    await addDead(o, '1', [['v1', 10]], 'first')
    o.now = 1500
    await addDead(o, '1', [['v1', 30]], 'second')
    expect(await o.dead()).toEqual(['1{1500,{v1:10},"second"}'])
    o.now = 1600
    await addDead(o, '1', [['v1', 5]], 'third')
    await addDead(o, '1', [['v0', 7]], 'fourth')
    expect(await o.dead()).toEqual(['1{1600,{v0:7,v1:10},"fourth"}'])
    expect(await o.store.ordered.morgue(o.name, 'id', { limit: 1 })).toMatchObject([{ deaths: 4 }])
    await o.store.ordered.resurrect(o.name, ['1'], o.ms)
    await o.store.ordered.act(o.name, 'delete', ['1'], { now: o.ms })
    await addDead(o, '1', [['v1', 5]])
    expect(await o.store.ordered.morgue(o.name, 'id', { limit: 1 })).toMatchObject([{ deaths: 1 }])
  }),
  ordered('dead ids are deleted from the morgue only', async (o) => {
    for (const id of ['1', '2', '3']) await addDead(o, id, [['v', 1]])
    await o.push(item('2', 'w', 1))
    expect(await o.store.ordered.deleteDead(o.name, ['2', '2', '9'])).toBe(1)
    expect(await o.store.ordered.deleteDead(o.name, [])).toBe(0)
    expect((await o.dead()).map((text) => text[0])).toEqual(['1', '3'])
    expect(await o.waiting()).toHaveLength(1)
  }),
  ordered('the morgue is listed by id and by time of death, in both directions, from any position', async (o) => {
    const ids = ['b', 'a', '～', '😀', 'c', 'B']
    for (const [n, id] of ids.entries()) {
      o.now = T0 + Math.floor(n / 2)
      await addDead(o, id, [['v', n]])
    }
    const byBytes = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b))
    const byId = [...ids].sort(byBytes)
    const age = (id: string) => T0 + Math.floor(ids.indexOf(id) / 2)
    const byAge = [...ids].sort((a, b) => age(a) - age(b) || byBytes(a, b))
    for (const desc of [false, true]) {
      for (const [by, sorted] of [
        ['id', byId],
        ['updatedAt', byAge],
      ] as const) {
        const wanted = desc ? [...sorted].reverse() : sorted
        for (const limit of [1, 2, 5, 6, 7]) {
          const told: string[] = []
          for (let more = true; more; ) {
            const last = told.at(-1)
            const after = last === undefined ? undefined : { value: by === 'id' ? 0 : age(last), id: last }
            const page = await o.store.ordered.morgue(o.name, by, { desc, limit, ...(after && { after }) })
            told.push(...page.map(({ id }) => id))
            more = page.length === limit
          }
          expect(told).toEqual(wanted)
        }
      }
      const between = await o.store.ordered.morgue(o.name, 'updatedAt', {
        desc,
        after: { value: T0 + 0.5, id: '' },
        limit: 9,
      })
      expect(between.map(({ id }) => id)).toEqual(desc ? byAge.slice(0, 2).reverse() : byAge.slice(2))
      const behind = await o.store.ordered.morgue(o.name, 'id', { desc, after: { value: 0, id: 'aa' }, limit: 9 })
      expect(behind.map(({ id }) => id)).toEqual(desc ? ['a', 'B'] : byId.slice(2))
    }
  }),
  ordered('the morgue is trimmed to the newest, and of those to the ones that are new enough', async (o) => {
    for (let n = 0; n < 10; n++) {
      o.now = T0 + n
      await addDead(o, `${n}`, [['v', n]])
    }
    expect(await o.store.ordered.pruneMorgue(o.name, 100, 0)).toBe(0)
    expect(await o.store.ordered.pruneMorgue(o.name, 8, 0)).toBe(2)
    expect((await o.dead()).map((text) => text[0])).toEqual(['2', '3', '4', '5', '6', '7', '8', '9'])
    expect(await o.store.ordered.pruneMorgue(o.name, 8, T0 + 4)).toBe(2)
    expect(await o.store.ordered.pruneMorgue(o.name, 3, T0 + 5)).toBe(3)
    expect((await o.dead()).map((text) => text[0])).toEqual(['7', '8', '9'])
    expect(await o.store.ordered.pruneMorgue(o.name, 0, 0)).toBe(3)
    expect(await o.store.ordered.pruneMorgue(o.name, 0, 0)).toBe(0)
    expect(await o.dead()).toEqual([])
  }),
  ordered(
    'an id with very many payloads is killed, resurrected and deleted in steps, with other calls between them',
    async (o) => {
      const some = (from: number, n: number, score: number) =>
        o.pushAll(Array.from({ length: n }, (_, i) => item('a', from + i, score, { performIn: 0 })))
      /** The calls in the order in which they end: the long one, and those made after it. */
      const first = async <T>(act: Promise<T>, other: string) => {
        const ends: string[] = []
        const [answer] = await Promise.all([
          act.finally(() => ends.push('act')),
          o.push(item(other)).then(() => ends.push('push')),
        ])
        return [answer, ends[0]]
      }
      const dead = async () => (await o.store.ordered.find(o.name, 'a')).dead
      const kill = () => o.store.ordered.act(o.name, 'kill', ['a', 'none'], { now: o.ms, error: 'x' })
      const sum = (payloads: readonly ScoredPayload[] = []) => payloads.reduce((total, [, score]) => total + score, 0)
      await some(0, 4100, 10)
      expect(await kill()).toBe(1)
      expect(await dead()).toMatchObject({ deaths: 1, error: 'x' })
      await some(3100, 4100, 20)
      expect(await first(kill(), 'b')).toEqual([1, 'push'])
      expect(await dead()).toMatchObject({ deaths: 2 })
      // Payloads that were dead already keep their first score.
      expect((await dead())?.payloads).toHaveLength(7200)
      expect(sum((await dead())?.payloads)).toBe(4100 * 10 + 3100 * 20)
      await some(7100, 200, 5)
      expect(await first(o.store.ordered.resurrect(o.name, ['none', 'a'], o.ms), 'c')).toEqual([1, 'push'])
      expect(await dead()).toBe(null)
      const { waiting } = await o.store.ordered.find(o.name, 'a')
      expect(waiting).toMatchObject({ size: 7300, retryCount: -1, error: 'x', performIn: o.ms / 1000 })
      const [all] = await o.store.ordered.waiting(o.name, 'id', { limit: 1, payloads: 9000 })
      expect(sum(all?.payloads)).toBe(4100 * 10 + 3000 * 20 + 200 * 5)
      expect(await kill()).toBe(1)
      expect(await o.store.ordered.deleteDead(o.name, ['a', 'none'])).toBe(1)
      expect(await dead()).toBe(null)
      await some(0, 4100, 10)
      expect(await o.store.ordered.act(o.name, 'delete', ['a', 'b', 'c'], { now: o.ms })).toBe(3)
      await some(0, 4100, 10)
      expect(await o.store.ordered.cancel(o.name, ['a'])).toEqual(['removed'])
      expect(await o.all('id')).toEqual([])
      expect(await o.sums()).toMatchObject({ length: 0 })
    },
  ),
  ordered('a queue with something in its morgue is not empty', async (o) => {
    await addDead(o, '1', [['v', 1]])
    for (const { name } of sure(await o.store.ordered.assignments(o.name)).members.map((name) => ({ name }))) {
      await o.store.ordered.leave(o.name, name, o.ms)
    }
    expect(await o.store.ordered.deleteQueue(o.name)).toBe(false)
    expect(await o.dead()).toHaveLength(1)
  }),
]

const T0 = 3000

/** These payloads die, one after the other; what else waits of the id is left. */
async function addDead(o: OrderedQueue, id: string, payloads: [string, number][], error = 'x'): Promise<void> {
  const owner = await o.owner()
  for (const [payload, score] of payloads) {
    await o.push(item(id, payload, score, { performIn: 0 }))
    const [taken] = await owner.fetch(1)
    expect(taken).toMatchObject({ id })
    await owner.settle(dead(error), taken)
  }
  await o.store.ordered.leave(o.name, owner.name, o.ms)
}
