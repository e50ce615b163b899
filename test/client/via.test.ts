import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { type Bench, bench } from '../engine/bench.ts'

/** An app, and two others on stores of their own. */
function shards() {
  const [home, east, west] = [bench(), bench(), bench()]
  const J = home.hq.job('J', { queue: 'q', retry: 3 }, async (_ctx, _n: number) => {})
  const args = async (t: Bench) => (await t.queue('q')).map(({ args }) => args[0])
  return { home, east, west, J, args }
}

test("a job is pushed to another app's store, with the options of this one and through its middleware", async () => {
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

test('a store may be named by its URL; it is closed with the app', async () => {
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

test('within a function, and all that it awaits, every push of this app goes there; others beside it do not', async () => {
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

test('an error ends it as well', async () => {
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
