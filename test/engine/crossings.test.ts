/** Features that meet. */

import { iterate, type JobContext, type Middleware } from 'highkiq'
import { expect, test } from 'vitest'
import { bench, Collector, storeOfSuite, until } from './bench.ts'

test("an iterable job can't run in a thread, not by default either", async () => {
  const t = bench({ defaultJobOptions: { thread: true } })
  const ran = new Collector<string>()
  const job = {
    enumerate: (_ctx: unknown, cursor: number | null) => iterate.array(['a', 'b'], cursor),
    each: (_ctx: unknown, item: string) => ran.add(item),
  }
  expect(() => t.hq.iterable('Items', { thread: true }, job)).toThrow('does not run in a thread')
  await t.hq.iterable('Items', job).performAsync()
  await t.work()
  // A thread would have another `ran`.
  expect(await ran.atLeast(2)).toEqual(['a', 'b'])
})

test('a capsule serves a bound queue that it names, with its own concurrency and middleware', async () => {
  const t = bench()
  const order = new Collector<string>()
  const saying =
    (what: string): Middleware<JobContext, unknown> =>
    (_ctx, next) => {
      order.add(what)
      return next()
    }
  t.hq.process('orders', { use: [saying('binding')] }, (ctx) => order.add(ctx.payload.class))
  await t.hq.push({ class: 'RubyOrder', args: [], queue: 'orders' })
  const worker = await t.work({
    concurrency: 2,
    capsules: { slow: { concurrency: 1, queues: ['orders'], use: [saying('capsule')] } },
  })
  expect(await order.atLeast(3)).toEqual(['capsule', 'binding', 'RubyOrder'])
  expect([worker.concurrency, [...worker.queues].sort()]).toEqual([3, ['default', 'orders']])
})

test("a capsule can't serve a queue that has its own concurrency by hq.process", () => {
  const t = bench()
  t.hq.process('orders', { concurrency: 2 }, () => {})
  expect(() => t.hq.worker({ capsules: { slow: { concurrency: 1, queues: ['orders,2'] } } })).toThrow(
    expect.objectContaining({ code: 'INVALID_OPTION', message: expect.stringContaining('capsule slow: queue orders') }),
  )
})

// Only SQLite's transactions enclose the calls of a function.
test.runIf(storeOfSuite() === 'SQLite')(
  'pushes to another store are not part of a transaction, whichever encloses the other',
  async () => {
    const [home, east] = [bench(), bench()]
    const J = home.hq.job('J', { queue: 'q' }, (_ctx, _n: number) => {})
    const args = async (t: typeof home) => (await t.queue('q')).map(({ args }) => args[0])
    const pushes: Promise<unknown>[] = []
    const rolledBack = home.hq.transaction(() => {
      pushes.push(J.via(east.hq).performAsync(1))
      pushes.push(home.hq.via(east.hq, () => J.performAsync(2)))
      J.performAsync(3)
      throw new Error('rolled back')
    })
    await expect(rolledBack).rejects.toThrow('rolled back')
    await Promise.all(pushes)
    expect([await args(home), await args(east)]).toEqual([[], [1, 2]])
    await home.hq.via(east.hq, () =>
      home.hq.transaction((db) => {
        db.exec('CREATE TABLE mine (n)')
        pushes.push(J.performAsync(4))
      }),
    )
    await Promise.all(pushes)
    await until(async () => (await args(east)).length === 3)
    expect([await args(home), await args(east)]).toEqual([[], [1, 2, 4]])
  },
)
