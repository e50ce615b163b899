import { Kill } from 'highkiq'
import { expect, test } from 'vitest'
import { bench, Collector, gate, until } from './bench.ts'

test('process handles every class of its queue that has no job, and the worker serves that queue', async () => {
  const { hq, work } = bench()
  const ran = new Collector<unknown>()
  hq.job('Known', async (_ctx, n: number) => ran.add(['job', n]))
  hq.process('orders', async (ctx, ...args) => ran.add([ctx.payload.class, ctx.queue, ...args]))
  await hq.push({ class: 'RubyOrder', args: [1, 'a'], queue: 'orders' })
  await hq.push({ class: 'Known', args: [2], queue: 'orders' })
  await hq.push({ class: 'GoOrder', args: [], queue: 'orders' })
  const worker = await work({ concurrency: 1 })
  expect(await ran.atLeast(3)).toEqual([
    ['RubyOrder', 'orders', 1, 'a'],
    ['job', 2],
    ['GoOrder', 'orders'],
  ])
  expect(worker.queues).toEqual(['default', 'orders'])
  expect(worker.concurrency).toBe(1)
})

test('a class without a job on another queue stays unknown', async () => {
  const { hq, work, errors } = bench()
  hq.process('orders', () => {})
  await hq.push({ class: 'RubyOrder', args: [] })
  await work()
  await until(async () => (await hq.store.jobSets.size('retry')) === 1)
  expect(errors).toMatchObject([{ error: { code: 'UNKNOWN_JOB' } }])
})

test('with concurrency the queue gets slots of its own, and no more than those', async () => {
  const { hq, work, settled } = bench()
  const began = new Collector<string>()
  const { opened, open } = gate()
  hq.process('orders', { concurrency: 2 }, async (ctx) => {
    began.add(ctx.queue)
    await opened
  })
  for (let n = 0; n < 5; n++) await hq.push({ class: 'X', args: [], queue: 'orders' })
  const worker = await work({ concurrency: 3, queues: ['default', 'orders'] })
  await began.atLeast(2)
  await until(async () => (await hq.store.metrics.totals()).fetched === 2)
  const quick = new Collector<number>()
  const J = hq.job('J', async () => quick.add(1))
  await J.performAsync()
  await quick.atLeast(1)
  await until(() => worker.busy === 2)
  expect(worker.concurrency).toBe(5)
  open()
  await settled()
  expect(began.all).toHaveLength(5)
})

test('a worker may have bound queues only', async () => {
  const { hq, work } = bench()
  const ran = new Collector<string>()
  hq.process('default', { concurrency: 2 }, async (ctx) => ran.add(ctx.payload.class))
  await hq.push({ class: 'X', args: [] })
  const worker = await work()
  expect(await ran.atLeast(1)).toEqual(['X'])
  expect([worker.concurrency, worker.queues]).toEqual([2, ['default']])
})

test('middleware and options of process apply to its handler', async () => {
  const { hq, work, set, settled } = bench()
  const seen: unknown[] = []
  hq.process(
    'orders',
    {
      use: [
        (ctx, next) => {
          seen.push(ctx.payload.class)
          return next()
        },
      ],
      retryIn: () => 1000,
    },
    async (_ctx, how: string) => {
      throw how === 'kill' ? new Kill('enough') : new Error('again')
    },
  )
  await hq.push({ class: 'X', args: ['again'], queue: 'orders' })
  await hq.push({ class: 'Y', args: ['kill'], queue: 'orders' })
  await work({ concurrency: 1 })
  await settled()
  expect(seen).toEqual(['X', 'Y'])
  const [retry] = await set('retry')
  expect((retry?.score ?? 0) - (retry?.failed_at ?? 0) / 1000).toBeCloseTo(1000, 0)
  expect(await set('dead')).toMatchObject([{ class: 'Y', error_message: 'enough' }])
})

test('process is refused for a bound queue, after a worker, and without a handler or slots', () => {
  const { hq } = bench({ url: 'sqlite::memory:' })
  const refused = (code: string) => expect.objectContaining({ code })
  hq.process('orders', () => {})
  expect(() => hq.process('orders', () => {})).toThrow(refused('DUPLICATE_JOB'))
  expect(() => hq.process('a b', () => {})).toThrow(refused('INVALID_OPTION'))
  expect(() => hq.process('a', { concurrency: 0 }, () => {})).toThrow(refused('INVALID_OPTION'))
  expect(() => hq.process('a', { concurency: 1 } as never, () => {})).toThrow(refused('INVALID_OPTION'))
  expect(() => hq.process('a', 'handler' as never)).toThrow(refused('INVALID_OPTION'))
  hq.worker()
  expect(() => hq.process('late', () => {})).toThrow(/call it before hq.worker/)
})
