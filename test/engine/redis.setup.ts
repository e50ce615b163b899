import { beforeEach } from 'vitest'
import { reasonVariable } from '../programs/program.ts'
import { redis } from '../redis/program.ts'
import { emptyServer } from '../redis/server.ts'

/** Lets a suite that knows nothing of stores run on Redis: see `bench`. Each file finds its server empty. */
const reason = process.env[reasonVariable(redis)]
if (!reason) {
  process.env.HIGHKIQ_TEST_REDIS = `redis://127.0.0.1:${(await emptyServer()).port}`
} else if (process.env.CI) {
  throw new Error(reason)
} else {
  beforeEach(({ skip }) => skip(reason))
}
