import { onRedis } from '../redis/suite.ts'
import { redis } from './redis.ts'
import { conformance, isLong } from './suite.ts'

onRedis('the store contract', () => conformance('Redis', redis(), isLong))
