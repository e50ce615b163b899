import { describe } from 'vitest'
import { redis } from '../conformance/redis.ts'
import { file } from '../conformance/sqlite.ts'
import { onRedis } from '../redis/suite.ts'
import { movingJobs } from './mover-suite.ts'

describe('from SQLite to SQLite', () => movingJobs(file, file))
const server = redis()
onRedis('from SQLite to Redis', () => movingJobs(file, server))
onRedis('from Redis to SQLite', () => movingJobs(server, file))
onRedis('from Redis to Redis', () => movingJobs(server, server))
