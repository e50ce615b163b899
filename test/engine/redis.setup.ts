import { afterAll, beforeEach } from 'vitest'
import { reasonVariable } from '../programs/program.ts'
import { redis } from '../redis/program.ts'
import { startServer } from '../redis/server.ts'

/** Lets a suite that knows nothing of stores run on Redis: see `bench`. One server for each test file. */
const reason = process.env[reasonVariable(redis)]
if (!reason) {
  const server = await startServer({ databases: 10_000 })
  process.env.HIGHKIQ_TEST_REDIS = `redis://127.0.0.1:${server.port}`
  afterAll(() => server.remove())
} else if (process.env.CI) {
  throw new Error(reason)
} else {
  beforeEach(({ skip }) => skip(reason))
}
