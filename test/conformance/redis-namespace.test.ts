import { onRedis } from '../redis/suite.ts'
import { namespaced } from './redis.ts'
import { conformance, verbs } from './suite.ts'

// Names depend on the namespace, and what an answer looks like on the protocol: the models say nothing of either.
onRedis('the store contract', () => {
  const named = (Object.keys(verbs) as (keyof typeof verbs)[]).filter((verb) => !verb.endsWith('Models'))
  // HIGHKIQ_TEST_NAMESPACE=all: every one of them.
  const every = process.env.HIGHKIQ_TEST_NAMESPACE === 'all' ? 1 : 3
  conformance('Redis, in a namespace, protocol 2', namespaced, named, every)
})
