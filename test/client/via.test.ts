import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import { type Bench, bench } from '../engine/bench.ts'
import { emptyServer } from '../redis/server.ts'
import { onRedis } from '../redis/suite.ts'

/** An app, and two others on stores of their own. */
function shards() {
  const [home, east, west] = [bench(), bench(), bench()]
  const J = home.hq.job('J', { queue: 'q', retry: 3 }, async (_ctx, _n: number) => {})
  const args = async (t: Bench) => (await t.queue('q')).map(({ args }) => args[0])
  return { home, east, west, J, args }
}

test("via pushes to another app's store, with the options and middleware of this app", async () => {
  const { home, east, J, args } = shards()
  home.hq.client.use((payload, next) => {
    payload.from = 'home'
    return next()
  })
  east.hq.client.use(() => null)
  const jid = await J.via(east.hq).performAsync(1)
  await J.set({ tags: ['x'] })
    .via(east.hq)
    .performBulk([[2], [3]])
  await J.via(east.hq)
    .set({ tags: ['x'] })
    .performIn(60, 4)
  expect(await args(home)).toEqual([])
  expect(await east.queue('q')).toMatchObject([
    { jid, args: [1], retry: 3, from: 'home' },
    { args: [2], tags: ['x'] },
    { args: [3], tags: ['x'] },
  ])
  expect(await east.set('schedule')).toMatchObject([{ args: [4], tags: ['x'] }])
})

test('via accepts the URL of a store, which is closed with the app', async () => {
  const { home, east, J, args } = shards()
  const there = home.hq.via(east.url)
  await there.push({ class: 'J', args: [1] })
  await there.pushBulk({ class: 'J', args: [[2]] })
  await J.via(east.url).performAsync(3)
  expect(await args(east)).toEqual([1, 2, 3])
  await home.hq.close()
  await expect(there.push({ class: 'J', args: [4] })).rejects.toMatchObject({ maybePushed: false })
  expect(await args(east)).toEqual([1, 2, 3])
})

onRedis('via a URL on Redis', () => {
  test('the pushes of one turn of the event loop are stored together', async () => {
    const server = await emptyServer()
    const redis = new Redis(server.url())
    onTestFinished(() => redis.disconnect())
    const { J } = shards()
    await J.via(server.url()).performAsync(0)
    await redis.config('RESETSTAT')
    await Promise.all(Array.from({ length: 500 }, (_, n) => J.via(server.url()).performAsync(n + 1)))
    expect(await redis.llen('queue:q')).toBe(501)
    const [, calls] = /cmdstat_lpush:calls=(\d+)/.exec(await redis.info('commandstats')) ?? []
    expect(Number(calls)).toBeLessThan(10)
  })
})

test('a batch that is pushed with via contains the jobs that are pushed with via to the same URL', async () => {
  const { home, east, J } = shards()
  const bid = await home.hq.via(east.url, () =>
    home.hq.batch({}, async () => {
      await J.via(east.url).performAsync(1)
    }),
  )
  expect(await east.hq.batches.get(bid)).toMatchObject({ total: 1, pending: 1 })
})

test('via with a function applies to all pushes of that function, and to no concurrent ones', async () => {
  const { home, east, west, J, args } = shards()
  const both = Promise.all([
    home.hq.via(east.hq, async () => {
      await J.performAsync(1)
      await sleep(20)
      await J.performAsync(2)
      await home.hq.via(west.hq, () => J.performAsync(3))
      await J.via(west.hq).performAsync(4)
      return home.hq.push({ class: 'J', args: [5] })
    }),
    (async () => {
      await sleep(10)
      await J.performAsync(6)
    })(),
  ])
  await J.performAsync(7)
  const [jid] = await both
  expect(await args(east)).toEqual([1, 2, 5])
  expect((await east.queue('q')).at(-1)?.jid).toBe(jid)
  expect(await args(west)).toEqual([3, 4])
  expect((await args(home)).sort()).toEqual([6, 7])
})

test('via ends when the function throws', async () => {
  const { home, east, J, args } = shards()
  const no = new Error('no')
  await expect(
    home.hq.via(east.hq, async () => {
      throw no
    }),
  ).rejects.toBe(no)
  expect(() =>
    home.hq.via(east.hq, () => {
      throw no
    }),
  ).toThrow(no)
  await J.performAsync(1)
  expect(await args(home)).toEqual([1])
  expect(await args(east)).toEqual([])
})

test.each([[undefined], [null], [5], [{}]])('via(%o) is refused', (target) => {
  const { home, J } = shards()
  expect(() => home.hq.via(target as never)).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }))
  expect(() => J.via(target as never)).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }))
})
