import { afterAll, beforeAll, expect, test } from 'vitest'
import { bench } from '../engine/bench.ts'
import { type RedisServer, startServer } from './server.ts'
import { onRedis } from './suite.ts'

/** A worker warns when its server may evict jobs. */
onRedis('the maxmemory-policy', () => {
  let server: RedisServer
  beforeAll(async () => {
    server = await startServer()
  })
  afterAll(() => server.remove())

  /** Returns the warnings of a worker that starts there. */
  async function warnings(url = server.url()): Promise<string[]> {
    const t = bench({ url })
    const worker = await t.work()
    await worker.stop()
    expect(t.errors).toEqual([])
    return t.log.lines.filter(({ level }) => level === 'warn').map(({ message }) => message)
  }

  test('gives no warning when no key can be evicted', async () => {
    await server.ask('CONFIG', 'SET', 'maxmemory-policy', 'noeviction')
    expect(await warnings()).toEqual([])
  })

  test('gives a warning with a remedy when jobs may be evicted, unless the server hides the setting', async () => {
    await server.ask('CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lru')
    const [warning, ...more] = await warnings()
    expect(warning).toMatch(/maxmemory-policy allkeys-lru.* CONFIG SET maxmemory-policy noeviction/)
    expect(more).toEqual([])
    await server.ask('ACL', 'SETUSER', 'app', 'on', '>secret', '~*', '&*', '+@all', '-info', '-config')
    expect(await warnings(server.url().replace('redis://', 'redis://app:secret@'))).toEqual([])
  })
})
