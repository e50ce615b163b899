import { expect } from 'vitest'
import type { OrderedWaiting } from '#dist/store/contract.js'
import { type Case, sure } from '../bench.ts'
import { ordered } from './check.ts'
import { cancelled, dead, done, failed, item, textOf, textOfWaiting } from './ordered-queue.ts'
import { everything } from './settle.ts'

const byBytes = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b))

/** What is told of what waits, and what people do to it. */
export const orderedBrowse: Case[] = [
  ordered(
    'waiting ids are listed by id, by time and by count, in both directions, from any position',
    async (o) => {
      const ids = [...Array.from({ length: 14 }, (_, n) => `${n}`), '～', '😀', 'B', 'b']
      await o.push(...ids.map((id, n) => item(id, 'v', n, { performIn: 500 + (n % 4) })))
      const owner = await o.owner()
      for (const [n, one] of (await owner.fetchAll(50)).entries()) {
        // What is settled again waits again, after some count.
        if (n % 3 > 0) await owner.settle(failed(500 + (n % 5), n % 3), one)
        else await owner.settle({ kind: 'requeue' }, one)
      }
      const all = await o.all('id')
      expect(all).toHaveLength(ids.length)
      const keyOf = (one: OrderedWaiting, by: 'id' | 'performIn' | 'retryCount') => (by === 'id' ? 0 : one[by])
      for (const by of ['id', 'performIn', 'retryCount'] as const) {
        const sorted = [...all].sort((a, b) => keyOf(a, by) - keyOf(b, by) || byBytes(a.id, b.id))
        for (const desc of [false, true]) {
          const wanted = desc ? [...sorted].reverse() : sorted
          for (const limit of [1, 5, 18, 30]) expect(await o.all(by, desc, limit)).toEqual(wanted)
          // From behind a place where nobody is.
          for (const [value, id] of [
            [501.5, ''],
            [502, '5a'],
            [0, 'A'],
            [-1, '~'],
            [-7, ''],
            [9e9, ''],
          ] as const) {
            const behind = wanted.filter((one) => {
              const place = by === 'id' ? byBytes(one.id, id) : keyOf(one, by) - value || byBytes(one.id, id)
              return desc ? place < 0 : place > 0
            })
            const page = { desc, after: { value, id }, limit: 100, payloads: 10 }
            expect(await o.store.ordered.waiting(o.name, by, page)).toEqual(behind)
          }
        }
      }
    },
    { shards: 3 },
  ),
  ordered('an id is listed with the requested number of payloads, and their total', async (o) => {
    await o.push(...[3, 1, 2].map((n) => item('1', `v${n}`, n)))
    for (const [payloads, wanted] of [
      [0, '{}'],
      [2, '{v1:1,v2:2}'],
      [9, '{v1:1,v2:2,v3:3}'],
    ] as const) {
      const [one] = await o.store.ordered.waiting(o.name, 'id', { limit: 9, payloads })
      expect(one?.size).toBe(3)
      expect(textOf(sure(one).payloads)).toBe(wanted)
    }
    expect(await o.store.ordered.waiting(o.name, 'id', { limit: 0, payloads: 1 })).toEqual([])
  }),
  ordered('an unknown queue returns nothing', async (o) => {
    expect(await o.store.ordered.queues()).toEqual([])
    expect(await o.store.ordered.waiting('none', 'performIn', { limit: 9, payloads: 9 })).toEqual([])
    expect(await o.store.ordered.find('none', '1')).toEqual({ waiting: null, inFlight: null, dead: null })
    expect(await o.store.ordered.morgue('none', 'id', { limit: 9 })).toEqual([])
    expect(await o.store.ordered.inFlight('none')).toEqual([])
    expect(await o.store.ordered.cancel('none', ['1'])).toEqual(['not-found'])
    expect(await o.store.ordered.resurrect('none', ['1'], o.ms)).toBe(0)
    expect(await o.store.ordered.queues()).toEqual([])
  }),
  ordered('an id that is performed now is due now, and keeps its count and its error', async (o) => {
    const owner = await o.owner()
    await o.push(item('1', 'v', 1))
    await owner.settle(failed(5000, 3, 'no'), (await owner.fetch())[0])
    await o.push(item('2', 'v', 1, { performIn: 5000 }), item('3', 'v', 1, { performIn: 5000 }))
    expect(await o.store.ordered.act(o.name, 'now', ['1', '2', '2', '9'], { now: o.ms })).toBe(2)
    expect(await o.waiting()).toEqual(['1{1000,3,{v:1},"no"}', '2{1000,-1,{v:1}}', '3{5000,-1,{v:1}}'])
    await o.push(item('4', 'v', 1, { performIn: 5000 }))
    expect(await o.store.ordered.act(o.name, 'now', ['1', '3', '4'], { now: o.ms + 500, failed: true })).toBe(1)
    o.now += 0.5
    expect((await owner.fetch()).map(({ id }) => id).sort()).toEqual(['1', '2'])
  }),
  ordered('delete removes ids, and with failed only failed ones', async (o) => {
    const owner = await o.owner()
    await o.push(item('1', 'v', 1), item('2', 'v', 1))
    await owner.settle(failed(5000), ...(await owner.fetch()))
    await o.push(item('3', 'v', 1), item('4', 'v', 1))
    const act = (ids: string[], failedOnly = false) =>
      o.store.ordered.act(o.name, 'delete', ids, { now: o.ms, failed: failedOnly })
    expect(await act(['1', '3'], true)).toBe(1)
    expect(await act(['1', '3'], true)).toBe(0)
    expect(await o.waiting()).toEqual(['2{5000,0,{v:1},"x"}', '3{1000,-1,{v:1}}', '4{1000,-1,{v:1}}'])
    expect(await act(['2', '3', '9'])).toBe(2)
    expect(await o.waiting()).toEqual(['4{1000,-1,{v:1}}'])
    await o.push(item('2', 'w', 9))
    expect(await o.of('2')).toBe('2{1000,-1,{w:9}}')
  }),
  ordered('kill moves ids with all payloads to the morgue, and with failed only failed ones', async (o) => {
    const owner = await o.owner()
    await o.push(item('1', 'v1', 1), item('1', 'v2', 2))
    await owner.settle(failed(5000, 1, 'no'), ...(await owner.fetch()))
    await o.push(item('2', 'v1', 1), item('2', 'v2', 2))
    const kill = (options: { failed?: boolean; error?: string }) =>
      o.store.ordered.act(o.name, 'kill', ['1', '2', '9'], { now: o.ms, ...options })
    expect(await kill({ failed: true })).toBe(1)
    expect((await o.dead())[0]).toMatch(/^1\{1000,\{v1:1,v2:2\}/)
    expect(await o.waiting()).toHaveLength(1)
    expect(await kill({ error: 'by hand' })).toBe(1)
    expect((await o.dead())[1]).toBe('2{1000,{v1:1,v2:2},"by hand"}')
    expect(await o.store.ordered.morgue(o.name, 'id', { limit: 9 })).toMatchObject([{ deaths: 1 }, { deaths: 1 }])
    expect(await o.sums()).toMatchObject({ length: 0, processed: 0, failed: 1 })
  }),
  ordered('actions do not change ids in flight, and apply to payloads that wait behind them', async (o) => {
    const owner = await o.owner()
    await o.push(item('1', 'v1', 1), item('2', 'v1', 1), item('3', 'v1', 1))
    const held = await owner.fetch()
    await o.push(item('1', 'v2', 2), item('2', 'v2', 2))
    expect(await o.store.ordered.act(o.name, 'delete', ['1', '3'], { now: o.ms })).toBe(1)
    expect(await o.store.ordered.act(o.name, 'kill', ['2', '3'], { now: o.ms, error: 'k' })).toBe(1)
    expect(await o.store.ordered.act(o.name, 'now', ['1', '2', '3'], { now: o.ms })).toBe(0)
    expect(await o.busy()).toEqual(['1', '2', '3'])
    expect(await o.waiting()).toEqual([])
    await owner.settle(failed(2000), ...held)
    expect(await o.waiting()).toEqual(['1{2000,0,{v1:1},"x"}', '2{2000,0,{v1:1},"x"}', '3{2000,0,{v1:1},"x"}'])
    expect(await o.dead()).toEqual(['2{1000,{v2:2},"k"}'])
  }),
  ordered('a single waiting payload is deleted; the id is gone with the last one', async (o) => {
    await o.push(item('1', 'v1', 1), item('1', 'v2', 2), item('1', 'v3', 3))
    const deletePayload = (id: string, payload: string) =>
      o.store.ordered.deletePayload(o.name, id, JSON.stringify(payload))
    expect(await deletePayload('1', 'v2')).toBe(true)
    expect(await deletePayload('1', 'v2')).toBe(false)
    expect(await deletePayload('2', 'v1')).toBe(false)
    expect(await o.waiting()).toEqual(['1{1000,-1,{v1:1,v3:3}}'])
    expect(await deletePayload('1', 'v1')).toBe(true)
    expect(await o.waiting()).toEqual(['1{1000,-1,{v3:3}}'])
    expect(await deletePayload('1', 'v3')).toBe(true)
    expect(await o.store.ordered.find(o.name, '1')).toMatchObject({ waiting: null })
    expect(await o.sums()).toMatchObject({ length: 0 })
    const owner = await o.owner()
    await o.push(item('1', 'v1', 1))
    const [taken] = await owner.fetch()
    expect(await deletePayload('1', 'v1')).toBe(false)
    await owner.settle(done, taken)
    expect(await owner.fetch()).toEqual([])
  }),
  ordered('cancelling removes waiting ids, and reports ids in flight to their owner', async (o) => {
    const owner = await o.owner()
    await o.push(item('1', 'v1', 1), item('2', 'v1', 1))
    const [one, two] = await owner.fetch()
    await o.push(item('1', 'v2', 2), item('3', 'v1', 1))
    expect(await o.store.ordered.cancel(o.name, ['1', '3', '9'])).toEqual(['signalled', 'removed', 'not-found'])
    expect(await o.waiting()).toEqual([])
    expect(await o.store.ordered.cancel(o.name, ['3', '1'])).toEqual(['not-found', 'signalled'])
    const told = [{ id: '1', ticket: one.ticket }]
    expect((await owner.settleAndFetch({})).cancelled).toEqual(told)
    await o.push(item('1', 'v3', 3))
    const answer = await owner.settleAndFetch({ settlements: [{ ...two, end: done }], fetch: [owner.request(5)] })
    expect(answer).toMatchObject({ settled: ['ok'], cancelled: told, fetched: [{ ids: [] }] })
    await owner.settle(cancelled, one)
    expect((await owner.settleAndFetch({})).cancelled).toEqual([])
    expect(await o.sums()).toMatchObject({ processed: 1, failed: 0, length: 1 })
    const [after] = await owner.fetch()
    expect(textOf(after.payloads)).toBe('{v3:3}')
    expect((await owner.settleAndFetch({})).cancelled).toEqual([])
  }),
  ordered('an id cancelled in flight never waits again, however it ends', async (o) => {
    const owner = await o.owner()
    for (const end of [failed(1), dead(), { kind: 'requeue' } as const]) {
      await o.push(item('1', 'v1', 1), item('1', 'v2', 2))
      const [taken] = await owner.fetch()
      await o.store.ordered.cancel(o.name, ['1'])
      expect((await owner.settleAndFetch({ settlements: [{ ...taken, end }] })).settled).toEqual(['ok'])
      expect(await o.waiting()).toEqual([])
      expect(await o.dead()).toEqual([])
    }
    // Whether it is counted as failed is open.
    o.failed = (await o.sums()).failed
    await o.push(item('1', 'v1', 1))
    await owner.fetch()
    await o.store.ordered.cancel(o.name, ['1'])
    await o.store.ordered.leave(o.name, owner.name, o.ms)
    expect(await o.waiting()).toEqual([])
    expect(await o.sums()).toMatchObject({ busy: 0, processed: 0 })
  }),
  ordered('cancelling dead ids changes nothing', async (o) => {
    const owner = await o.owner()
    await o.push(item('1', 'v1', 1))
    await owner.settle(dead(), (await owner.fetch())[0])
    const before = await everything(o)
    expect(await o.store.ordered.cancel(o.name, ['1'])).toEqual(['not-found'])
    expect(await everything(o)).toEqual(before)
  }),
  ordered('lag and lengths are given for each shard', async (o) => {
    await o.push(item('1', 'v', 1, { performIn: 400.5 }), item('2', 'v', 1, { performIn: 2000 }))
    expect(sure(await o.store.ordered.counts(o.name, o.ms))).toEqual({
      name: 'o',
      paused: false,
      morgueLength: 0,
      shards: [
        { shard: 0, owner: null, length: 2, fresh: 2, retries: 0, busy: 0, processed: 0, failed: 0, lag: 599.5 },
      ],
    })
    expect(sure(await o.store.ordered.counts(o.name, 300_000)).shards[0]?.lag).toBe(0)
    expect((await o.all('performIn')).map(textOfWaiting)).toEqual(['1{400.5,-1,{v:1}}', '2{2000,-1,{v:1}}'])
  }),
]
