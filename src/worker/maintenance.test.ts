import { afterEach, expect, test, vi } from 'vitest'
import { WalkPace } from './maintenance.ts'

afterEach(() => {
  vi.restoreAllMocks()
})

test('a walk that must be confirmed is followed by one after a short pause, and that one by a long pause whatever it finds', async () => {
  let now = 0
  vi.spyOn(performance, 'now').mockImplementation(() => now)
  const pace = new WalkPace(0.01, 50)
  const pauses: number[] = []
  for (const outcome of ['unconfirmed', 'unconfirmed', 'unconfirmed', 'done'] as const) {
    await pace.run(async () => {
      now += 1000
      return outcome
    })
    const began = now
    while (!pace.isDue) now += 100
    pauses.push(now - began)
  }
  expect(pauses).toEqual([5000, 100_000, 5000, 100_000])
})
