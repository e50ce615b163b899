import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, type MockInstance, test, vi } from 'vitest'
import { bench, until } from '../engine/bench.ts'
import { type RedisServer, startServer } from './server.ts'
import { onRedis } from './suite.ts'

const OWNERS = 100
const QUEUES = Array.from({ length: 10 }, (_, i) => `q${i}`)

onRedis('an idle fleet', () => {
  let server: RedisServer
  beforeAll(async () => {
    server = await startServer()
  })
  afterAll(() => server.remove())

  test('the bytes that idle workers read do not grow with the owners and queues of the fleet', async () => {
    const t = bench({ url: server.url() })
    const { store } = t.hq
    await store.open()
    for (let i = 0; i < OWNERS; i++) {
      await store.workers.join(`a-host-of-the-fleet:4711:${i}.0`, {
        queues: QUEUES,
        seconds: 3600,
        host: 'elsewhere\n1 1',
      })
    }
    const asked: MockInstance[] = []
    for (let i = 0; i < 2; i++) {
      const beside = t.another()
      await beside.work({ leaseSeconds: 1, queues: ['q0'] })
      asked.push(vi.spyOn(beside.hq.store.workers, 'acquireLock'))
    }
    const redis = new Redis(server.port)
    const read = async () => Number(/total_net_output_bytes:(\d+)/.exec(await redis.info('stats'))?.[1])
    const before = await read()
    await until(() => asked.every(({ mock }) => mock.calls.length >= 20))
    // Reading all leases of all queues once takes more bytes than this.
    expect((await read()) - before).toBeLessThan(300_000)
    redis.disconnect()
  })
})
