import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { openStore } from '#dist/store/open.js'
import { sure } from '../conformance/bench.ts'
import { bench, Collector, gate, until } from '../engine/bench.ts'
import { contents } from './census.ts'
import { type RedisServer, startServer } from './server.ts'
import { onRedis } from './suite.ts'

const OLD = 'old:1:ab.0'

onRedis('leases of version 0.1', () => {
  let server: RedisServer
  let database = 0
  beforeAll(async () => {
    server = await startServer({ databases: 100 })
  })
  afterAll(() => server.remove())

  /**
   * Makes a database in which version 0.1 has an owner of two queues, whose lease ends after this many milliseconds.
   */
  async function stage(ms: number, query = '') {
    const url = server.url(++database)
    const prefix = query === '' ? '' : 'app:'
    const redis = new Redis(url)
    onTestFinished(() => redis.disconnect())
    const t = bench({ url: url + query })
    const key = (queue: string, rest: string) => `${prefix}hk:{queue:${queue}}:${rest}`
    const end = async (left: number) => {
      const [seconds] = await redis.time()
      for (const queue of ['default', 'more']) {
        await redis.zadd(key(queue, 'leases'), Number(seconds) * 1000 + left, OLD)
        await redis.hset(key(queue, 'hosts'), OLD, 'elsewhere\n1 2')
      }
    }
    await redis.sadd(`${prefix}hk:queues`, 'default', 'more')
    await end(ms)
    const ran = new Collector<number>()
    t.hq.job('Do', async (_ctx, n: number) => ran.add(n))
    const textOf = (n: number) =>
      JSON.stringify({ class: 'Do', args: [n], jid: String(n).padStart(24, '0'), queue: n === 3 ? 'more' : 'default' })
    await redis.hset(key('default', `working:${OLD}`), '1', textOf(1))
    await redis.lpush(key('default', `arriving:${OLD}`), textOf(2))
    await redis.hset(key('more', `working:${OLD}`), '2', textOf(3))
    const work = () => t.work({ queues: ['default', 'more'], leaseSeconds: 1 })
    const waits = () => t.log.lines.filter(({ message }) => message.startsWith('the worker waits to start'))
    return { t, redis, key, end, ran, work, waits }
  }

  test.for(['', '?namespace=app'])('jobs of a dead owner are rescued when a worker starts (%s)', async (query) => {
    const { t, redis, key, ran, work, waits } = await stage(-1000, query)
    await work()
    expect([...(await ran.atLeast(3))].sort()).toEqual([1, 2, 3])
    await t.settled()
    expect(waits()).toEqual([])
    const old = ['default', 'more'].flatMap((queue) => [key(queue, 'leases'), key(queue, 'hosts')])
    expect(await redis.exists(...old)).toBe(0)
    expect(ran.all).toHaveLength(3)
  })

  test('an owner that was claimed keeps the time of its claim', async () => {
    const { redis, key, ran, work } = await stage(-1000)
    const claimedAt = Date.now() - 60_000
    for (const queue of ['default', 'more']) await redis.zadd(key(queue, 'leases'), -claimedAt, OLD)
    await work()
    await ran.atLeast(3)
    expect(Number(await redis.zscore('hk:leases', OLD))).toBe(-claimedAt)
  })

  test('a worker waits until a lease has ended, and runs the jobs then', async () => {
    const { t, ran, work, waits } = await stage(2000)
    const working = work()
    await until(() => waits().length === 1)
    expect(ran.all).toEqual([])
    await working
    expect([...(await ran.atLeast(3))].sort()).toEqual([1, 2, 3])
    await t.settled()
    expect(waits()).toHaveLength(1)
  })

  test('a worker does not start beside a worker that renews its lease, and changes nothing', async () => {
    const { redis, key, end, ran, work, waits } = await stage(2000)
    const working = work()
    await until(() => waits().length === 1)
    await end(60_000)
    await expect(working).rejects.toMatchObject({
      code: 'STORE_UNUSABLE',
      message: expect.stringMatching(
        /^the worker old:1:ab\.0 of version 0\.1 has a lease in the queue .*: stop all processes of version 0\.1/,
      ),
    })
    expect(ran.all).toEqual([])
    expect(await redis.exists(key('default', `working:${OLD}`), key('default', 'leases'), key('more', 'leases'))).toBe(
      3,
    )
  })

  test('a worker that waits ends at once when it is stopped', async () => {
    const { t, waits } = await stage(50_000)
    const worker = t.hq.worker({ queues: ['default'] })
    const starting = worker.start()
    starting.catch(() => {})
    await until(() => waits().length === 1)
    await worker.stop()
    await expect(starting).rejects.toThrow('the worker was stopped while it waited')
  })

  test('no process changes a database in which a worker of version 0.1 has a lease', async () => {
    const { t, redis } = await stage(60_000)
    const before = await contents(redis)
    const refused = { code: 'STORE_UNUSABLE', details: { retryAfterMs: expect.any(Number) } }
    await expect(t.hq.store.open()).rejects.toMatchObject(refused)
    await expect(t.hq.store.workers.tidy()).rejects.toMatchObject(refused)
    await expect(t.hq.push({ class: 'Do', args: [4] })).rejects.toMatchObject({ maybePushed: false, cause: refused })
    expect(await contents(redis)).toEqual(before)
  })

  test('a batch of an ordered queue does not run until the lease of its owner has ended', async () => {
    const { t, redis, key, waits } = await stage(-1000)
    const store = openStore(t.hq.store.url)
    await redis.del(key('default', 'leases'), key('more', 'leases'))
    const closed = gate()
    const began = new Collector<string>()
    await store.workers.join(OLD, { queues: ['ordered'], seconds: 600, host: '' })
    await store.ordered.define('ordered', 1)
    await store.ordered.join('ordered', OLD)
    const { token } = sure(await store.ordered.acquireShard('ordered', 0, OLD, 3, Date.now()))
    await store.ordered.push('ordered', 1, [{ id: 'id', payload: '1', score: 1, performIn: 0 }], Date.now())
    await store.ordered.settleAndFetch('ordered', OLD, {
      settlements: [],
      fetch: [{ shard: 0, token, n: 1 }],
      now: Date.now(),
      maxPayloads: 9,
    })
    await store.close()
    // The keys as version 0.1 writes them.
    await redis.del('hk:leases', `hk:owner:${OLD}`, 'hk:schema', 'hk:queues', 'hk:tasks', 'hk:marks')
    await redis.rename('hk:{queue:ordered}:ordered:fetched:0', 'hk:{queue:ordered}:ordered:taken:0')
    const [seconds] = await redis.time()
    await redis.zadd(key('ordered', 'leases'), Number(seconds) * 1000 + 2000, OLD)
    await redis.sadd('hk:queues', 'ordered')
    t.hq.ordered('ordered', { shards: 1 }, async (_ctx, batch) => {
      for (const [id] of batch) began.add(id)
      await closed.opened
    })
    const working = t.work({ leaseSeconds: 1 })
    await until(() => waits().length === 1)
    expect(began.all).toEqual([])
    expect(await redis.hget(key('ordered', 'ordered'), 'owner:0')).toBe(OLD)
    await working
    expect(await began.atLeast(1)).toEqual(['id'])
    closed.open()
  })
})
