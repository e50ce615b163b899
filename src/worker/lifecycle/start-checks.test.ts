import { expect, test } from 'vitest'
import { sidekiqVersionOf } from './start-checks.ts'

test.each([
  ['{"version":"8.1.7"}', 8],
  ['{"version":"9.0.0"}', 8],
  ['{"version":"7.3.2"}', 7],
  ['{"version":"6.5.12"}', 6],
  ['{"hostname":"h","concurrency":10}', 6],
  ['{"version":"0.1.0"}', undefined],
  ['{"version":null}', undefined],
  ['{}', 6],
  ['null', undefined],
  ['no JSON', undefined],
])('a process that says %s speaks %s', (info, dialect) => {
  expect(sidekiqVersionOf(info)).toBe(dialect)
})
