import { afterAll, beforeAll, expect, test } from 'vitest'
import { Connection, type Script } from '#dist/store/redis/server/connection.js'
import { readRedisUrl } from '#dist/store/redis/server/url.js'
import { type RedisServer, startServer } from './server.ts'
import { onRedis } from './suite.ts'

onRedis('a connection', () => {
  let server: RedisServer
  beforeAll(async () => {
    server = await startServer()
  })
  afterAll(() => server.remove())

  test('a script that the server has never seen runs before the commands that are sent after it', async () => {
    const connection = new Connection(readRedisUrl(server.url(0)))
    try {
      await connection.ready()
      const script = { source: "return redis.call('SET', KEYS[1], '1')", sha: 'f'.repeat(40) } as Script
      const ran = connection.run(script, ['key'], [])
      const seen = connection.call((client) => client.get('key'))
      expect(await seen).toBe('1')
      await ran
    } finally {
      connection.close()
    }
  })
})
