import { onRedis } from '../redis/suite.ts'
import { namespaced } from './redis.ts'
import { conformance, verbs } from './suite.ts'

// Names depend on the namespace, and what an answer looks like on the protocol: the models say nothing of either.
onRedis('the store contract', () => {
  const named = (Object.keys(verbs) as (keyof typeof verbs)[]).filter((verb) => !verb.endsWith('Models'))
  conformance('Redis, in a namespace, protocol 2', namespaced, named)
})
