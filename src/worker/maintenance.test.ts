import { afterEach, expect, test, vi } from 'vitest'
import { HighkiqError } from '../job/errors.ts'
import { ItemRunner, WalkPace } from './maintenance.ts'

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

test('a store error ends the round; the next round skips that item and runs the others', async () => {
  let now = 0
  vi.spyOn(performance, 'now').mockImplementation(() => now)
  const runner = new ItemRunner(
    () => {},
    (id) => ({ id }),
  )
  const done: string[] = []
  const round = async () => {
    for (const id of ['bad', 'good']) {
      await runner.run(id, async () => {
        if (id === 'bad') throw new HighkiqError('STORE_TIMEOUT', 'no answer')
        done.push(id)
      })
    }
  }
  await expect(round()).rejects.toThrow('no answer')
  await round()
  expect(done).toEqual(['good'])
  expect(runner.pausing).toBe(1)
  now = 31_000
  expect(runner.pausing).toBe(0)
  await expect(round()).rejects.toThrow('no answer')
})
