import { expect, test } from 'vitest'
import { Example } from './example.ts'

test('the example of inspecting jobs does what it says', () => {
  const printed = new Example('docs/inspect.md', ['repair.ts']).run('repair.ts')
  expect(printed).toBe('{ enqueued: 3, scheduled: 1, retries: 0, dead: 0 }\n0 retried, 0 refused; 0 wait\n')
})
