import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { MetricsBatch } from '../store/contract.ts'
import { bucketOf, LABELS, LIMITS, MetricsCollector, MetricsFlusher, percentile } from './collector.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

test('flushes every ten seconds, and once more when it stops', async () => {
  let flushes = 0
  const flush = async () => void flushes++
  const flusher = new MetricsFlusher(() => {}, flush)
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

test('waits are counted by queue, of more than 99 queues the others together, and sent with one batch', async () => {
  const collector = new MetricsCollector()
  const at = 1_700_000_000_000
  for (let i = 0; i < 150; i++) {
    const payload = { class: `J${i}`, args: [], queue: `q${i}`, jid: 'j', enqueued_at: at - 100 }
    collector.ended(payload, { kind: 'done', result: null }, 1, at)
  }
  const batches: MetricsBatch[] = []
  await collector.flush({ metrics: { record: async (batch: MetricsBatch) => batches.push(batch) } } as never, () => at)
  expect(batches.map(({ jobs, waits = [] }) => [jobs.length, waits.length])).toEqual([
    [100, 100],
    [50, 0],
  ])
  const others = batches[0]?.waits?.find(({ queue }) => queue === '(others)')
  expect([others?.ms, others?.histogram[bucketOf(100)]]).toEqual([5100, 51])
})

test('a time that is a limit goes to the next bucket; beyond the last limit there is one more', () => {
  expect([0, 19.99, 20, 29, 30].map(bucketOf)).toEqual([0, 0, 1, 1, 2])
  for (const [i, limit] of LIMITS.entries()) expect([bucketOf(limit - 0.001), bucketOf(limit)]).toEqual([i, i + 1])
  expect([bucketOf(335_000), bucketOf(Number.POSITIVE_INFINITY)]).toEqual([25, 25])
  expect(LABELS).toHaveLength(26)
  const some = [0, 9, 10, 14, 24, 25].map((i) => LABELS[i])
  expect(some).toEqual(['20ms', '750ms', '1.1s', '5.75s', '335s', 'Slow'])
})

test('a percentile lies between the limits of its bucket, as far as its share of the bucket’s runs', () => {
  const counts = (filled: Record<number, number>) => Array.from({ length: 26 }, (_, i) => filled[i] ?? 0)
  expect(percentile(counts({}), 0.5)).toBeNull()
  expect(percentile(counts({ 0: 100 }), 0.5)).toBeCloseTo(0.01)
  expect(percentile(counts({ 0: 50, 4: 50 }), 0.5)).toBeCloseTo(0.02)
  // 45 of the 50 runs between 65 and 100 ms are among the fastest 95.
  expect(percentile(counts({ 0: 50, 4: 50 }), 0.95)).toBeCloseTo(0.065 + 0.035 * 0.9)
  expect(percentile(counts({ 0: 1, 25: 99 }), 0.99)).toBe(335)
  expect(percentile(counts({ 2: 1 }), 1)).toBeCloseTo(0.045)
})
