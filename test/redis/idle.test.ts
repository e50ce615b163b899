import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, type MockInstance, test, vi } from 'vitest'
import { job, NOW, requestOf, sure, toQueue } from '../conformance/bench.ts'
import { bench, Collector, gate, promptly, until } from '../engine/bench.ts'
import { type RedisServer, startServer } from './server.ts'
import { onRedis } from './suite.ts'

const OWNERS = 100
const QUEUES = Array.from({ length: 10 }, (_, i) => `q${i}`)

onRedis('an idle fleet', () => {
  let server: RedisServer
  beforeAll(async () => {
    server = await startServer()
  })
  afterAll(() => server.remove())

  test('the bytes that idle workers read do not grow with the owners and queues of the fleet', async () => {
    const t = bench({ url: server.url() })
    const { store } = t.hq
    await store.open()
    for (let i = 0; i < OWNERS; i++) {
      await store.workers.join(`a-host-of-the-fleet:4711:${i}.0`, {
        queues: QUEUES,
        seconds: 3600,
        host: 'elsewhere\n1 1',
      })
    }
    const asked: MockInstance[] = []
    for (let i = 0; i < 2; i++) {
      const beside = t.another()
      await beside.work({ leaseSeconds: 1, queues: ['q0'] })
      asked.push(vi.spyOn(beside.hq.store.workers, 'acquireLock'))
    }
    const redis = new Redis(server.port)
    const read = async () => Number(/total_net_output_bytes:(\d+)/.exec(await redis.info('stats'))?.[1])
    const before = await read()
    await until(() => asked.every(({ mock }) => mock.calls.length >= 20))
    // Reading all leases of all queues once takes more bytes than this.
    expect((await read()) - before).toBeLessThan(300_000)
    redis.disconnect()
  })

  test('a search for jobs of workers with many queues reads only the queues of which they hold jobs', async () => {
    const { store } = bench({ url: server.url(4) }).hq
    const redis = new Redis(server.port)
    const queues = Array.from({ length: 200 }, (_, i) => `queue-of-customer-${i}`)
    const owners = Array.from({ length: 50 }, (_, i) => `a-host-of-the-fleet:4711:${i}.0`)
    for (const owner of owners) await store.workers.join(owner, { queues, seconds: 3600, host: '' })
    const [queue, owner] = [sure(queues[150]), sure(owners[40])]
    await store.jobs.push([toQueue(queue, job(1))], NOW)
    const { fetched } = await store.workers.settleAndFetch(owner, requestOf({ fetch: { queues: [queue], n: 1 } }))
    expect(fetched).toHaveLength(1)
    const reads = async () => Number(/cmdstat_lrange:calls=(\d+)/.exec(await redis.info('commandstats'))?.[1] ?? 0)
    const bytes = async () => {
      const [, read = '', written = ''] =
        /input_bytes:(\d+)\s+total_net_output_bytes:(\d+)/.exec(await redis.info('stats')) ?? []
      return Number(read) + Number(written)
    }
    const readBefore = await reads()
    // It searches for lost answers first.
    expect(await store.workers.release(owner)).toBe(false)
    expect((await reads()) - readBefore).toBe(1)
    for (const one of owners) await store.workers.claim(one)
    const before = await bytes()
    expect(await store.workers.orphaned(9)).toMatchObject([{ owner, queue, text: job(1) }])
    // To name each key once takes more bytes than this.
    expect((await bytes()) - before).toBeLessThan(100_000)
    redis.disconnect()
  })

  test('a job that wakes a worker with many queues costs one blocking command, and ends no other', async () => {
    const t = bench({ url: server.url(1) })
    const ran = new Collector<number>()
    const J = t.hq.job('J', async (_ctx, n: number) => ran.add(n))
    await t.work({ queues: QUEUES, concurrency: QUEUES.length })
    const redis = new Redis(server.port)
    const calls = async (command: string) => {
      const stats = await redis.info('commandstats')
      return Number(new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(stats)?.[1] ?? 0)
    }
    await until(async () => String(await redis.client('LIST')).match(/cmd=blmove/g)?.length === QUEUES.length)
    const before = await Promise.all(['blmove', 'client\\|unblock'].map(calls))
    for (const [n, queue] of QUEUES.entries()) {
      await J.set({ queue }).performAsync(n)
      await ran.atLeast(n + 1)
    }
    const [moves = 0, ends = 0] = await Promise.all(['blmove', 'client\\|unblock'].map(calls))
    // On a slow machine a few of these commands end before the worker waits again.
    expect(moves - (before[0] ?? 0)).toBeLessThan(2 * QUEUES.length)
    expect(ends - (before[1] ?? 0)).toBeLessThan(2 * QUEUES.length)
    redis.disconnect()
  })

  test('a job that ends while its worker waits for others is settled at once, and the wait goes on', async () => {
    const t = bench({ url: server.url(3) })
    const { opened, open } = gate()
    const ran = new Collector<number>()
    const J = t.hq.job('J', async (_ctx, n: number) => {
      ran.add(n)
      await opened
    })
    await t.work({ queues: QUEUES, concurrency: 2 * QUEUES.length })
    const redis = new Redis(server.port)
    const blocked = async () => String(await redis.client('LIST')).match(/db=3 .*cmd=blmove/g)?.length
    for (let n = 0; n < 5; n++) await J.set({ queue: 'q0' }).performAsync(n)
    await ran.atLeast(5)
    await until(async () => (await blocked()) === QUEUES.length)
    await redis.config('RESETSTAT')
    open()
    await until(async () => (await t.hq.store.metrics.totals()).processed === 5)
    expect(await redis.info('commandstats')).not.toMatch(/cmdstat_(blmove|client\|unblock)/)
    expect(await blocked()).toBe(QUEUES.length)
    redis.disconnect()
  })

  test('jobs that arrive in several queues at once all start soon', async () => {
    const t = bench({ url: server.url(2) })
    const ran = new Collector<number>()
    const J = t.hq.job('J', async (_ctx, n: number) => ran.add(n))
    await t.work({ queues: QUEUES, concurrency: 5 })
    for (let round = 1; round <= 20; round++) {
      await Promise.all(QUEUES.map((queue, n) => J.set({ queue }).performAsync(n)))
      await promptly(1.5, ran.atLeast(round * QUEUES.length))
    }
    await t.settled()
    expect(await t.hq.store.metrics.totals()).toMatchObject({ processed: 20 * QUEUES.length, fetched: 0 })
  })
})
