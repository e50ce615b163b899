import type { FetchOrder, WorkerOptions } from 'highkiq'
import { expect, test } from 'vitest'
import { all, bench, Collector, gate, until } from './bench.ts'

test('each capsule has its own slots and queues: a full one does not block another', async () => {
  const { hq, work, settled } = bench()
  const began = new Collector<string>()
  const { opened, open } = gate()
  const J = hq.job('J', async (ctx) => {
    began.add(ctx.queue)
    await opened
  })
  for (let n = 0; n < 5; n++) await J.set({ queue: 'slow' }).performAsync()
  const worker = await work({
    concurrency: 2,
    queues: ['slow'],
    capsules: { mail: { concurrency: 3, queues: ['mail'] } },
  })
  await began.atLeast(2)
  for (let n = 0; n < 5; n++) await J.set({ queue: 'mail' }).performAsync()
  expect((await began.atLeast(5)).join()).toBe('slow,slow,mail,mail,mail')
  await until(() => worker.busy === 5)
  expect(await hq.store.metrics.totals()).toMatchObject({ fetched: 5, enqueued: 5 })
  expect(worker.concurrency).toBe(5)
  expect(worker.queues).toEqual(['slow', 'mail'])
  open()
  await settled()
  expect(began.all).toHaveLength(10)
})

test('capsules share one owner with one lease, and are shown as Sidekiq shows them', async () => {
  const { hq, work } = bench()
  await work({
    concurrency: 2,
    queues: ['a', 'b'],
    labels: ['blue', 'eu'],
    capsules: {
      even: { concurrency: 3, queues: ['b,1', ['c', 1]] },
      uneven: { concurrency: 4, queues: ['d,2', 'a'] },
    },
  })
  expect(await hq.store.workers.leases()).toHaveLength(1)
  const [process] = await hq.store.workers.processes()
  expect(process?.concurrency).toBe(9)
  expect(JSON.parse(process?.info ?? '')).toMatchObject({
    concurrency: 9,
    capsules: {
      default: { concurrency: 2, mode: 'strict', weights: { a: 0, b: 0 } },
      even: { concurrency: 3, mode: 'random', weights: { b: 1, c: 1 } },
      uneven: { concurrency: 4, mode: 'weighted', weights: { d: 2, a: 0 } },
    },
    weights: [
      { a: 0, b: 0 },
      { b: 1, c: 1 },
      { d: 2, a: 0 },
    ],
    queues: ['a', 'b', 'c', 'd'],
    labels: ['blue', 'eu'],
    embedded: true,
    version: expect.any(String),
  })
  for await (const seen of hq.processes()) expect(seen).toMatchObject({ labels: ['blue', 'eu'], concurrency: 9 })
})

test('two capsules on one queue run each of 2,000 jobs once', async () => {
  const { hq, work, settled } = bench()
  const ran = new Map<number, number>()
  const J = hq.job('J', async (_ctx, n: number) => {
    ran.set(n, (ran.get(n) ?? 0) + 1)
  })
  await work({ concurrency: 5, capsules: { more: { concurrency: 5 } } })
  await J.performBulk(Array.from({ length: 2000 }, (_, n) => [n]))
  await settled()
  expect(ran.size).toBe(2000)
  expect([...ran.values()].every((times) => times === 1)).toBe(true)
  expect(await hq.stats()).toMatchObject({ processed: 2000, failed: 0 })
})

test('jobs that run in several capsules of one queue are requeued in their order at a stop, each once', async () => {
  const { hq, work, queue } = bench()
  const began = new Collector<string>()
  const J = hq.job('J', async (ctx, name: string) => {
    began.add(name)
    await new Promise((_, reject) => ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason)))
  })
  const worker = await work({
    concurrency: 1,
    timeout: 0.001,
    capsules: { b: { concurrency: 1 }, c: { concurrency: 2 } },
  })
  // One by one, so that it is chance which capsule has which.
  for (const [n, name] of ['a', 'b', 'c', 'd'].entries()) {
    await J.performAsync(name)
    await began.atLeast(n + 1)
  }
  await J.performAsync('e')
  await worker.stop()
  expect((await queue()).map(({ args }) => args[0])).toEqual(['a', 'b', 'c', 'd', 'e'])
  expect(await hq.store.metrics.totals()).toMatchObject({ fetched: 0, processed: 0, enqueued: 5 })
  expect(await hq.store.workers.leases()).toEqual([])
})

test('a worker that lost its lease drops the jobs of all its capsules, and all capsules continue', async () => {
  const { hq, work, settled } = bench()
  const began = new Collector<string>()
  const told = new Collector<string>()
  const J = hq.job('J', async (ctx, name: string) => {
    began.add(name)
    if (name === 'quick' || began.all.filter((one) => one === name).length > 1) return
    await new Promise<void>((resolve) => ctx.signal.addEventListener('abort', () => resolve()))
    told.add(ctx.signal.reason.code)
  })
  await J.set({ queue: 'a' }).performAsync('long a')
  await J.set({ queue: 'b' }).performAsync('long b')
  await work({ concurrency: 1, queues: ['a'], leaseSeconds: 1, capsules: { b: { concurrency: 1, queues: ['b'] } } })
  await began.atLeast(2)
  const [lease] = await hq.store.workers.leases()
  await hq.store.workers.claim(lease?.owner ?? '')
  expect(await told.atLeast(2)).toEqual(['LEASE_LOST', 'LEASE_LOST'])
  for (const queue of ['a', 'b']) await J.set({ queue }).performAsync('quick')
  await began.atLeast(6)
  await settled()
  expect((await hq.stats()).processed).toBe(4)
})

// ------------------------------------------------------------------------------------------------------ fetchOrder

test('fetchOrder chooses the order of queues for each fetch; omitted and unknown queues are not fetched from', async () => {
  const { hq, work } = bench()
  const ran = new Collector<string>()
  let order = ['b', 'made-up', 'b', 'a']
  const asked: unknown[] = []
  const fetchOrder: FetchOrder = (queues) => {
    asked.push(queues)
    return order
  }
  const J = hq.job('J', async (ctx) => ran.add(ctx.queue))
  for (const queue of ['a', 'b', 'c', 'made-up']) await J.set({ queue }).performAsync()
  await work({ queues: ['a', 'b', 'c'], concurrency: 1, fetchOrder })
  expect(await ran.atLeast(2)).toEqual(['b', 'a'])
  expect(asked[0]).toEqual(['a', 'b', 'c'])
  expect((await hq.stats()).enqueued).toBe(2)
  order = ['c']
  expect(await ran.atLeast(3)).toEqual(['b', 'a', 'c'])
})

test('a fetchOrder that throws is reported once, and the queues are fetched from as listed', async () => {
  const { hq, work, errors } = bench()
  const ran = new Collector<string>()
  const J = hq.job('J', async (ctx) => ran.add(ctx.queue))
  for (const queue of ['b', 'a', 'a']) await J.set({ queue }).performAsync()
  await work({
    queues: ['a', 'b'],
    concurrency: 1,
    fetchOrder: () => {
      throw new Error('no order')
    },
  })
  expect(await ran.atLeast(3)).toEqual(['a', 'a', 'b'])
  expect(errors).toMatchObject([
    { error: { message: 'no order' }, about: { during: expect.stringMatching(/^fetchOrder/) } },
  ])
})

test('while fetchOrder names no queue the worker fetches nothing and does not spin', async () => {
  const { hq, work } = bench()
  const ran = new Collector<string>()
  let asked = 0
  let order: string[] = []
  const J = hq.job('J', async () => ran.add('ran'))
  await work({
    fetchOrder: () => {
      asked++
      return order
    },
  })
  await J.performAsync()
  await new Promise((resolve) => setTimeout(resolve, 300))
  expect(ran.all).toEqual([])
  expect(asked).toBeLessThan(10)
  order = ['default']
  await ran.atLeast(1)
})

test.each<[string, object]>([
  ['a capsule without slots', { capsules: { a: { concurrency: 0 } } }],
  ['a capsule without queues', { capsules: { a: { queues: [] } } }],
  ['a capsule with an option that there is not', { capsules: { a: { timeout: 1 } } }],
  ['a capsule named default', { capsules: { default: {} } }],
  ['queues that are no list', { queues: 'a' }],
  ['a label that is not a text', { labels: [1] }],
  ['a time-out that is a text', { timeout: '25' }],
  ['a lease that is a text', { leaseSeconds: '15' }],
  ['a limit for blocking that is a text', { maxBlockSeconds: '900' }],
  ['an interval that is a text', { pollInterval: '1' }],
  ['a tag that is not a text', { tag: 5 }],
  ['a word for yes', { logJobs: 'yes' }],
  ['no capsules', { capsules: null }],
  ['an order that is no function', { fetchOrder: ['a'] }],
  ['middleware that is no function', { use: ['log'] }],
])('a worker with %s is refused', (_, options) => {
  const { hq } = bench({ url: 'sqlite::memory:' })
  expect(() => hq.worker(options as WorkerOptions)).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }))
})

test('concurrency and orderedConcurrency of a worker are shown as two numbers', async () => {
  const t = bench()
  t.hq.ordered('Sync', { shards: 1 }, async () => {})
  const told: unknown[] = []
  t.hq.on('startup', (about) => told.push(about))
  const worker = await t.work({ concurrency: 10, orderedConcurrency: 5 })
  const { identity } = worker
  expect(told).toEqual([{ identity, queues: ['default'], concurrency: 10, orderedConcurrency: 5 }])
  expect(worker.slots).toBe('10 + 5')
  // Sidekiq's `concurrency` counts jobs and batches, since `busy` counts both.
  expect(await all(t.hq.processes())).toMatchObject([{ identity, concurrency: 15, orderedConcurrency: 5 }])
})
