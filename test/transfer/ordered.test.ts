import { describe } from 'vitest'
import { redis } from '../conformance/redis.ts'
import { file } from '../conformance/sqlite.ts'
import { onRedis } from '../redis/suite.ts'
import { movingOrdered } from './ordered-suite.ts'

describe('from SQLite to SQLite', () => movingOrdered(file, file))
const server = redis()
onRedis('from SQLite to Redis', () => movingOrdered(file, server))
onRedis('from Redis to SQLite', () => movingOrdered(server, file))
onRedis('from Redis to Redis', () => movingOrdered(server, server))
