import { expect } from 'vitest'
import { type Case, sure } from '../bench.ts'
import { ordered } from './check.ts'
import { done, failed, item } from './ordered-queue.ts'

/** What is pushed waits by its id, each payload once. */
export const orderedPush: Case[] = [
  ordered('[1] a push without a payload stores the empty payload', async (o) => {
    await o.push(item('7'))
    expect(await o.waiting()).toEqual(['7{1000,-1,{"":1000}}'])
  }),
  ordered('[2] the same payload again with a larger score changes nothing', async (o) => {
    await o.push(item('1', 'v1', 1000))
    await o.push(item('1', 'v1', 1010))
    expect(await o.waiting()).toEqual(['1{1000,-1,{v1:1000}}'])
  }),
  ordered('[3] of two scores of a payload the smaller one stays, in any order', async (o) => {
    await o.push(item('1', 'v1', 20))
    await o.push(item('1', 'v1', 10))
    await o.push(item('2', 'v1', 30), item('2', 'v2', 25), item('2', 'v1', 20), item('2', 'v2', 40))
    expect(await o.waiting()).toEqual(['1{1000,-1,{v1:10}}', '2{1000,-1,{v1:20,v2:25}}'])
  }),
  ordered('one push stores payloads of several ids, some of which wait already', async (o) => {
    await o.push(item('1', 'v1', 10), item('2', 'v1', 10), item('2', 'v2', 20), item('3', 'v1', 10))
    await o.push(item('1', 'v2', 20), item('2', 'v3', 30), item('3', 'v2', 5), item('4', 'v1', 1), item('4', 'v2', 2))
    const fresh = ['1{1000,-1,{v1:10,v2:20}}', '2{1000,-1,{v1:10,v2:20,v3:30}}']
    expect(await o.waiting()).toEqual([...fresh, '3{1000,-1,{v2:5,v1:10}}', '4{1000,-1,{v1:1,v2:2}}'])
    await o.push(item('1', 'v3', 30), item('1', 'v1', 5), item('2', 'v3', 40), item('3', 'v1', 1), item('3', 'v2', 9))
    await o.push(item('5', 'v1', 3))
    await o.push(item('5', 'v1', 2), item('5', 'v1', 1), item('4', 'v2', 0))
    const merged = ['1{1000,-1,{v1:5,v2:20,v3:30}}', '2{1000,-1,{v1:10,v2:20,v3:30}}', '3{1000,-1,{v1:1,v2:5}}']
    expect(await o.waiting()).toEqual([...merged, '4{1000,-1,{v2:0,v1:1}}', '5{1000,-1,{v1:1}}'])
    expect((await o.all('id')).map(({ size }) => size)).toEqual([3, 3, 2, 2, 1])
  }),
  ordered('[4] a push adds payloads to an id that waits for a retry and changes nothing else', async (o) => {
    const owner = await o.owner()
    await o.push(item('1', 'v1', 1), item('1', 'v2', 2))
    const [taken] = await owner.fetch()
    await owner.settle(failed(900, 0), taken)
    await o.push(item('1', 'v2', 3), item('1', 'v3', 4))
    expect(await o.waiting()).toEqual(['1{900,0,{v1:1,v2:2,v3:4},"x"}'])
  }),
  ordered('[5] payloads are fetched by their scores, pushed in any order', async (o) => {
    await o.push(item('1', 'v2', 1010), item('1', 'v1', 1000))
    const owner = await o.owner()
    const [taken] = await owner.fetch()
    expect(taken.payloads).toEqual([
      ['"v1"', 1000],
      ['"v2"', 1010],
    ])
    await owner.settle(done, taken)
  }),
  ordered('[6] a push does not change the time of a waiting id, except with wake', async (o) => {
    const owner = await o.owner()
    await o.push(item('1', 'v1', 1, { performIn: 2000 }))
    await o.push(item('1', 'v2', 2, { performIn: 990 }))
    expect(await o.waiting()).toEqual(['1{2000,-1,{v1:1,v2:2}}'])
    expect(await owner.fetch()).toEqual([])
    await o.push(item('1', 'v3', 3, { performIn: 2500, wake: true }))
    expect(await o.waiting()).toEqual(['1{2000,-1,{v1:1,v2:2,v3:3}}'])
    await o.push(item('1', 'v1', 5, { performIn: 990, wake: true }))
    expect(await o.waiting()).toEqual(['1{990,-1,{v1:1,v2:2,v3:3}}'])
    expect(await owner.fetch()).toHaveLength(1)
  }),
  ordered('in one push the first payload of an id decides its time, whatever comes between', async (o) => {
    const others = Array.from({ length: 10 }, (_, n) => item(`2/${n}`, 'v', 1, { performIn: 1500 }))
    const first = item('1', 'v1', 1, { performIn: 2000 })
    await o.push(...others, first, ...others, item('1', 'v2', 2, { performIn: 1500 }))
    expect(await o.waiting()).toContain('1{2000,-1,{v1:1,v2:2}}')
  }),
  ordered('waking an id that waits for a retry keeps its count and its error', async (o) => {
    const owner = await o.owner()
    await o.push(item('1', 'v1', 1))
    await owner.settle(failed(1500, 2, 'no'), (await owner.fetch())[0])
    await o.push(item('1', 'v1', 1, { performIn: 1200, wake: true }))
    expect(await o.waiting()).toEqual(['1{1200,2,{v1:1},"no"}'])
  }),
  ordered('[7] payloads pushed for a failed id are retried with it, and a success removes all', async (o) => {
    const owner = await o.owner()
    await o.push(item('1', 'v1', 1))
    await owner.settle(failed(1500, 2), (await owner.fetch())[0])
    await o.push(item('1', 'v9', 9))
    expect(await o.waiting()).toEqual(['1{1500,2,{v1:1,v9:9},"x"}'])
    o.now = 1500
    const [taken] = await owner.fetch()
    expect(taken).toMatchObject({ performIn: 1500, retryCount: 2, error: 'x' })
    await owner.settle(done, taken)
    expect(await o.waiting()).toEqual([])
    await o.push(item('1', 'v1', 1))
    expect(await o.waiting()).toEqual(['1{1000,-1,{v1:1}}'])
    expect((await owner.fetch())[0]).toMatchObject({ crashes: 0, error: null, suspect: false })
  }),
  ordered('a push with an invalid item stores nothing', async (o) => {
    await o.push(item('0'))
    for (const wrong of [Number.NaN, Infinity, -Infinity]) {
      await expect(o.push(item('1'), item('2'), item('3', 'v', wrong))).rejects.toThrow()
      await expect(o.push(item('1'), item('3', 'v', 1, { performIn: wrong }), item('2'))).rejects.toThrow()
    }
    expect(await o.waiting()).toEqual(['0{1000,-1,{"":1000}}'])
  }),
  ordered('scores and times are stored exactly: microseconds, the largest, the smallest', async (o) => {
    const scores = [-(2 ** 53), -1.5, 0, 1e-7, 0.1, 1764000000.123456, 1764000000.123457, 2 ** 53 - 1, 2 ** 53]
    await o.push(...scores.map((score, n) => item('1', `v${n}`, score)))
    await o.push(...scores.map((performIn, n) => item(`2/${n}`, 'v', 1, { performIn })))
    const wanted = scores.map((score, n) => [`"v${n}"`, score])
    expect(sure((await o.all('id'))[0]).payloads).toEqual(wanted)
    expect((await o.all('performIn')).map(({ performIn }) => performIn)).toEqual(
      [...scores, 1000].sort((a, b) => a - b),
    )
    const owner = await o.owner()
    const taken = await owner.fetch(100)
    const one = sure(taken.find(({ id }) => id === '1'))
    expect(one.payloads).toEqual(wanted)
    await owner.settle(failed(1764000000.123456), one)
    expect(sure((await o.store.ordered.find(o.name, '1')).waiting)).toMatchObject({
      performIn: 1764000000.123456,
      payloads: wanted,
    })
    const far = (await o.all('performIn')).filter(({ performIn }) => performIn > 1e9)
    const ids = far.map(({ id }) => id)
    expect(await o.store.ordered.act(o.name, 'delete', ids, { now: o.ms })).toBe(ids.length)
  }),
  ordered('payloads with equal scores are sorted by their bytes', async (o) => {
    const texts = ['', 'Z', 'a', 'aa', 'ä', '～', '😀', 'b', '0'].map((text) => JSON.stringify(text))
    await o.push(...texts.map((payload) => ({ ...item('1'), payload })))
    const inOrder = [...texts].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
    expect(sure((await o.all('id'))[0]).payloads.map(([text]) => text)).toEqual(inOrder)
    const owner = await o.owner()
    const [taken] = await owner.fetch(1, 0, { maxPayloads: 3 })
    expect(taken.payloads.map(([text]) => text)).toEqual(inOrder.slice(0, 3))
    await owner.settle(failed(1000), taken)
    expect(sure((await o.all('id'))[0]).payloads.map(([text]) => text)).toEqual(inOrder)
  }),
  ordered(
    'ids and payloads may be any text',
    async (o) => {
      const names = [
        '__proto__',
        'constructor',
        'toString',
        '*',
        '?[a]',
        '{x}:y',
        "'; --",
        'a b\n',
        '\u0000',
        'a\u0000b',
      ]
      const ids = [...names, '～', '😀', '-0', '1e3', '007', '\\', '"', '%', 'x'.repeat(10_000), 'é', 'e\u0301']
      await o.push(...ids.map((id, n) => item(id, { id, n, of: [null, 1.5, '__proto__'] }, n)))
      const sorted = [...ids].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
      expect((await o.all('id', false, 4)).map(({ id }) => id)).toEqual(sorted)
      const owner = await o.owner()
      const taken = await owner.fetchAll(100)
      expect(taken.map(({ id }) => id).sort()).toEqual([...ids].sort())
      for (const { id, payloads } of taken) {
        const n = ids.indexOf(id)
        expect(payloads).toEqual([[JSON.stringify({ id, n, of: [null, 1.5, '__proto__'] }), n]])
      }
      await owner.settle(failed(900), ...taken)
      for (const id of ids) expect((await o.store.ordered.find(o.name, id)).waiting?.id).toBe(id)
      const again = await owner.fetchAll(100)
      await owner.settle({ kind: 'dead', error: '😀 \u0000' }, ...again)
      expect(await o.store.ordered.resurrect(o.name, ids, o.ms)).toBe(ids.length)
      expect(await o.store.ordered.act(o.name, 'delete', ids.slice(0, 9), { now: o.ms })).toBe(9)
    },
    { shards: 3 },
  ),
  ordered('an empty call stores nothing, a hundred items are stored', async (o) => {
    await o.push()
    await o.push(...Array.from({ length: 100 }, (_, n) => item(`${n}`)))
    expect(await o.sums()).toMatchObject({ length: 100, fresh: 100 })
  }),
  ordered(
    'a push defines its queue, and a later definition returns the stored number of shards',
    async (o) => {
      expect(await o.store.ordered.assignments(o.name)).toBe(null)
      expect(await o.store.ordered.counts(o.name, o.ms)).toBe(null)
      await o.push(item('1'))
      expect(await o.store.ordered.define(o.name, 9)).toBe(4)
      expect(await o.store.ordered.define('a', 2)).toBe(2)
      expect(await o.store.ordered.define('a', 3)).toBe(2)
      expect(await o.store.ordered.queues()).toEqual(['a', 'o'])
      expect(await o.store.ordered.assignments(o.name)).toEqual({
        shards: 4,
        from: null,
        paused: false,
        members: [],
        owners: [0, 1, 2, 3].map((shard) => ({ shard, owner: null, token: 0 })),
      })
      expect(await o.store.ordered.deleteQueue('a')).toBe(true)
      expect(await o.store.ordered.deleteQueue(o.name)).toBe(false)
      expect(await o.store.ordered.queues()).toEqual(['o'])
    },
    { shards: 4 },
  ),
  ordered('an ordinary queue of the same name is separate', async (o, t) => {
    await t.push(o.name, t.job(1))
    await o.push(item('1'))
    await o.store.ordered.pause(o.name, true)
    const owner = await t.owner({ queues: [o.name] })
    expect(await o.store.jobs.peek(o.name, 0, 10)).toEqual([t.job(1)])
    const [taken] = await t.fetch(owner, o.name)
    await t.settleAndFetch(owner, {
      settlements: [{ queue: o.name, ticket: taken.ticket, move: null, processed: 1, failed: 0 }],
    })
    expect(await o.waiting()).toEqual(['1{1000,-1,{"":1000}}'])
    await o.store.search.clearQueue(o.name, [], 100)
    expect(await o.waiting()).toEqual(['1{1000,-1,{"":1000}}'])
  }),
  ordered(
    '100,000 payloads of one id wait, are fetched in order, and are requeued together',
    async (o) => {
      const many = 100_000
      const order = (n: number) => (n * 7919) % many
      await o.pushAll(Array.from({ length: many }, (_, n) => item('1', order(n), order(n))))
      const owner = await o.owner()
      const [taken] = await owner.fetch(10, 0, { maxPayloads: 1000 })
      expect(taken.payloads).toEqual(Array.from({ length: 1000 }, (_, n) => [`${n}`, n]))
      await owner.settle(done, taken)
      expect((await o.store.ordered.find(o.name, '1')).waiting?.size).toBe(many - 1000)
      const [next] = await owner.fetch(10, 0, { maxPayloads: 1000 })
      expect(next.payloads[0]).toEqual(['1000', 1000])
      await owner.settle(failed(900), next)
      const [page] = await o.store.ordered.waiting(o.name, 'id', { limit: 1, payloads: 3 })
      expect(page).toMatchObject({ size: many - 1000, retryCount: 0 })
      expect(page?.payloads).toEqual([1000, 1001, 1002].map((n) => [`${n}`, n]))
      expect(await o.store.ordered.act(o.name, 'kill', ['1'], { now: o.ms })).toBe(1)
      expect(await o.sums()).toMatchObject({ length: 0 })
      expect(await o.store.ordered.deleteDead(o.name, ['1'])).toBe(1)
    },
    { seconds: 120 },
  ),
]
