import { afterAll, beforeAll } from 'vitest'
import { leaseCases } from '../engine/lease-cases.ts'
import { newSchema, type PostgresServer, startPostgres } from './server.ts'
import { onPostgres } from './suite.ts'

onPostgres('leases on PostgreSQL', () => {
  let server: PostgresServer
  beforeAll(async () => {
    // Without fsync a worker warns, and these cases count warnings.
    server = await startPostgres({ fsync: true })
  })
  afterAll(() => server.remove())
  leaseCases('PostgreSQL', () => server.url(`?schema=${newSchema()}`))
})
