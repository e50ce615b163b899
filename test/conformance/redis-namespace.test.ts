import { onRedis } from '../redis/suite.ts'
import { namespaced } from './redis.ts'
import { conformance } from './suite.ts'

// Names depend on the namespace, and what an answer looks like on the protocol: the models say nothing of either.
onRedis('the store contract', () => {
  // HIGHKIQ_TEST_NAMESPACE=all: every one of the cases.
  const every = process.env.HIGHKIQ_TEST_NAMESPACE === 'all' ? 1 : 3
  conformance(
    'Redis, in a namespace, protocol 2',
    namespaced,
    (_, verb, i) => !verb.endsWith('Models') && i % every === 0,
  )
})
