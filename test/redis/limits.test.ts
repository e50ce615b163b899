import { Redis } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import type { Effect, Limit, LimitStore } from '#dist/store/contract.js'
import { openStore } from '#dist/store/open.js'
import { job, NOW, toQueue } from '../conformance/bench.ts'
import { bench, Collector, gate, until } from '../engine/bench.ts'
import { startServer } from './server.ts'
import { onRedis } from './suite.ts'

const limit: Limit = { name: 'api', max: 1, count: 100, per: 3_600_000, burst: 50, window: 'smooth' }

async function opened() {
  const server = await startServer()
  const store = openStore(server.url(), { redisTimeout: 1 })
  const redis = new Redis(server.url())
  onTestFinished(async () => {
    redis.disconnect()
    await store.close()
    await server.remove()
  })
  await store.workers.join('A', { queues: ['q'], seconds: 600, host: 'here\n1\n1' })
  const acquire = (ticket: string) => store.limits.acquire('A', [{ ticket, limits: [limit] }])
  return { store, redis, acquire, used: () => usedSlots(store.limits) }
}

async function usedSlots(limits: LimitStore): Promise<number> {
  return (await limits.list())[0]?.used ?? 0
}

onRedis('limits on Redis', () => {
  test('a slot that the server gives out after the timeout of the call is freed', async () => {
    const t = await opened()
    expect(await t.acquire('1')).toEqual([{ over: null, ms: 0 }])
    await t.redis.zrem('hk:slots:api', 'A 1')
    await t.redis.call('CLIENT', 'PAUSE', '2500', 'WRITE')
    await expect(t.acquire('2')).rejects.toMatchObject({ code: 'STORE_TIMEOUT' })
    await until(async () => (await t.redis.hget('hk:owner:A', 'voided')) === '2')
    expect(await t.used()).toBe(0)
    expect(await t.acquire('3')).toEqual([{ over: null, ms: 0 }])
  })

  test('a call that was voided takes nothing when it runs later, and a later call does', async () => {
    const t = await opened()
    await t.redis.hset('hk:owner:A', 'voided', 1)
    expect((await t.acquire('1'))[0]?.over).toBe(0)
    expect(await t.used()).toBe(0)
    expect(await t.redis.exists('hk:rate:api')).toBe(0)
    expect(await t.acquire('2')).toEqual([{ over: null, ms: 0 }])
  })

  test('a thousand limited jobs move in one script, so that no worker fetches between them', async () => {
    const { store, redis } = await opened()
    const entries = Array.from({ length: 1001 }, (_, n) => ({ text: job(n), score: n }))
    await store.jobs.push(
      entries.map((entry) => ({ to: 'limited:api', ...entry })),
      NOW,
    )
    const scripts = async () => {
      const [, calls = '0'] = /cmdstat_evalsha:calls=(\d+)/.exec(await redis.info('commandstats')) ?? []
      return Number(calls)
    }
    const move = (from: number, to: number) => {
      const some = entries.slice(from, to).toReversed()
      return store.jobSets.swap(
        'limited:api',
        some.map((entry) => ({ ...entry, to: toQueue('q', entry.text, 'front') })),
        NOW,
      )
    }
    await move(0, 1)
    const before = await scripts()
    await move(1, entries.length)
    expect(await scripts()).toBe(before + 1)
    expect(await redis.llen('queue:q')).toBe(entries.length)
  })

  test('a key of another type is named, and the limit works once it is mended', async () => {
    const t = await opened()
    await t.redis.lpush('hk:rate:api', 'x')
    await expect(t.acquire('1')).rejects.toThrow('hk:rate:api')
    expect(await t.used()).toBe(0)
    await t.redis.del('hk:rate:api')
    expect(await t.acquire('1')).toEqual([{ over: null, ms: 0 }])
  })

  test('a state from ahead of the clock, which was set back, delays no job for longer than its burst', async () => {
    const t = await opened()
    await t.redis.set('hk:rate:api', '9000000000000000')
    const [answer] = await t.acquire('1')
    expect(answer).toMatchObject({ over: 0 })
    expect(answer?.ms).toBeLessThan(36_001)
    await t.redis.set('hk:rate:api', 'garbage')
    expect(await t.acquire('1')).toEqual([{ over: null, ms: 0 }])
  })

  test('limits whose checks were planned before the clock was set back are checked while another one is due', async () => {
    const { store, redis } = await opened()
    for (const [n, name] of ['due', 'late'].entries()) {
      const effects: Effect[] = [{ kind: 'await-limit', limit: { ...limit, name } }]
      await store.jobs.push([{ to: `limited:${name}`, text: job(n), score: 0, effects }], NOW)
    }
    await redis.zincrby('hk:limit-checks', 3_600_000_000, 'late')
    const { limits } = await store.limits.due(9)
    expect(limits.map(({ name }) => name).sort()).toEqual(['due', 'late'])
  })

  test('the slots of a dead owner, and their limit, are deleted when no job uses the limit any more', async () => {
    const t = await opened()
    await t.acquire('1')
    await t.store.workers.claim('A')
    expect(await t.redis.exists('hk:slots:api')).toBe(1)
    await t.store.limits.releaseOrphanedSlots()
    expect(await t.redis.exists('hk:slots:api', 'hk:limits')).toBe(0)
  })

  test('a key of a rate costs less than 200 bytes, and vanishes when it is idle', async () => {
    const t = await opened()
    const used = async () => Number(/used_memory:(\d+)/.exec(await t.redis.info('memory'))?.[1])
    await t.acquire('1')
    const before = await used()
    for (let from = 0; from < 10_000; from += 500) {
      const requests = Array.from({ length: 500 }, (_, i) => {
        const name = `Export:customer-${from + i}`
        return { ticket: `${from + i}`, limits: [{ ...limit, name, max: 0, count: 1, per: 20_000 }] }
      })
      await t.store.limits.acquire('A', requests)
    }
    expect(((await used()) - before) / 10_000).toBeLessThan(200)
    await until(async () => (await t.redis.keys('hk:rate:Export:*')).length === 0)
  })

  test('thousands of limits are listed in several steps, and their jobs counted in one', async () => {
    const t = await opened()
    const names = Array.from({ length: 2500 }, (_, n) => `job:J:${n}`)
    await t.redis.hset('hk:limits', ...names.flatMap((name) => [name, '1 0 0 1 smooth']))
    await t.redis.zadd('hk:limit-checks', ...names.flatMap((name) => [0, name]))
    await t.redis.hset('hk:limited-queues', 'a', 2000, 'b', 500)
    const pipeline = t.redis.pipeline()
    for (const name of names) pipeline.zadd(`hk:limited:${name}`, 0, 'job')
    await pipeline.exec()
    const zcards = async () => Number(/cmdstat_zcard:calls=(\d+)/.exec(await t.redis.info('commandstats'))?.[1] ?? 0)
    const before = await zcards()
    expect(await t.store.metrics.totals()).toMatchObject({ limited: 2500 })
    expect((await zcards()) - before).toBeLessThan(10)
    expect((await t.store.limits.list()).map(({ name }) => name)).toEqual([...names].sort())
  })

  test("a job whose queue can't be written does not hold up the others of its limit, and runs once it can", async () => {
    const server = await startServer()
    const redis = new Redis(server.url())
    onTestFinished(async () => {
      redis.disconnect()
      await server.remove()
    })
    const t = bench({ url: server.url() })
    const api = t.hq.limit('api', { concurrency: 1 })
    const { opened, open } = gate()
    const ran = new Collector<string>()
    const First = t.hq.job('First', { limit: api }, async () => {
      ran.add('first')
      await opened
    })
    const Job = t.hq.job('Job', { limit: api }, async ({ queue }) => ran.add(queue))
    await t.work({ concurrency: 5, queues: ['default', 'broken', 'good'] })
    await First.performAsync()
    await ran.atLeast(1)
    for (const [i, queue] of ['broken', 'broken', 'good'].entries()) {
      await Job.set({ queue }).performAsync()
      await until(async () => (await t.hq.stats()).limited === i + 1)
    }
    await redis.set('queue:broken', 'no list')
    open()
    expect(await ran.atLeast(2)).toEqual(['first', 'good'])
    await redis.del('queue:broken')
    expect(await ran.atLeast(4)).toEqual(['first', 'good', 'broken', 'broken'])
  })

  test('counts of waiting jobs that another program has deleted are forgotten', async () => {
    const t = await opened()
    await t.redis.hset('hk:limited-queues', 'a', 3)
    await t.store.limits.due(1)
    expect(await t.store.metrics.totals()).toMatchObject({ limited: 0 })
  })
})
