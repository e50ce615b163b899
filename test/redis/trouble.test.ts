import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { openStore } from '#dist/store/open.js'
import { done, job, NOW, requestOf, toQueue } from '../conformance/bench.ts'
import { begin, PRODUCER, rows, spec } from '../conformance/tasks/tracked.ts'
import { type RedisServer, startServer } from './server.ts'
import { onRedis } from './suite.ts'

const NEVER = new AbortController().signal

onRedis('a misconfigured server, and a long run', () => {
  let server: RedisServer
  beforeAll(async () => {
    server = await startServer({ databases: 5 })
    await server.ask('CONFIG', 'SET', 'requirepass', 'open sesame')
  })
  afterAll(() => server.remove())

  const open = (database: number, password = 'open%20sesame') => {
    const store = openStore(`redis://:${password}@127.0.0.1:${server.port}/${database}`, { redisTimeout: 0.5 })
    onTestFinished(() => store.close())
    return store
  }

  test('a database that does not exist is refused each time, and nothing goes into another one', async () => {
    const store = open(7)
    for (let i = 0; i < 3; i++) {
      await expect(store.jobs.push([toQueue('q', job(i))], NOW)).rejects.toMatchObject({
        maybePushed: false,
        message: expect.stringMatching(/DB index is out of range/),
      })
    }
    await expect(store.open()).rejects.toMatchObject({ code: 'STORE_UNUSABLE' })
    expect(await open(0).metrics.totals()).toMatchObject({ enqueued: 0 })
  })

  test('a wrong password is reported without showing it', async () => {
    const opening = open(0, 'sesame').open()
    await expect(opening).rejects.toMatchObject({ code: 'STORE_UNUSABLE', message: expect.stringMatching(/WRONGPASS/) })
    await expect(opening).rejects.not.toMatchObject({ message: expect.stringMatching(/:sesame/) })
  })

  test('a long series of single jobs leaves nothing behind', { timeout: 180_000 }, async () => {
    const store = open(1)
    await store.workers.join('o', { queues: ['q'], seconds: 60, host: '' })
    for (let n = 0; n < 2000; n++) {
      const waiting = store.workers.waitForJobs('o', ['q'], 1, 2000, NEVER)
      await store.jobs.push([toQueue('q', job(n % 3))], NOW)
      const handed = await waiting
      const settlements = (handed.length > 0 ? handed : []).map((one) => done(one))
      const answer = await store.workers.settleAndFetch('o', requestOf({ settlements, fetch: { queues: ['q'], n: 1 } }))
      expect(answer.settled).toEqual(settlements.map(() => 'ok'))
      const ends = answer.fetched.map((one) => done(one))
      if (ends.length > 0) await store.workers.settleAndFetch('o', requestOf({ settlements: ends }))
      if (n % 500 === 0) expect((await store.metrics.totals()).fetched).toBe(0)
    }
    expect(await store.metrics.totals()).toMatchObject({ processed: 2000, fetched: 0, enqueued: 0 })
    expect(await store.workers.release('o')).toBe(true)
  })
})

onRedis('a server whose replicas are gone', () => {
  test('takes no start of a row until they are back', async ({ onTestFinished }) => {
    const server = await startServer()
    onTestFinished(() => server.remove())
    const store = openStore(server.url())
    onTestFinished(() => store.close())
    const task = spec(1)
    await store.workers.join(PRODUCER, { queues: ['q'], seconds: 60, host: '' })
    await store.tasks.create(task)
    await store.tasks.addRows(task.id, PRODUCER, 0, rows(0, 1), NOW)
    const { fetched } = await store.workers.settleAndFetch(PRODUCER, requestOf({ fetch: { queues: ['q'], n: 1 } }))
    const start = () => store.workers.settleAndFetch(PRODUCER, requestOf({ started: fetched.map((one) => begin(one)) }))
    await server.ask('CONFIG', 'SET', 'min-replicas-to-write', '1')
    await expect(start()).rejects.toMatchObject({
      code: 'STORE_UNREACHABLE',
      message: expect.stringMatching(/NOREPLICAS/),
    })
    await server.ask('CONFIG', 'SET', 'min-replicas-to-write', '0')
    expect(await start()).toMatchObject({ started: ['ok'] })
    expect((await store.tasks.find(task.id))?.counts).toMatchObject({ working: 1 })
  })
})

test.for([
  ['redis', 'if the server expects TLS, use rediss://; or it is not a Redis server'],
  ['rediss', 'the server may not speak TLS: use redis://; or it is not a Redis server'],
])('a server that says nothing to %s:// is unreachable, with the likely reasons', async ([scheme, reasons]) => {
  const server = createServer((socket) => void socket.on('error', () => {}).resume()).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const store = openStore(`${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}`, { redisTimeout: 0.2 })
  onTestFinished(() => store.close())
  // The first call ends by its own timeout, a later one by that of the client library: the reasons are the same.
  for (let call = 0; call < 3; call++) {
    await expect(store.jobs.queues()).rejects.toMatchObject({
      code: 'STORE_UNREACHABLE',
      message: expect.stringContaining(`no answer (${reasons})`),
    })
  }
})
