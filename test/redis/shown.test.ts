import { Highkiq } from 'highkiq'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { gate, recorder, until } from '../engine/bench.ts'
import { type RedisServer, startServer } from './server.ts'
import { onRedis } from './suite.ts'

/** The keys that Sidekiq Web reads. */
onRedis('a worker in the keys of Sidekiq Web', () => {
  let server: RedisServer
  beforeAll(async () => {
    server = await startServer()
  })
  afterAll(() => server.remove())

  test('shows its process, its running jobs and its counts, and obeys signals', async () => {
    const hq = new Highkiq({ url: server.url(), logger: recorder() })
    const begun = gate()
    const end = gate()
    const Long = hq.job('Long', async (ctx) => {
      ctx.progress(1, 2)
      begun.open()
      await end.opened
    })
    const jid = await Long.performAsync()
    const worker = hq.worker({ concurrency: 7, tag: 'shop', queues: ['default', 'low'] })
    await worker.start()
    await begun.opened
    // The worker reports at once that it is quiet, and its running job.
    await worker.quiet()

    expect(await server.ask('SMEMBERS', 'processes')).toEqual([worker.identity])
    const process = pairs(await server.ask('HGETALL', worker.identity))
    expect(process).toMatchObject({ concurrency: '7', busy: '1', quiet: 'true' })
    expect(Number(process.beat) * 1000).toBeGreaterThan(Date.now() - 60_000)
    expect(Number(process.rss)).toBeGreaterThan(10_000)
    expect(Number(process.rtt_us)).toBeGreaterThan(0)
    expect(JSON.parse(process.info ?? '')).toMatchObject({
      pid: globalThis.process.pid,
      tag: 'shop',
      queues: ['default', 'low'],
      identity: worker.identity,
      labels: [],
    })
    expect(Number(await server.ask('TTL', worker.identity))).toBeGreaterThan(50)

    const [running] = Object.values(pairs(await server.ask('HGETALL', `${worker.identity}:work`)))
    const { queue, payload, run_at, progress } = JSON.parse(running ?? '') as Record<string, string>
    expect(progress).toEqual({ done: 1, total: 2 })
    expect(queue).toBe('default')
    expect(JSON.parse(payload ?? '')).toMatchObject({ jid, class: 'Long' })
    expect(Number.isInteger(run_at)).toBe(true)

    end.open()
    await until(async () => (await server.ask('GET', 'stat:processed'))[0] === '1')
    const day = new Date().toISOString().slice(0, 10)
    expect(await server.ask('GET', `stat:processed:${day}`)).toEqual(['1'])
    expect(Number(await server.ask('TTL', `stat:processed:${day}`))).toBeGreaterThan(157_000_000)
    await hq.close()
    expect(await server.ask('SMEMBERS', 'processes')).toEqual([])
    expect(await server.ask('EXISTS', `${worker.identity}:work`)).toEqual(['0'])
  })

  test.each([
    [6, 'workers'],
    [7, 'work'],
  ] as const)('in the dialect of Sidekiq %i what runs stands under IDENTITY:%s', async (wire, name) => {
    const hq = new Highkiq({ url: server.url(), logger: recorder(), wire })
    const begun = gate()
    const end = gate()
    const Long = hq.job('Long', async () => {
      begun.open()
      await end.opened
    })
    await Long.performAsync()
    const worker = hq.worker()
    await worker.start()
    await begun.opened
    await worker.quiet()
    expect(await server.ask('KEYS', `${worker.identity}:work*`)).toEqual([`${worker.identity}:${name}`])
    end.open()
    await hq.close()
  })

  test('after all jobs only the keys remain that Sidekiq would leave, and our names', async () => {
    await server.ask('FLUSHALL')
    const hq = new Highkiq({ url: server.url(), logger: recorder() })
    const Quick = hq.job('Quick', () => {})
    const worker = hq.worker()
    await worker.start()
    await Quick.performBulk(Array.from({ length: 20 }, () => []))
    await until(async () => (await hq.stats()).processed === 20)
    for (const span of [1, 10] as const) await hq.store.metrics.recordQueueSizes(span, hq.now(), 'all\n')
    await hq.close()
    const keys = (await server.ask('KEYS', '*')).filter((key) => !key.startsWith('stat:'))
    const isMetric = (key: string) => /^([jh]\||hk:metrics:)/.test(key)
    for (const key of keys.filter(isMetric)) expect(Number(await server.ask('TTL', key)), key).toBeGreaterThan(0)
    // The first three refuse processes of version 0.1: see migrations/migrate-begin.lua.
    const ours = ['hk:marks', 'hk:queues', 'hk:tasks', 'hk:renewals', 'hk:schema']
    expect(keys.filter((key) => !isMetric(key)).sort()).toEqual([...ours, 'queues'].sort())
  })
})

function pairs(flat: string[]): Record<string, string> {
  return Object.fromEntries(Array.from({ length: flat.length / 2 }, (_, i) => [flat[i * 2], flat[i * 2 + 1]]))
}
