import { onRedis } from '../redis/suite.ts'
import { redis } from './redis.ts'
import { conformance, isShort } from './suite.ts'

onRedis('the store contract', () => conformance('Redis', redis(), isShort))
