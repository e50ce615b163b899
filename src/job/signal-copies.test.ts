import { expect, test } from 'vitest'
import { signalCopies } from './signal-copies.ts'

test('a signal right after another one is its copy, a later one is not', () => {
  let now = 0
  const isCopy = signalCopies(() => now)
  const answers = [0, 1, 499, 500, 999, 2000, 2000].map((at) => {
    now = at
    return isCopy()
  })
  expect(answers).toEqual([false, true, true, false, true, false, true])
})
