import { expect, test } from 'vitest'
import { nextLogAt } from './shown-jobs.ts'

test('a stop logs the running jobs after 1, 2, 5, 10 and 20 seconds, then every ten', () => {
  const lines: number[] = []
  for (let at = nextLogAt(0); at <= 50; at = nextLogAt(at)) lines.push(at)
  expect(lines).toEqual([1, 2, 5, 10, 20, 30, 40, 50])
})
