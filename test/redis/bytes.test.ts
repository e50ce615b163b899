import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import type { FetchedJob, Store } from '#dist/store/contract.js'
import { openStore } from '#dist/store/open.js'
import { NOW, requestOf } from '../conformance/bench.ts'
import { type RedisServer, startServer } from './server.ts'
import { onRedis } from './suite.ts'

/** A job as another program may write it: the byte 0xff is never part of UTF-8. */
const BYTES = Buffer.concat([
  Buffer.from('{"class":"J","args":["caf'),
  Buffer.from([0xff]),
  Buffer.from('"],"queue":"q","jid":"j1"}'),
])

onRedis('a job that is not valid UTF-8 keeps its bytes while nobody changes it', () => {
  let server: RedisServer
  let databases = 0
  beforeAll(async () => {
    server = await startServer()
  })
  afterAll(() => server.remove())

  function open(): { store: Store; redis: Redis } {
    const url = server.url(++databases)
    const [store, redis] = [openStore(url), new Redis(url)]
    onTestFinished(async () => {
      redis.disconnect()
      await store.close()
    })
    return { store, redis }
  }

  const back = ({ queue, ticket, text }: FetchedJob, to: object) =>
    requestOf({ settlements: [{ queue, ticket, move: { text, ...to } as never, processed: 0, failed: 0 }] })

  test('when its worker requeues it, whether it was fetched or arrived during a wait', async () => {
    const { store, redis } = open()
    await redis.lpush('queue:q', BYTES)
    await store.workers.join('A', { queues: ['q'], seconds: 60, host: 'here' })
    const { fetched: taken } = await store.workers.settleAndFetch('A', requestOf({ fetch: { queues: ['q'], n: 1 } }))
    expect(taken).toHaveLength(1)
    await store.workers.settleAndFetch('A', back(taken[0] as FetchedJob, { to: 'queue', queue: 'q', end: 'front' }))
    expect(await redis.lrangeBuffer('queue:q', 0, -1)).toEqual([BYTES])
    const [waited] = (await store.workers.settleAndFetch('A', requestOf({ fetch: { queues: ['q'], n: 1 } }))).fetched
    await store.workers.settleAndFetch('A', back(waited as FetchedJob, { to: 'dead', score: 5 }))
    expect(await redis.zrangeBuffer('dead', '0', '-1')).toEqual([BYTES])
  })

  test('when it is rescued from a dead worker', async () => {
    const { store, redis } = open()
    await redis.lpush('queue:q', BYTES)
    await store.workers.join('A', { queues: ['q'], seconds: 60, host: 'here' })
    await store.workers.settleAndFetch('A', requestOf({ fetch: { queues: ['q'], n: 1 } }))
    // Another process, which has never read the job, moves it.
    const other = openStore(server.url(databases))
    onTestFinished(() => other.close())
    await other.workers.claim('A')
    const orphaned = await other.workers.orphaned(10)
    expect(orphaned).toHaveLength(1)
    const items = orphaned.map((one) => ({
      ...one,
      to: { to: 'queue', queue: 'q', text: one.text, end: 'front' } as const,
    }))
    await other.workers.rescue(items, NOW)
    expect(await redis.lrangeBuffer('queue:q', 0, -1)).toEqual([BYTES])
  })

  test('when it moves from one set to another, or into its queue', async () => {
    const { store, redis } = open()
    await redis.zadd('schedule', 5, BYTES)
    const move = async (
      set: 'schedule' | 'dead',
      to: { to: 'dead'; score: number } | { to: 'queue'; queue: string; end: 'back' },
    ) => {
      for (const entry of await store.jobSets.page(set, { limit: 1 }))
        await store.jobSets.swap(set, [{ ...entry, to: { ...to, text: entry.text } }], NOW)
    }
    await move('schedule', { to: 'dead', score: 6 })
    expect(await redis.zrangeBuffer('dead', '0', '-1')).toEqual([BYTES])
    await move('dead', { to: 'queue', queue: 'q', end: 'back' })
    expect(await redis.lrangeBuffer('queue:q', 0, -1)).toEqual([BYTES])
    expect(await redis.zcard('dead')).toBe(0)
  })
})
