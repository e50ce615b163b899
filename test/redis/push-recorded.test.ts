import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { openStore } from '#dist/store/open.js'
import { job, NOW, toQueue } from '../conformance/bench.ts'
import { commandsDuring } from './monitor.ts'
import { startProxy } from './proxy.ts'
import { type RedisServer, startServer } from './server.ts'
import { command } from './steps/stage.ts'
import { onRedis } from './suite.ts'

const ABOUT = '["pushed","J","q",1,0]'
const NUMBERS = Array.from({ length: 80 }, (_, n) => n)

onRedis('a push of many jobs with events', () => {
  let server: RedisServer
  let database = 0
  beforeAll(async () => {
    server = await startServer({ databases: 50, 'maxmemory-policy': 'noeviction' })
  })
  afterAll(() => server.remove())

  async function open(url = server.url(++database)) {
    const [store, redis] = [openStore(url), new Redis(server.url(database))]
    onTestFinished(async () => {
      redis.disconnect()
      await store.close()
    })
    const { newest } = await store.events.record(null, NOW)
    const item = (n: number, queue: string) => {
      const effects = [{ kind: 'record', jid: String(n), about: ABOUT } as const]
      return { ...toQueue(queue, job(n)), effects }
    }
    const push = (queue = 'q') =>
      store.jobs.push(
        NUMBERS.map((n) => item(n, queue)),
        NOW,
      )
    const waiting = () => store.jobs.peek('q', 0, 999)
    const events = async () => {
      const { signal } = new AbortController()
      const read = await store.events.read(newest, { limit: 999, ms: 0, signal }, () => NOW)
      return read?.map(({ event }) => (event as string[])[0])
    }
    return { store, redis, push, waiting, events }
  }
  const all = { jobs: NUMBERS.map((n) => job(n)), events: NUMBERS.map(String) }
  const refused = { code: 'PUSH_FAILED', maybePushed: false }

  test('is one transaction that stores the jobs and their events, in order', async () => {
    const { redis, push, waiting, events } = await open()
    const commands = await commandsDuring(redis, push)
    expect(commands.map(([name]) => name?.toLowerCase())).toEqual(['multi', 'sadd', 'lpush', 'eval', 'exec'])
    expect({ jobs: await waiting(), events: await events() }).toEqual(all)
  })

  test('stores neither jobs nor events in a queue of the wrong type, or without memory', async () => {
    const { redis, push, waiting, events } = await open()
    await redis.set('queue:spoilt', 'no list')
    await expect(push('spoilt')).rejects.toMatchObject(refused)
    await redis.config('SET', 'maxmemory', '1')
    await expect(push()).rejects.toMatchObject({ ...refused, message: expect.stringContaining('maxmemory') })
    await redis.config('SET', 'maxmemory', '0')
    expect({ jobs: await waiting(), events: await events() }).toEqual({ jobs: [], events: [] })
    await push()
    expect({ jobs: await waiting(), events: await events() }).toEqual(all)
  })

  test('says that the jobs may be stored when their events could not be', async () => {
    const { redis, push, waiting } = await open()
    await redis.multi().del('hk:events').set('hk:events', 'no stream').exec()
    await expect(push()).rejects.toMatchObject({ code: 'PUSH_FAILED', maybePushed: true })
    expect(await waiting()).toEqual(all.jobs)
  })

  test.each([
    ['cut-before', 'EXEC', false],
    ['cut-before-reply', 'EXEC', true],
    ['cut-before', 'LPUSH', false],
  ] as const)('%s of %s stores jobs and events together or not at all', async (act, name, isStored) => {
    const proxy = await startProxy(server)
    onTestFinished(() => proxy.close())
    const { push, waiting, events } = await open(proxy.url(++database))
    const cut = proxy.onRequest(command(name), act)
    await expect(push()).rejects.toMatchObject({ code: 'PUSH_FAILED', maybePushed: true })
    await cut.happened
    const stored = { jobs: await waiting(), events: await events() }
    expect(stored).toEqual(isStored ? all : { jobs: [], events: [] })
  })
})
