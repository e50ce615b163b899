import { describe, test } from 'vitest'
import { onRedis } from '../redis/suite.ts'
import { conformance } from './index.ts'
import { redisCluster } from './redis.ts'

onRedis('the store contract', () => conformance({ describe, test }, 'Redis Cluster', redisCluster()))
