import { Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { bench, Collector, gate, promptly, until } from '../engine/bench.ts'
import { type RedisServer, startServer } from './server.ts'
import { onRedis } from './suite.ts'

const DAY = 86_400_000

/** Cancellations and pauses as Sidekiq stores them. */
onRedis('cancelled jobs and paused queues, beside Sidekiq', () => {
  let server: RedisServer
  let redis: Redis
  let database = 0
  beforeAll(async () => {
    server = await startServer({ databases: 100 })
  })
  beforeEach(() => {
    redis = new Redis(server.url(++database))
  })
  afterEach(() => redis.disconnect())
  afterAll(() => server.remove())
  const app = () => bench({ url: server.url(database) })

  test('a cancellation also cancels iterable jobs: in whole seconds, for 30 days, with the time of the first call', async () => {
    const { store } = app().hq
    await store.cancellations.request('a', 1_700_000_000_999)
    const first = await redis.hgetall('it-a')
    expect(first).toEqual({ cancelled: expect.stringMatching(/^\d{10}$/) })
    expect(await redis.ttl('it-a')).toBeGreaterThan(2_591_990)
    await redis.expire('it-a', 1000)
    await store.cancellations.request('a', 1_700_000_100_000)
    expect(await redis.hgetall('it-a')).toEqual(first)
    expect(await redis.ttl('it-a')).toBeLessThan(1001)
    expect(await store.cancellations.withdraw('a', 1_700_000_100_000)).toBe('requested')
    expect(await redis.exists('it-a')).toBe(0)
  })

  test('the progress of an iterable job is kept, and the time when Sidekiq cancelled it', async () => {
    const { store } = app().hq
    await redis.hset('it-a', { ex: 2, c: '7', rt: '1.5' })
    await store.cancellations.request('a', 1_700_000_000_000)
    await store.cancellations.withdraw('a', 1_700_000_000_000)
    expect(await redis.hgetall('it-a')).toEqual({ ex: '2', c: '7', rt: '1.5' })
    await redis.hset('it-a', { cancelled: 1_600_000_000 })
    await store.cancellations.request('a', 1_700_000_000_000)
    await store.cancellations.withdraw('a', 1_700_000_000_000)
    expect(await redis.hget('it-a', 'cancelled')).toBe('1600000000')
    expect(await store.cancellations.among(['a', 'b'])).toEqual(['a'])
  })

  test('a brief request expires, unless another caller requests a lasting cancellation', async () => {
    const { store } = app().hq
    const { cancellations } = store
    const ago = async (jid: string, ms: number) => {
      const score = Number(await redis.zscore('hk:cancelled', jid)) - ms
      await redis.zadd('hk:cancelled', score - (score % 16) + 0.5, jid)
    }
    const [version = 0] = await cancellations.request('a', 0, true)
    expect(await cancellations.since(0)).toEqual({ version, jids: ['a'] })
    expect(await cancellations.among(['a', 'b'])).toEqual(['a'])
    // The flag for Ruby ends, too.
    expect(await redis.pttl('it-a')).toBeLessThanOrEqual(25_000)
    await redis.del('it-a')
    await ago('a', 26_000)
    expect(await cancellations.among(['a'])).toEqual([])
    const [again = 0] = await cancellations.request('a', 0)
    expect(again).toBeGreaterThan(version)
    expect(await cancellations.among(['a'])).toEqual(['a'])
    expect(await redis.ttl('it-a')).toBeGreaterThan(2_591_990)
    // A brief request does not count as a caller.
    expect(await cancellations.request('a', 0, true)).toEqual([again])
    expect(await cancellations.withdraw('a', 0, again)).toBe('requested')
    expect(await cancellations.withdraw('a', 0)).toBe('none')
    expect(await redis.exists('it-a')).toBe(0)
    await cancellations.request('b', 0, true)
    expect(await cancellations.withdraw('b', 0)).toBe('requested')
    expect(await redis.exists('it-b')).toBe(0)
    expect(await cancellations.among(['a', 'b'])).toEqual([])
  })

  test('a brief request leaves the progress of an iterable job as long as it was kept', async () => {
    const { cancellations } = app().hq.store
    await redis.hset('it-a', { ex: 2, c: '7', rt: '1.5' })
    await redis.expire('it-a', 1000)
    await cancellations.request('a', 0, true)
    expect(await redis.ttl('it-a')).toBeGreaterThan(990)
    await cancellations.request('a', 0)
    const flag = await redis.hget('it-a', 'cancelled')
    expect(flag).toMatch(/^\d{10}$/)
    await cancellations.withdraw('a', 0)
    expect(await redis.hgetall('it-a')).toEqual({ ex: '2', c: '7', rt: '1.5' })
  })

  test('beside Ruby, the cancellation of a job that is not found does not stop a push half a minute later', async () => {
    const t = app()
    await redis.sadd('processes', 'ruby:1:aa')
    await redis.hset('ruby:1:aa', { info: '{"hostname":"ruby"}', beat: Date.now() / 1000, busy: 0, quiet: 'false' })
    const ran = new Collector<string>()
    const J = t.hq.job('J', async (_ctx, name: string) => ran.add(name))
    expect(await t.hq.cancel('order-7')).toBe('requested')
    expect(await t.hq.store.cancellations.among(['order-7'])).toEqual(['order-7'])
    await redis.del('it-order-7')
    const score = Number(await redis.zscore('hk:cancelled', 'order-7')) - 26_000
    await redis.zadd('hk:cancelled', score, 'order-7')
    await t.work()
    await J.set({ jid: 'order-7' }).performAsync('later')
    expect(await ran.atLeast(1)).toEqual(['later'])
  })

  test('an iterable job stops when Sidekiq cancels it', async () => {
    const t = app()
    const began = new Collector<string>()
    const told = new Collector<string>()
    const J = t.hq.iterable('J', {
      enumerate: () => [[1, 1] as const],
      async each(ctx) {
        began.add(ctx.jid)
        await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve))
        told.add(ctx.signal.reason.code)
        throw ctx.signal.reason
      },
    })
    const jid = (await J.performAsync()) as string
    await t.work()
    await began.atLeast(1)
    await redis.hsetnx(`it-${jid}`, 'cancelled', Math.floor(Date.now() / 1000))
    expect(await told.atLeast(1)).toEqual(['JOB_CANCELLED'])
    await t.settled()
    expect(await t.hq.stats()).toMatchObject({ processed: 1, failed: 0, retries: 0 })
  })

  test('while nothing is cancelled a worker reads only the version of the cancellations', async () => {
    const t = app()
    const began = new Collector<string>()
    const told = new Collector<string>()
    const J = t.hq.job('J', async (ctx) => {
      began.add(ctx.jid)
      await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve))
      told.add(ctx.jid)
      throw ctx.signal.reason
    })
    const jids = (await J.performBulk(Array.from({ length: 50 }, () => []))) as string[]
    await t.work({ concurrency: 50 })
    await began.atLeast(50)
    const calls = async (command: string) => {
      const lines = (await redis.info('commandstats')).split('\n')
      return Number(/calls=(\d+)/.exec(lines.find((line) => line.startsWith(`cmdstat_${command}:`)) ?? '')?.[1] ?? 0)
    }
    const looks = await calls('get')
    const before = [await calls('zmscore'), await calls('hget')]
    await until(async () => (await calls('get')) >= looks + 5)
    expect([await calls('zmscore'), await calls('hget')]).toEqual(before)
    await t.another().hq.cancel(jids[7] as string)
    expect(await told.atLeast(1)).toEqual([jids[7]])
    for (const jid of jids) await t.hq.cancel(jid)
    await t.settled()
  })

  test('a job that a Sidekiq process may have fetched since its last heartbeat is cancelled as by its own cancel!, for two heartbeats', async () => {
    const { hq } = app()
    expect(await hq.cancel('nowhere')).toBe('not-found')
    expect(await redis.exists('it-nowhere')).toBe(0)
    await redis.sadd('processes', 'ruby:1:a')
    await redis.hset('ruby:1:a', { info: '{"version":"8.1.7","queues":["q"]}', busy: 0, beat: Date.now() / 1000 })
    expect(await hq.cancel('taken')).toBe('requested')
    expect(Number(await redis.hget('it-taken', 'cancelled'))).toBeGreaterThan(1e9)
    expect(await redis.pttl('it-taken')).toBeGreaterThan(20_000)
    expect(await redis.pttl('it-taken')).toBeLessThanOrEqual(25_000)
  })

  test('the newest 100,000 cancellations are kept', async () => {
    const { store } = app().hq
    const began = Date.now() - 200_000
    for (let from = 0; from < 100_000; from += 1000) {
      const some = Array.from({ length: 1000 }, (_, n) => [began + from + n, `${from + n}`])
      await redis.zadd('hk:cancelled', ...some.flat())
    }
    await redis.set('hk:cancellation-version', began + 100_000)
    await store.cancellations.request('new', 1000)
    expect(await redis.zcard('hk:cancelled')).toBe(100_000)
    expect(await store.cancellations.among(['0', '1', 'new'])).toEqual(['1', 'new'])
    await store.cancellations.request(['newer', 'newest'], 1000)
    expect(await redis.zcard('hk:cancelled')).toBe(100_000)
    expect(await store.cancellations.among(['2', '3', 'newer', 'newest'])).toEqual(['3', 'newer', 'newest'])
  })

  test("cancellations expire by the server's clock, not by those of the callers", async () => {
    const { store } = app().hq
    // The time of a job that was dropped before it ran is even.
    const ago = (ms: number) => 2 * Math.floor((Date.now() - ms) / 2)
    await redis.zadd('hk:cancelled', ago(31 * DAY), 'old', ago(29 * DAY), 'young')
    await redis.zadd('hk:cancelled', -ago(65_000), 'dropped long ago', -ago(50_000), 'dropped')
    await store.cancellations.request('by one behind', 1000)
    await store.cancellations.request('by one ahead', ago(-365 * DAY))
    await store.cancellations.request('new', ago(0))
    expect((await store.cancellations.since(0)).jids).toEqual(['young', 'by one behind', 'by one ahead', 'new'])
    expect(await store.cancellations.withdraw('dropped', 1000)).toBe('dropped')
    expect(await store.cancellations.withdraw('dropped long ago', 1000)).toBe('none')
    const effects = [{ kind: 'clear-cancellation', jid: 'new', at: 1000, dropped: true } as const]
    await store.jobs.push([{ to: 'retry', text: 'x', score: 1 }], 1000)
    await store.jobSets.swap('retry', [{ text: 'x', score: 1, to: null, effects }], 1000)
    await store.cancellations.request('newest', 1000)
    expect(await store.cancellations.withdraw('new', 1000)).toBe('dropped')
  })

  test('no job of a queue that Sidekiq Pro has paused starts, and they start after Sidekiq Pro has resumed it', async () => {
    const t = app()
    const ran = new Collector<number>()
    const J = t.hq.job('J', async (_ctx, n: number) => ran.add(n))
    await t.work()
    await J.performAsync(0)
    await ran.atLeast(1)
    await t.settled()
    await redis.sadd('paused', 'default')
    // The worker waits on the queue, and does not know of the pause.
    await J.performBulk([[1], [2]])
    expect(await t.hq.store.jobs.pausedQueues()).toEqual(['default'])
    await new Promise((resolve) => setTimeout(resolve, 700))
    // The worker may have fetched a job once, which it then requeued.
    await until(async () => (await t.queue()).map(({ args }) => args[0]).join() === '1,2')
    expect(ran.all).toEqual([0])
    await redis.srem('paused', 'default')
    await promptly(1.5, ran.atLeast(3))
  })

  test('pausing a queue returns the Sidekiq processes that serve it, which may not know of pauses', async () => {
    const t = app()
    const worker = await t.work({ queues: ['default', 'low'] })
    const show = (identity: string, info: object) =>
      redis
        .multi()
        .sadd('processes', identity)
        .hset(identity, { info: JSON.stringify(info), busy: 0, beat: Date.now() / 1000, quiet: 'false' })
        .exec()
    await show('ruby:1:a', { version: '8.1.7', queues: ['low', 'default'] })
    await show('ruby:2:b', { version: '8.1.7', capsules: { default: { weights: { low: 3 } } } })
    await show('ruby:3:c', { version: '8.1.7', queues: ['other'] })
    await show('ruby:4:d', { queues: ['low'] })
    expect(await t.hq.queue('low').pause()).toEqual({ ignoredBy: ['ruby:1:a', 'ruby:2:b', 'ruby:4:d'] })
    expect(await t.hq.queue('none').pause()).toEqual({ ignoredBy: [] })
    expect(worker.identity).not.toBe('')
  })

  test('cancelling a running job of a Sidekiq process says signalled; a job of ours that has ended does not', async () => {
    const t = app()
    const J = t.hq.job('J', async () => {})
    const show = async (identity: string, jid: string) => {
      const payload = JSON.stringify({ class: 'J', args: [], jid, queue: 'default' })
      await redis.sadd('processes', identity)
      await redis.hset(identity, { info: '{"version":"8.1.7","queues":["default"]}', busy: 1, beat: Date.now() / 1000 })
      await redis.hset(`${identity}:work`, 'tid', JSON.stringify({ queue: 'default', payload, run_at: 1 }))
    }
    await show('ruby:1:a', 'iterable')
    expect(await t.hq.cancel('iterable')).toBe('signalled')
    expect(Number(await redis.hget('it-iterable', 'cancelled'))).toBeGreaterThan(1e9)
    const worker = await t.work()
    const jid = (await J.performAsync()) as string
    await t.settled()
    await redis.hset(
      `${worker.identity}:work`,
      'x',
      JSON.stringify({ queue: 'default', payload: `{"class":"J","args":[],"jid":"${jid}"}`, run_at: 1 }),
    )
    await redis.srem('processes', 'ruby:1:a')
    expect(await t.hq.cancel(jid)).toBe('not-found')
  })

  test('workers listen to the channel for pauses only while a queue is paused', async () => {
    const t = app()
    const J = t.hq.job('J', async () => {})
    const worker = await t.work()
    await until(async () => String(await redis.client('LIST')).includes('blmove'))
    expect(await redis.pubsub('NUMSUB', 'hk:pauses')).toEqual(['hk:pauses', 0])
    await t.hq.store.jobs.pauseQueue('default', true)
    await J.performAsync()
    await until(async () => ((await redis.pubsub('NUMSUB', 'hk:pauses')) as [string, number])[1] === 1)
    await t.hq.store.jobs.pauseQueue('default', false)
    await t.settled()
    await worker.stop()
    expect(await redis.exists('paused', 'hk:cancellation-version', 'hk:cancelled')).toBe(0)
  })

  test('idle workers requeue a job of a paused queue, and none starts it', async () => {
    const t = app()
    const ran = new Collector<number>()
    const apps = [t, app(), app(), app()]
    for (const { hq } of apps) hq.job('J', async (_ctx, n: number) => ran.add(n))
    for (const one of apps) await one.work({ queues: ['default', 'low'] })
    await until(async () => String(await redis.client('LIST')).match(/cmd=blmove/g)?.length === 8)
    await redis.sadd('paused', 'default', 'low')
    for (const n of [1, 2, 3]) await t.hq.push({ class: 'J', args: [n] })
    await t.hq.push({ class: 'J', args: [4], queue: 'low' })
    await new Promise((resolve) => setTimeout(resolve, 500))
    await until(async () => (await t.hq.store.metrics.totals()).enqueued === 4)
    expect(ran.all).toEqual([])
    await redis.del('paused')
    await ran.atLeast(4)
  })

  test("jobs fetched while the cancellations can't be read are requeued, and start once they can", async () => {
    const t = app()
    const { opened, open } = gate()
    const ran = new Collector<number>()
    const J = t.hq.job('J', async (_ctx, n: number) => {
      ran.add(n)
      await opened
    })
    await J.performBulk([[1], [2], [3]])
    await redis.set('hk:cancellation-version', Date.now())
    await redis.xadd('hk:cancelled', '*', 'what', 'a stream')
    await t.work({ concurrency: 2 })
    await until(() => t.errors.some(({ error }) => error.code === 'STORE_UNUSABLE'))
    expect(ran.all).toEqual([])
    await redis.del('hk:cancelled')
    await ran.atLeast(2)
    expect(ran.all).toEqual([1, 2])
    open()
    await ran.atLeast(3)
  })
})
