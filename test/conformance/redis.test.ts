import { onRedis } from '../redis/suite.ts'
import { namespaced, redis } from './redis.ts'
import { conformance } from './suite.ts'

onRedis('the store contract', () => {
  conformance('Redis', redis())
  conformance('Redis, in a namespace', namespaced)
  // What an answer looks like depends on the protocol: the verbs with every kind of answer.
  conformance('Redis, protocol 2', redis('?protocol=2'), ['push', 'turn', 'sets', 'search', 'removal', 'wait', 'tasks'])
})
