import { expect, test } from 'vitest'
import { type FinishedRules, finishedRules } from './keep-finished.ts'

test.each([
  [{ max: 4000 }, 2000],
  [{ max: 20 }, 1000],
])('onManyKept is called each time that half of max jobs, and at least 1,000, were kept (%j)', (option, many) => {
  const rules = finishedRules(option, new Map(), []) as FinishedRules
  let calls = 0
  rules.onManyKept = () => calls++
  for (let n = 1; n <= 2 * many; n++) {
    rules.countKept()
    expect(calls).toBe(Math.floor(n / many))
  }
})
