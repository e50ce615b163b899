import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { MetricsFlusher } from './flusher.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

test('flushes every ten seconds, and once more when it stops', async () => {
  let flushes = 0
  const flusher = new MetricsFlusher(
    () => {},
    async () => void flushes++,
  )
  flusher.start()
  await vi.advanceTimersByTimeAsync(9999)
  expect(flushes).toBe(0)
  await vi.advanceTimersByTimeAsync(10_001)
  expect(flushes).toBe(2)
  flusher.quiet()
  await vi.advanceTimersByTimeAsync(10_000)
  expect(flushes).toBe(3)
  await flusher.stop()
  expect(flushes).toBe(4)
  await vi.advanceTimersByTimeAsync(60_000)
  expect(flushes).toBe(4)
})
