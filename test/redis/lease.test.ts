import { afterAll, beforeAll } from 'vitest'
import { leaseCases } from '../engine/lease-cases.ts'
import { type RedisServer, startServer } from './server.ts'
import { onRedis } from './suite.ts'

onRedis('leases on Redis', () => {
  let server: RedisServer
  let database = 0
  beforeAll(async () => {
    server = await startServer({ databases: 1000 })
  })
  afterAll(() => server.remove())
  leaseCases('Redis', () => server.url(++database))
})
