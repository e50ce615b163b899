import { expect, test } from 'vitest'
import { Example } from './example.ts'

test('a charge without a key of its order is made twice, and with one once', () => {
  expect(new Example('docs/good-jobs.md', ['charge.ts']).run('charge.ts')).toBe('charged: 2\ncharged: 1\n')
})

test('a job is retried as often as its page says, then its death is reported', () => {
  const printed = new Example('docs/retries.md', ['retries.ts']).run('retries.ts')
  expect(printed).toBe(
    'attempt 1\nattempt 2\nattempt 3\nSync will not run again: Error: 503 from the shop\nJOB_FAILED\n',
  )
})

test('new code gives a default to jobs of the old code, also under their old name', () => {
  const printed = new Example('docs/upgrades.md', ['change.ts']).run('change.ts')
  expect(printed).toBe('picture 7, 1200 wide\npicture 8, 800 wide\n')
})
