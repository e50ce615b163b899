import { Redis } from 'ioredis'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { memberText } from '#dist/job/json.js'
import { all, bench, until } from '../engine/bench.ts'
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
    const app = (wire: 6 | 7 | 8 = version) => bench({ url: server.url(), wire, clock: { now: () => NOW } })

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
      const queues = await hq.queueSummaries()
      expect(queues.map(({ name, size, latency }) => [name, size, latency])).toEqual([
        ['critical', 0, 0],
        ['default', 2, 19.75],
        ['mailers', 1, 17.999],
      ])
    })

    test('a process and its running jobs', async () => {
      const { hq } = app()
      const processes = await all(hq.processes())
      expect(processes.map((process) => process.toJSON())).toMatchObject([
        {
          ...{ identity: 'web-1:4711:0123456789ab', hostname: 'web-1', pid: 4711, tag: 'shop', labels: ['reliable'] },
          ...{ queues: ['critical', 'default', 'mailers'], concurrency: 6, busy: 1, rss: 123456, quiet: false },
          weights: [{ critical: 3, default: 1 }, { mailers: 0 }],
          ...{ version: version === 8 ? '8.1.7' : '7.3.2', embedded: false, leader: true },
          ...{ startedAt: new Date(1739519000250), beat: new Date(1739520325500) },
        },
      ])
      expect(Object.keys(processes[0]?.capsules ?? {})).toEqual(version === 8 ? ['default', 'single'] : [])
      const running = await all(hq.running())
      expect(running).toMatchObject([
        {
          ...{ process: 'web-1:4711:0123456789ab', thread: '1x2y', startedAt: new Date(1739520321000) },
          ...{ jid: jidOf(8), class: 'HardJob', args: ['running'], queue: 'critical' },
        },
      ])
      expect(await hq.stats()).toMatchObject({ busy: 1 })
    })

    test.each([6, 7, 8] as const)('jobs are shown with wire %i', async (wire) => {
      const { hq } = app(wire)
      const [mail] = await all(hq.queue('mailers'))
      expect(mail).toMatchObject({ class: expect.stringContaining('Wrapper'), displayClass: 'WelcomeJob' })
      expect(mail?.displayArgs).toEqual(['gid://shop/User/7'])
      const [newest, oldest] = await all(hq.queue('default'))
      expect(newest).toMatchObject({ tags: ['vip', 'eu'], bid: 'Qm9iIHdhcyBo', enqueuedAt: new Date(1739520311000) })
      expect(oldest).toMatchObject({ createdAt: new Date(1739520300123), latency: 19.75 })
      const [later] = await all(hq.scheduled)
      expect(later).toMatchObject({ jid: jidOf(4), at: new Date(1739523900125), enqueuedAt: null })
      const [twice, once] = await all(hq.retries)
      expect(once).toMatchObject({ retryCount: 0, failedAt: new Date(1739520320000), retriedAt: null, backtrace: null })
      expect(twice).toMatchObject({
        ...{ retryCount: 1, failedAt: new Date(1739520220000), retriedAt: new Date(1739520325000) },
        ...{ errorClass: 'Net::ReadTimeout', errorMessage: 'no luck \0 again' },
        backtrace: ["app/jobs/hard_job.rb:7:in `perform'", "app/lib/mail.rb:12:in `deliver'"],
      })
      const [dead] = await all(hq.dead)
      expect(dead).toMatchObject({ jid: jidOf(7), at: new Date(1739500000750), retryCount: 3 })
    })

    test.each([6, 7, 8] as const)('metrics and deploys with wire %i', async (wire) => {
      const { hq } = app(wire)
      const { jobs, deploys } = await hq.metrics.top()
      expect(jobs).toMatchObject([
        { name: 'HardJob', processed: 3, failed: 1, success: 2, seconds: 0.25, average: 0.125 },
        { name: 'WelcomeJob', processed: 1, failed: 0, success: 1, seconds: 0.03 },
      ])
      expect(jobs[0]?.steps).toMatchObject([{ at: new Date('2025-02-14T08:04:00Z'), processed: 3 }])
      expect(deploys).toEqual([{ at: new Date('2025-02-14T08:03:00Z'), label: `v${version} of the shop` }])
      const { histogram } = await hq.metrics.job('HardJob')
      const counted = histogram.filter(({ count }) => count > 0)
      expect(counted.map(({ label, count }) => [label, count])).toEqual([
        ['150ms', 1],
        ['225ms', 1],
      ])
      // Version 7 has no sums of ten minutes.
      expect((await hq.metrics.top({ hours: 1 })).jobs).toHaveLength(version === 8 ? 2 : 0)
    })

    test('jobs run, and failed ones are in their set with unchanged bytes', async () => {
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

    test('retries and scheduled jobs continue where they were', async () => {
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
