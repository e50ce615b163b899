import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { bench } from '../engine/bench.ts'
import { type RedisServer, startServer } from './server.ts'
import { onRedis } from './suite.ts'

onRedis('batches, beside other programs', () => {
  let server: RedisServer
  beforeAll(async () => {
    server = await startServer()
  })
  afterAll(() => server.remove())

  test('a batch whose record was deleted does not hide the idle batches behind it', async () => {
    const { hq, clock } = bench({ url: server.url() })
    const Work = hq.job('Work', () => {})
    const bids = [await hq.batch({}, () => Work.performAsync()), await hq.batch({}, () => Work.performAsync())]
    const before = clock.now() + 10_000
    const { items, next } = await hq.store.batches.idle(before, { limit: 1 })
    expect(items).toHaveLength(1)
    const redis = new Redis(server.url())
    await redis.del(`hk:batch:${items[0]?.bid}`)
    redis.disconnect()
    expect(await hq.store.batches.idle(before, { limit: 1 })).toEqual({ items: [], next })
    const [rest] = (await hq.store.batches.idle(before, { after: next ?? undefined, limit: 1 })).items
    expect(bids).toContain(rest?.bid)
  })
})
