import { hostname } from 'node:os'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { bench, gate, until } from '../engine/bench.ts'
import { type RedisServer, startServer } from '../redis/server.ts'
import { onRedis } from '../redis/suite.ts'
import { NOW } from './database.ts'

/** A time of a payload, in each version. */
const AT = { 6: '1739520330.0', 7: '1739520330.0', 8: '1739520330000' }
const LATER = NOW / 1000 + 100.5

onRedis('what is written is what other versions of Sidekiq keep', () => {
  let server: RedisServer
  let redis: Redis
  beforeAll(async () => {
    server = await startServer()
    redis = new Redis(server.url())
  })
  beforeEach(async () => {
    await redis.flushall()
  })
  afterAll(async () => {
    redis.disconnect()
    await server.remove()
  })

  describe.each([6, 7, 8] as const)('%i', (version) => {
    const at = AT[version]
    const app = () => bench({ url: server.url(), wire: version, clock: { now: () => NOW } })
    const text = (set: string) => redis.zrange(set, '0', '-1', 'WITHSCORES')

    test('jobs, to the byte', async () => {
      const { hq } = app()
      const about = { args: ['bob', 5, 2n ** 64n, { rate: 1e-7 }] }
      const now = await hq.push({ class: 'HardJob', ...about, tags: ['vip'] })
      const later = await hq.push({ class: 'HardJob', ...about, at: LATER })
      await hq.push({ class: 'HardJob', ...about, jid: 'a3', queue: 'own' })
      const args = `["bob",5,18446744073709551616,{"rate":${version === 8 ? '0.0000001' : '1.0e-07'}}]`
      expect(await redis.lrange('queue:default', '0', '-1')).toEqual([
        `{"class":"HardJob","args":${args},"queue":"default","jid":"${now}","retry":true,"created_at":${at},"tags":["vip"],"enqueued_at":${at}}`,
      ])
      // Without `at` and `enqueued_at`.
      expect(await text('schedule')).toEqual([
        `{"class":"HardJob","args":${args},"queue":"default","jid":"${later}","retry":true,"created_at":${at}}`,
        String(LATER),
      ])
      // A jid of the app's own is a lock, too: of all members that Sidekiq does not know, the only one here.
      expect(await redis.lrange('queue:own', '0', '-1')).toEqual([
        `{"class":"HardJob","args":${args},"queue":"own","jid":"a3","retry":true,"created_at":${at},"hk_unique":"jid","enqueued_at":${at}}`,
      ])
      expect((await redis.smembers('queues')).sort()).toEqual(['default', 'own'])
    })

    test('failures, to the byte', async () => {
      const node = app()
      node.hq.job('HardJob', () => {
        throw new RangeError('no luck \0 \ud83d')
      })
      const work = async () => {
        await node.work()
        await until(() => node.errors.length === 1)
        await node.settled()
      }
      const jid = await node.hq.push({ class: 'HardJob', args: [], retry: 1 })
      await work()
      const head = `{"class":"HardJob","args":[],"queue":"default","jid":"${jid}","retry":1,"created_at":${at},"enqueued_at":${at}`
      const error = '"error_message":"no luck \\u0000 \ufffd","error_class":"RangeError"'
      expect(await text('retry')).toEqual([
        `${head},${error},"failed_at":${at},"retry_count":0}`,
        // 15 s, and no jitter here.
        String(NOW / 1000 + 15),
      ])

      await redis.zadd('retry', 'XX', 1, (await redis.zrange('retry', '0', '0'))[0] as string)
      await until(() => node.errors.length === 2)
      await node.settled()
      expect(await text('dead')).toEqual([
        `${head},${error},"failed_at":${at},"retry_count":1,"retried_at":${at}}`,
        String(NOW / 1000),
      ])
      const counts = await redis.mget(
        'stat:processed',
        'stat:failed',
        'stat:processed:2025-02-14',
        'stat:failed:2025-02-14',
      )
      expect(counts).toEqual(['2', '2', '2', '2'])
    })

    test('a process and its running jobs, field by field', async () => {
      const node = app()
      const running = gate()
      const end = gate()
      node.hq.job('HardJob', async () => {
        running.open()
        await end.opened
      })
      const worker = await node.work({
        queues: ['critical,3', 'default,1'],
        concurrency: 5,
        tag: 'shop',
        labels: ['eu'],
      })
      const jid = await node.hq.push({ class: 'HardJob', args: ['ž'] })
      await running.opened
      await worker.quiet()

      expect(await redis.smembers('processes')).toEqual([worker.identity])
      expect(worker.identity).toMatch(/^[^:]+:\d+:[0-9a-f]{12}$/)
      const { info = '', ...fields } = await redis.hgetall(worker.identity)
      expect(fields).toEqual({
        ...{ concurrency: '5', busy: '1', beat: String(NOW / 1000), quiet: 'true' },
        rtt_us: expect.stringMatching(/^\d+$/),
        rss: expect.stringMatching(/^\d+$/),
      })
      expect(JSON.parse(info)).toEqual(
        expect.objectContaining({
          ...{
            hostname: hostname(),
            started_at: NOW / 1000,
            pid: process.pid,
            tag: 'shop',
            concurrency: 5,
            labels: ['eu'],
          },
          capsules: { default: { concurrency: 5, mode: 'weighted', weights: { critical: 3, default: 1 } } },
          ...{ queues: ['critical', 'default'], weights: [{ critical: 3, default: 1 }], identity: worker.identity },
          embedded: expect.any(Boolean),
        }),
      )
      const key = `${worker.identity}:${version === 6 ? 'workers' : 'work'}`
      const [value = '', ...more] = Object.values(await redis.hgetall(key))
      expect(more).toEqual([])
      const [queued] = [
        `{"class":"HardJob","args":["ž"],"queue":"default","jid":"${jid}","retry":true,"created_at":${at},"enqueued_at":${at}}`,
      ]
      expect(value).toBe(JSON.stringify({ queue: 'default', payload: queued, run_at: NOW / 1000 }))
      for (const name of [worker.identity, key]) {
        const ttl = await redis.ttl(name)
        expect(ttl).toBeGreaterThan(50)
        expect(ttl).toBeLessThanOrEqual(60)
      }
      end.open()
    })
  })
})
