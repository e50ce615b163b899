import { describe, test } from 'vitest'
import { onRedis } from '../redis/suite.ts'
import { conformance } from './index.ts'
import { namespaced } from './redis.ts'

// Names depend on the namespace, and the form of an answer on the protocol. The models check neither.
onRedis('the store contract', () => {
  // HIGHKIQ_TEST_NAMESPACE=all runs every one of the cases.
  const every = process.env.HIGHKIQ_TEST_NAMESPACE === 'all' ? 1 : 3
  conformance(
    { describe, test },
    'Redis, in a namespace, protocol 2',
    namespaced,
    ({ area, index }) => !area.endsWith('Models') && index % every === 0,
  )
})
