import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { MetricsFlusher } from './flusher.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

test('tells every ten seconds, and once more at the end', async () => {
  let told = 0
  const teller = new MetricsFlusher(async () => void told++)
  teller.start()
  await vi.advanceTimersByTimeAsync(9999)
  expect(told).toBe(0)
  await vi.advanceTimersByTimeAsync(10_001)
  expect(told).toBe(2)
  teller.quiet()
  await vi.advanceTimersByTimeAsync(10_000)
  expect(told).toBe(3)
  await teller.stop()
  expect(told).toBe(4)
  await vi.advanceTimersByTimeAsync(60_000)
  expect(told).toBe(4)
})
