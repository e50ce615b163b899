import { expect } from 'vitest'
import type { Store } from '#dist/store/contract.js'
import { type Case, NOW, pause, sure, timed } from '../bench.ts'
import { ordered } from './check.ts'
import { done, item, type Owner, settlement } from './ordered-queue.ts'

/** A store may wake for nothing, so each case looks at what comes of it, as in wait.ts. */
const PROMPT = 1000
const NEVER = new AbortController().signal

/** An owner with nothing to do waits, and is woken. */
export const orderedWait: Case[] = [
  ordered('a push wakes a waiter promptly', async (o) => {
    const owner = await o.owner()
    const waiting = timed(receive(owner))
    await pause(100)
    await o.push(item('1'))
    const { ms, value } = await waiting
    expect(value).toEqual(['1'])
    expect(ms).toBeLessThan(100 + PROMPT)
  }),
  ordered(
    'a push to any of its shards wakes a waiter',
    async (o) => {
      const owner = await o.owner()
      for (let n = 0; n < 12; n++) {
        const waiting = timed(receive(owner))
        await pause(20)
        await o.push(item(`${n}`))
        const { ms, value } = await waiting
        expect(value).toEqual([`${n}`])
        expect(ms).toBeLessThan(PROMPT)
      }
    },
    { shards: 5 },
  ),
  ordered('a push between an empty fetch and the wait ends the wait', async (o) => {
    const owner = await o.owner()
    for (let n = 0; n < 20; n++) {
      expect(await owner.fetch()).toEqual([])
      const [{ ms, value }] = await Promise.all([timed(receive(owner, true)), o.push(item(`${n}`))])
      expect(value).toEqual([`${n}`])
      expect(ms).toBeLessThan(PROMPT)
    }
  }),
  ordered('many pushes before the wait end it, too', async (o) => {
    const owner = await o.owner()
    for (let n = 0; n < 5; n++) {
      expect(await owner.fetch()).toEqual([])
      for (let i = 0; i < 3; i++) await o.push(item(`${n}/${i}`))
      const { ms, value } = await timed(receive(owner, true))
      expect(value).toHaveLength(3)
      expect(ms).toBeLessThan(PROMPT)
    }
  }),
  ordered(
    'a push by another connection wakes a waiter',
    async (o, t) => {
      const other = await t.another()
      await other.open()
      const owner = await o.owner()
      const waiting = timed(receive(owner))
      await pause(100)
      await other.ordered.push(o.name, o.shards, [item('1')], NOW)
      const { ms, value } = await waiting
      expect(value).toEqual(['1'])
      expect(ms).toBeLessThan(100 + 2 * PROMPT)
    },
    { shared: true },
  ),
  ordered('a push that is due earlier than known ids wakes a waiter', async (o) => {
    const owner = await o.owner()
    await o.push(item('1', '', 1, { performIn: 9000 }))
    expect(await next(owner)).toBe(9000)
    const waiting = timed(untilSeen(owner, async () => (await next(owner)) === 8000))
    await pause(50)
    await o.push(item('2', '', 1, { performIn: 8000 }))
    expect((await waiting).ms).toBeLessThan(50 + PROMPT)
  }),
  ordered('a waiter on several queues is woken by each of them', async (o) => {
    const owner = await o.member(o.store, 'p')
    await owner.own()
    await o.store.ordered.define('p', 1)
    expect(await o.store.ordered.join('p', owner.name)).toBe(true)
    const owned = sure(await o.store.ordered.acquireShard('p', 0, owner.name, 3, o.ms))
    const waiting = timed(o.store.ordered.wait(owner.name, ['o', 'p'], 5000, NEVER))
    await pause(50)
    await o.store.ordered.push('p', 1, [item('1')], o.ms)
    expect((await waiting).ms).toBeLessThan(50 + PROMPT)
    const fetch = [{ shard: 0, token: owned.token, n: 1 }]
    const turn = { now: o.ms, settlements: [], fetch, maxPayloads: 9 }
    const [taken] = (await o.store.ordered.settleAndFetch('p', owner.name, turn)).fetched
    const [one] = sure(taken).ids
    const settlements = [{ id: '1', ticket: sure(one).ticket, shard: 0, token: owned.token, end: done }]
    await o.store.ordered.settleAndFetch('p', owner.name, { ...turn, settlements })
    await o.store.ordered.leave('p', owner.name, o.ms)
    expect(await o.store.ordered.deleteQueue('p')).toBe(true)
  }),
  ...(
    [
      [
        'a cancellation of ids in flight',
        (store, name) => store.ordered.cancel(name, ['1']),
        async (owner) => (await owner.settleAndFetch({})).cancelled.length > 0,
      ],
      [
        'a pause',
        (store, name) => store.ordered.pause(name, true),
        async (owner) => sure(await owner.store.ordered.assignments(owner.queue.name)).paused,
      ],
      [
        'resharding',
        (store, name) => store.ordered.reshard(name, 2),
        async (owner) => (await owner.settleAndFetch({})).shards === 2,
      ],
    ] as [string, (store: Store, name: string) => Promise<unknown>, (owner: Owner) => Promise<boolean>][]
  ).map(([what, act, seen]) =>
    ordered(
      `${what} wakes who waits`,
      async (o, t) => {
        const owner = await o.owner()
        await o.push(item('1'))
        await owner.fetch()
        const other = await t.another()
        await other.open()
        const waiting = timed(untilSeen(owner, () => seen(owner)))
        await pause(100)
        await act(other, o.name)
        expect((await waiting).ms).toBeLessThan(100 + 2 * PROMPT)
      },
      { shared: true },
    ),
  ),
  ordered(
    'a member that joins or leaves wakes a waiter',
    async (o, t) => {
      const owner = await o.owner()
      const other = await t.another()
      await other.open()
      const members = (n: number) => async () => sure(await o.store.ordered.assignments(o.name)).members.length === n
      const joins = timed(untilSeen(owner, members(2)))
      await pause(100)
      const member = await o.member(other)
      expect((await joins).ms).toBeLessThan(100 + 2 * PROMPT)
      const leaves = timed(untilSeen(owner, members(1)))
      await pause(100)
      await other.ordered.leave(o.name, member.name, o.ms)
      expect((await leaves).ms).toBeLessThan(100 + 2 * PROMPT)
    },
    { shared: true },
  ),
  ordered('resuming a queue wakes a waiter', async (o) => {
    const owner = await o.owner()
    await o.store.ordered.pause(o.name, true)
    await o.push(item('1'))
    const waiting = timed(receive(owner))
    await pause(100)
    await o.store.ordered.pause(o.name, false)
    expect((await waiting).ms).toBeLessThan(100 + PROMPT)
  }),
  ordered('resurrecting and performing now wake a waiter', async (o) => {
    const owner = await o.owner()
    await o.push(item('1'))
    await owner.settle({ kind: 'dead', error: 'x' }, (await owner.fetch())[0])
    const first = timed(receive(owner))
    await pause(50)
    await o.store.ordered.resurrect(o.name, ['1'], o.ms)
    expect((await first).ms).toBeLessThan(50 + PROMPT)
    await o.push(item('2', '', 1, { performIn: 9000 }))
    await next(owner)
    const second = timed(receive(owner))
    await pause(50)
    await o.store.ordered.act(o.name, 'now', ['2'], { now: o.ms })
    expect((await second).ms).toBeLessThan(50 + PROMPT)
  }),
  ordered('a wait ends after its time, when it is aborted, and at once when it was aborted before', async (o) => {
    const owner = await o.owner()
    const wait = (ms: number, signal = NEVER) => timed(o.store.ordered.wait(owner.name, [o.name], ms, signal))
    // An owner that has just joined may be rung for that.
    await wait(50)
    const short = await wait(200)
    expect(short.ms).toBeLessThan(200 + PROMPT)
    const controller = new AbortController()
    setTimeout(() => controller.abort(), 100)
    expect((await wait(10_000, controller.signal)).ms).toBeLessThan(100 + PROMPT)
    expect((await wait(10_000, controller.signal)).ms).toBeLessThan(PROMPT)
    expect((await wait(0)).ms).toBeLessThan(PROMPT)
  }),
  ordered('a push that an aborted wait has noticed is returned by it or by the next wait', async (o) => {
    const owner = await o.owner()
    const wait = (ms: number, signal = NEVER) => o.store.ordered.wait(owner.name, [o.name], ms, signal)
    // An owner that has just joined may be notified of that.
    await wait(50)
    await o.push(item('1'))
    const controller = new AbortController()
    const aborted = wait(5000, controller.signal)
    controller.abort()
    expect((await aborted) ?? (await wait(2000))).toMatchObject({ queue: o.name })
  }),
  ordered('after changes of two queues, two waits return one queue each', async (o) => {
    const owner = await o.member(o.store, 'p')
    await owner.own()
    await o.store.ordered.define('p', 1)
    expect(await o.store.ordered.join('p', owner.name)).toBe(true)
    const { token } = sure(await o.store.ordered.acquireShard('p', 0, owner.name, 3, o.ms))
    const queues = [o.name, 'p']
    while (await o.store.ordered.wait(owner.name, queues, 50, NEVER));
    await o.push(item('1'))
    await o.store.ordered.push('p', 1, [item('1')], o.ms)
    const update = async () => (await o.store.ordered.wait(owner.name, queues, 2000, NEVER))?.queue
    expect([await update(), await update()].sort()).toEqual(queues)
    const call = { now: o.ms, settlements: [], fetch: [{ shard: 0, token, n: 1 }], maxPayloads: 9 }
    const [fetched] = (await o.store.ordered.settleAndFetch('p', owner.name, call)).fetched
    const settlements = sure(fetched).ids.map((one) => settlement({ ...one, shard: 0, token }, done))
    await o.store.ordered.settleAndFetch('p', owner.name, { ...call, settlements })
    await o.store.ordered.leave('p', owner.name, o.ms)
    expect(await o.store.ordered.deleteQueue('p')).toBe(true)
  }),
  ordered('a wait without work does not end again and again', async (o) => {
    const owner = await o.owner()
    await o.push(item('1', '', 1, { performIn: 9000 }))
    const start = performance.now()
    let wakes = 0
    for (; performance.now() - start < 1500; wakes++) {
      expect(await next(owner)).toBe(9000)
      await o.store.ordered.wait(owner.name, [o.name], 1500, NEVER)
    }
    expect(wakes).toBeLessThan(6)
  }),
  ordered(
    'closing the store ends the wait',
    async (o, t) => {
      const other = await t.another()
      const owner = await o.owner(other)
      const waiting = timed(other.ordered.wait(owner.name, [o.name], 20_000, NEVER).catch(() => {}))
      await pause(100)
      await other.close()
      expect((await waiting).ms).toBeLessThan(100 + PROMPT)
    },
    { shared: true },
  ),
]

async function next(owner: Owner): Promise<number | null> {
  const { fetched: taken } = await owner.settleAndFetch({ fetch: [owner.request(0)] })
  return sure(taken[0]).next
}

/** Asks after each wait, as a worker does; what came is done. */
async function receive(owner: Owner, waitFirst = false): Promise<string[]> {
  let ids: string[] = []
  const poll = async () => {
    const held = await owner.fetchAll()
    await owner.settle(done, ...held)
    ids = held.map(({ id }) => id)
    return ids.length > 0
  }
  await untilSeen(owner, poll, waitFirst)
  return ids
}

async function untilSeen(owner: Owner, seen: () => Promise<boolean>, waitFirst = false): Promise<void> {
  const wait = () => owner.store.ordered.wait(owner.name, [owner.queue.name], 5000, NEVER)
  if (waitFirst) await wait()
  while (!(await seen())) await wait()
}
