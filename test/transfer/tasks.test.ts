import { describe } from 'vitest'
import { redis } from '../conformance/redis.ts'
import { file } from '../conformance/sqlite.ts'
import { onRedis } from '../redis/suite.ts'
import { movingTasks } from './tasks-suite.ts'

describe('from SQLite to SQLite', () => movingTasks(file, file))
const server = redis()
onRedis('from SQLite to Redis', () => movingTasks(file, server))
onRedis('from Redis to SQLite', () => movingTasks(server, file))
onRedis('from Redis to Redis', () => movingTasks(server, server))
