import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { bench, Collector, promptly, until } from '../engine/bench.ts'
import { type RedisServer, startServer } from './server.ts'
import { onRedis } from './suite.ts'

onRedis('due jobs beside a key of another type', () => {
  let server: RedisServer
  let database = 0
  beforeAll(async () => {
    server = await startServer({ databases: 10 })
  })
  afterAll(() => server.remove())

  const begin = () => {
    const t = bench({ url: server.url(++database) })
    const redis = new Redis(server.url(database))
    onTestFinished(() => redis.disconnect())
    const ran = new Collector<string>()
    const J = t.hq.job('J', async (_ctx, name: string) => ran.add(name))
    return { ...t, redis, ran, J }
  }

  test('a key of another type at retry does not block scheduled jobs, and dead jobs are pruned', async () => {
    const { hq, J, ran, redis, work, clock } = begin()
    await J.performIn(60, 'scheduled')
    const old = { to: 'dead', text: '{"class":"Old","args":[],"jid":"old"}', score: 1 } as const
    await hq.store.jobs.push([old], Date.now())
    await redis.set('retry', 'of another program')
    clock.ahead = 61
    await work()
    expect(await promptly(2, ran.atLeast(1))).toEqual(['scheduled'])
    await promptly(
      2,
      until(async () => (await hq.store.jobSets.size('dead')) === 0),
    )
  })

  test('locks at a key of another type keep only their own jobs waiting', async () => {
    const { hq, J, ran, redis, work, clock } = begin()
    await J.performIn(60, 'scheduled')
    // More than are moved at a time.
    const items = Array.from({ length: 150 }, (_, n) => {
      const locked = {
        class: 'J',
        args: ['locked'],
        jid: `${n}`,
        queue: 'default',
        retry: true,
        hk_unique: `success:${n}`,
      }
      return { to: 'retry' as const, text: JSON.stringify(locked), score: 1 }
    })
    await hq.store.jobs.push(items, Date.now())
    await redis.set('hk:unique', 'of another program')
    clock.ahead = 61
    await work()
    expect(await promptly(2, ran.atLeast(1))).toEqual(['scheduled'])
    expect(await hq.store.jobSets.size('retry')).toBe(150)
  })
})
