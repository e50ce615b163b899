import { Redis } from 'ioredis'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { memberText } from '#dist/job/json.js'
import { bench, until } from '../engine/bench.ts'
import { type RedisServer, startServer } from '../redis/server.ts'
import { onRedis } from '../redis/suite.ts'
import { load, NOW } from './database.ts'

const jidOf = (n: number) => `aaaaaaaaaaaaaaaaaaaaaa${String(n).padStart(2, '0')}`

onRedis('what other versions of Sidekiq keep is read', () => {
  let server: RedisServer
  let redis: Redis
  beforeAll(async () => {
    server = await startServer()
    redis = new Redis(server.url())
  })
  afterAll(async () => {
    redis.disconnect()
    await server.remove()
  })

  describe.each([7, 8] as const)('%i', (version) => {
    beforeEach(() => load(server.port, `sidekiq-${version}`))
    const app = () => bench({ url: server.url(), wire: version, clock: { now: () => NOW } })

    test('figures', async () => {
      const { hq } = app()
      expect(await hq.stats()).toMatchObject({
        ...{ processed: 1000, failed: 10, enqueued: 3, scheduled: 1, retries: 2, dead: 1, processes: 1 },
        defaultLatency: 19.75,
      })
      expect(await hq.history(2)).toEqual([
        { date: '2025-02-14', processed: 100, failed: 4 },
        { date: '2025-02-13', processed: 0, failed: 0 },
      ])
      const queues: unknown[] = []
      for await (const { name, size, latency } of hq.queues()) queues.push([name, size, latency])
      expect(queues).toEqual([
        ['critical', 0, 0],
        ['default', 2, 19.75],
        ['mailers', 1, 17.999],
      ])
    })

    test('a process, and what it works on', async () => {
      const { hq } = app()
      const processes: unknown[] = []
      for await (const process of hq.processes()) processes.push(process)
      expect(processes).toMatchObject([
        {
          ...{ identity: 'web-1:4711:0123456789ab', hostname: 'web-1', pid: 4711, tag: 'shop', labels: ['reliable'] },
          ...{ queues: ['critical', 'default', 'mailers'], concurrency: 6, busy: 1, rss: 123456, quiet: false },
          ...{ startedAt: new Date(1739519000250), beat: new Date(1739520325500) },
        },
      ])
      const [running, ...more] = await hq.store.running()
      expect(more).toEqual([])
      expect(running).toMatchObject({
        ...{ identity: 'web-1:4711:0123456789ab', slot: '1x2y', queue: 'critical', startedAt: 1739520321000 },
        text: expect.stringContaining(`"jid":"${jidOf(8)}"`),
      })
    })

    test('jobs are run, and what fails is in its set with every byte of its own', async () => {
      const { hq, errors } = app()
      const before = new Map(
        [...(await redis.lrange('queue:default', '0', '-1')), ...(await redis.lrange('queue:mailers', '0', '-1'))].map(
          (text) => [memberText(text, 'jid'), text],
        ),
      )
      const seen = new Map<string, unknown[]>()
      for (const name of ['HardJob', version === 8 ? 'Sidekiq::ActiveJob::Wrapper' : OLD_WRAPPER]) {
        hq.job(name, ({ jid }, ...args) => {
          seen.set(jid, args)
          throw new RangeError('not here')
        })
      }
      await hq.worker({ queues: ['default', 'mailers'] }).start()
      await until(() => errors.length === 3)
      await until(async () => (await redis.zcard('retry')) === 5)
      expect(seen.get(jidOf(1))).toEqual(['bob', 5, 1, 9007199254740993n])
      expect(seen.get(jidOf(3))).toMatchObject([
        { job_class: 'WelcomeJob', arguments: [{ _aj_globalid: 'gid://shop/User/7' }] },
      ])
      for (const text of await redis.zrange('retry', '0', '-1')) {
        const old = before.get(memberText(text, 'jid'))
        if (!old) continue
        for (const field of Object.keys(JSON.parse(old))) expect(memberText(text, field)).toBe(memberText(old, field))
        expect(memberText(text, 'failed_at')).toBe(version === 8 ? String(NOW) : '1739520330.0')
        expect(memberText(text, 'retry_count')).toBe('0')
      }
    })

    test('retries and scheduled jobs go on where they were', async () => {
      const { hq, errors } = app()
      hq.job('HardJob', () => {
        throw new RangeError('not here')
      })
      const [, twice = ''] = await redis.zrange('retry', '0', '-1')
      for (const set of ['retry', 'schedule']) {
        for (const text of await redis.zrange(set, '0', '-1')) await redis.zadd(set, 'XX', 1, text)
      }
      await redis.del('queue:default', 'queue:mailers')
      await hq.worker({ queues: ['critical', 'default'] }).start()
      await until(() => errors.length === 3)
      await until(async () => (await redis.zcard('retry')) === 3)
      const texts = new Map((await redis.zrange('retry', '0', '-1')).map((text) => [JSON.parse(text).jid, text]))
      const now = version === 8 ? String(NOW) : '1739520330.0'
      const fields = (n: number) =>
        ['retry_count', 'failed_at', 'retried_at', 'enqueued_at', 'error_class'].map((field) =>
          memberText(texts.get(jidOf(n)) ?? '{}', field),
        )
      const first = version === 8 ? '1739520220000' : '1739520220.0'
      expect(fields(4)).toEqual(['0', now, undefined, now, '"RangeError"'])
      expect(fields(6)).toEqual(['2', first, now, now, '"RangeError"'])
      expect(memberText(texts.get(jidOf(6)) ?? '', 'args')).toBe(memberText(twice, 'args'))
    })
  })
})

const OLD_WRAPPER = 'ActiveJob::QueueAdapters::SidekiqAdapter::JobWrapper'
