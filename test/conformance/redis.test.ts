import { onRedis } from '../redis/suite.ts'
import { namespaced, redis } from './redis.ts'
import { conformance, verbs } from './suite.ts'

onRedis('the store contract', () => {
  conformance('Redis', redis())
  // The models say nothing of names.
  const named = (Object.keys(verbs) as (keyof typeof verbs)[]).filter((verb) => verb !== 'orderedModels')
  conformance('Redis, in a namespace', namespaced, named)
  // What an answer looks like depends on the protocol: the verbs with every kind of answer.
  conformance('Redis, protocol 2', redis('?protocol=2'), [
    'push',
    'turn',
    'sets',
    'search',
    'removal',
    'wait',
    'tasks',
    'ordered',
  ])
})
