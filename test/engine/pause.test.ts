import { expect, test } from 'vitest'
import { bench, Child, Collector, gate, promptly, until } from './bench.ts'

test('an idle worker in another process fetches nothing from a paused queue, and continues when the queue is resumed', async () => {
  const t = bench()
  const child = new Child(t.url)
  expect(await t.hq.queue('default').isPaused()).toBe(false)
  await t.hq.push({ class: 'Quick', args: [0] })
  await child.waitFor('ran', 1)
  await t.settled()
  expect(await t.hq.queue('default').pause()).toEqual({ ignoredBy: [] })
  expect(await t.hq.queue('default').isPaused()).toBe(true)
  expect(await t.hq.queueSummaries()).toMatchObject([{ name: 'default', paused: true }])
  for (const n of [1, 2, 3]) await t.hq.push({ class: 'Quick', args: [n] })
  // Another process has time to ask for jobs several times.
  await new Promise((resolve) => setTimeout(resolve, 1500))
  expect(child.all('ran')).toHaveLength(1)
  expect(await t.hq.store.metrics.totals()).toMatchObject({ enqueued: 3, fetched: 0 })
  await t.hq.queue('default').resume()
  const ran = await promptly(1, child.waitFor('ran', 4))
  expect(ran.map(({ n }) => n)).toEqual([0, 1, 2, 3])
})

test('under load no job starts after a pause; running jobs end, and other queues continue', async () => {
  const t = bench()
  const begun = new Collector<number>()
  const other = new Collector<number>()
  const { opened, open } = gate()
  let slow = false
  const J = t.hq.job('J', async (_ctx, n: number) => {
    begun.add(n)
    if (slow) await opened
  })
  const Other = t.hq.job('Other', { queue: 'other' }, async (_ctx, n: number) => other.add(n))
  await J.performBulk(Array.from({ length: 800 }, (_, n) => [n]))
  const worker = await t.work({ queues: ['default', 'other'], concurrency: 4 })
  await begun.atLeast(200)
  slow = true
  await until(() => worker.busy === 4)
  await t.hq.queue('default').pause()
  const before = begun.all.length
  expect(before).toBeLessThan(800)
  open()
  await Other.performBulk([[1], [2]])
  await other.atLeast(2)
  await until(async () => (await t.hq.store.metrics.totals()).fetched === 0)
  expect(begun.all).toHaveLength(before)
  expect(await t.hq.store.metrics.totals()).toMatchObject({ enqueued: 800 - before, processed: before + 2 })
  await t.hq.queue('default').resume()
  await begun.atLeast(800)
  await t.settled()
})

test('an empty paused queue is listed with the others, by name, until it is resumed', async () => {
  const { hq } = bench()
  await hq.push({ class: 'J', args: [], queue: 'b' })
  for (const queue of ['c', 'a']) await hq.queue(queue).pause()
  expect(await hq.queueSummaries()).toMatchObject([
    { name: 'a', size: 0, latency: 0, paused: true },
    { name: 'b', size: 1, paused: false },
    { name: 'c', size: 0, latency: 0, paused: true },
  ])
  for (const queue of ['c', 'a']) await hq.queue(queue).resume()
  expect(await hq.queueSummaries()).toMatchObject([{ name: 'b' }])
})

test('a queue that was paused before any worker served it stays paused over restarts', async () => {
  const t = bench()
  const ran = new Collector<string>()
  const J = t.hq.job('J', async () => ran.add('first'))
  await t.hq.queue('default').pause()
  await J.performAsync()
  const worker = await t.work()
  await worker.stop()
  await t.hq.close()
  const second = t.another()
  second.hq.job('J', async () => ran.add('second'))
  await second.work()
  await new Promise((resolve) => setTimeout(resolve, 700))
  expect(ran.all).toEqual([])
  expect(await second.hq.store.metrics.totals()).toMatchObject({ enqueued: 1, fetched: 0 })
  const third = t.another()
  await third.hq.queue('default').resume()
  expect(await ran.atLeast(1)).toEqual(['second'])
})

test('due jobs and retries enter a paused queue, and wait there', async () => {
  const t = bench()
  const ran = new Collector<number>()
  const J = t.hq.job('J', { retryIn: () => 0.01 }, async (ctx) => {
    ran.add(ctx.attempt)
    if (ctx.attempt === 1) throw new Error('once')
  })
  await t.hq.queue('default').pause()
  await J.performIn(0.01)
  await t.work()
  await until(async () => (await t.hq.store.metrics.totals()).enqueued === 1)
  expect(ran.all).toEqual([])
  await t.hq.queue('default').resume()
  await ran.atLeast(2)
})

test('a capsule whose queue is paused waits, and the other capsules of its worker continue', async () => {
  const t = bench()
  const ran = new Collector<string>()
  const J = t.hq.job('J', async (_ctx, name: string) => ran.add(name))
  await t.hq.queue('a').pause()
  await t.work({ queues: ['a'], concurrency: 2, capsules: { other: { queues: ['b'], concurrency: 2 } } })
  await J.set({ queue: 'a' }).performAsync('a')
  await J.set({ queue: 'b' }).performAsync('b')
  await ran.atLeast(1)
  await J.set({ queue: 'b' }).performAsync('b')
  expect(await ran.atLeast(2)).toEqual(['b', 'b'])
  await t.hq.queue('a').resume()
  expect((await ran.atLeast(3)).at(-1)).toBe('a')
})

test('an invalid queue name is refused', async () => {
  const t = bench({ url: 'sqlite::memory:' })
  await expect(t.hq.queue('').pause()).rejects.toMatchObject({ code: 'INVALID_OPTION' })
  await expect(t.hq.queue('').resume()).rejects.toMatchObject({ code: 'INVALID_OPTION' })
})
