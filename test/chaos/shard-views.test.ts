import { type AlertOptions, Highkiq, type HighkiqOptions } from 'highkiq'
import { createHandler } from 'highkiq/http'
import { expect, type TestContext, test } from 'vitest'
import { receiver } from '../alerts/receivers.ts'
import { promptly, recorder, until } from '../engine/bench.ts'
import { caller } from '../http/api.ts'
import { type RedisServer, startServer } from '../redis/server.ts'
import { onRedis } from '../redis/suite.ts'
import { TROUBLES } from './shard-troubles.ts'

const JOBS = 20
/** A shard that does not answer is known after a quarter of a second and the second of a check. */
const KNOWN_SECONDS = 3

onRedis('what is seen of two shards while one of them is in trouble', () => {
  for (const [name, begin, end] of TROUBLES) {
    test.concurrent(`while a shard is ${name} the jobs of the other one are shown, and what is missing is named`, async (context) => {
      const { hq, get, servers } = await twoShards(context)
      const later = await hq.job('Later', () => {}).set({ wait: 3600 })
      const jids = await later.performBulk(Array.from({ length: JOBS }, () => []))
      await hq.queue('default').pause()
      await hq.push({ class: 'Waits', args: [] })
      expect((await get('/api/v1/scheduled?limit=50')).items).toHaveLength(JOBS)
      expect(await get('/api/v1/live-stats')).toMatchObject({ stats: { scheduled: JOBS }, alerts: [] })

      await begin(servers[1])
      const there: string[] = (await promptly(KNOWN_SECONDS, get('/api/v1/scheduled?limit=50'))).items.map(
        ({ jid }: { jid: string }) => jid,
      )
      expect(there.length).toBeGreaterThan(0)
      expect(there.length).toBeLessThan(JOBS)
      const store = servers[1].url()
      await until(async () => (await get('/api/v1/live-stats')).stats.scheduled === there.length)
      expect(await get('/api/v1/live-stats')).toMatchObject({
        stats: { unreachableShards: [store] },
        alerts: [{ kind: 'shard-unreachable', level: 'error', store }],
      })
      for (const path of ['queues', 'jobs', 'processes', 'tasks', 'batches', 'limits', 'locks', 'cron', 'metrics'])
        await promptly(1, get(`/api/v1/${path}`))

      // A job of the other shard is found. One that is not found may be where nobody can look.
      expect(await hq.find(there[0] as string)).toMatchObject({ state: 'scheduled' })
      const missing = jids.find((jid) => jid !== null && !there.includes(jid)) as string
      await expect(hq.find(missing)).rejects.toThrow(`shard 2 of 2 can't be reached: ${store}`)
      // Programs that count on these figures get no smaller ones.
      await expect(hq.stats()).rejects.toThrow(store)

      await end(servers[1])
      await until(async () => (await get('/api/v1/live-stats')).stats.scheduled === JOBS)
      expect(await get('/api/v1/live-stats')).toMatchObject({ alerts: [] })
    })
  }

  test('a message tells of a shard that is down, also when it stores what was sent, and that it is back', async (context) => {
    const { url, got } = await receiver()
    const alerts: AlertOptions = { to: [{ webhook: url, kinds: ['shard-unreachable'] }], after: 0, every: 1 }
    const { hq, servers } = await twoShards(context, { alerts })
    await hq.worker().start()
    const stores = async (server: RedisServer) =>
      (await server.ask('KEYS', '*alerts:*')).some((key) => !key.includes('lock'))
    await until(async () => (await Promise.all(servers.map(stores))).some(Boolean))
    const server = (await stores(servers[0])) ? servers[0] : servers[1]

    await server.kill()
    const [first] = await got.atLeast(1)
    expect(first?.body).toMatchObject({ begun: [{ kind: 'shard-unreachable', details: { store: server.url() } }] })
    expect(await hq.alerts.now()).toMatchObject([{ kind: 'shard-unreachable' }])
    await server.start()
    const [, last] = await got.atLeast(2)
    expect(last?.body).toMatchObject({ begun: [], over: [{ kind: 'shard-unreachable' }] })
    // The shard stores again which messages were sent.
    await until(() => stores(server))
    expect(got.all).toHaveLength(2)
  })
})

async function twoShards(context: TestContext, options: HighkiqOptions = {}) {
  const servers = await Promise.all([startServer({ appendonly: true }), startServer({ appendonly: true })])
  const hq = new Highkiq({ ...options, url: servers.map((server) => server.url()).join(' '), logger: recorder() })
  context.onTestFinished(async () => {
    await hq.close()
    await Promise.all(servers.map((server) => server.remove()))
  })
  const handle = createHandler(hq)
  const call = caller('http://localhost:7433', (request) => handle(request, { remote: '127.0.0.1' }))
  const get = async (path: string) => {
    const { status, body } = await call('GET', path)
    expect(status, JSON.stringify(body)).toBe(200)
    return body
  }
  return { hq, get, servers }
}
