import { startServer } from '../redis/server.ts'
import { onRedis } from '../redis/suite.ts'
import { MOVE_SEEDS, moveTest } from './move-suite.ts'

const DATABASES = 2000

onRedis('moving jobs between SQLite and Redis', () => {
  moveTest(
    MOVE_SEEDS,
    () => startServer({ databases: DATABASES }),
    (server, seed) => server.url(seed % DATABASES),
  )
})
