import { expect, test } from 'vitest'
import { Example } from './example.ts'

test("the tasks page's example does what it says", () => {
  const printed = new Example('docs/tasks.md', ['spring.ts']).run('spring.ts')
  expect(printed).toBe('2 finished, 1 failed\nrow 1: price: "12,5O" is not a price\n3 finished, in run 2\n')
})
