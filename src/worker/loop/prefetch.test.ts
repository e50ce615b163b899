import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, onTestFinished, test, vi } from 'vitest'
import { Prefetch } from './prefetch.ts'

const job = (ticket: number) => ({ queue: 'default', ticket: `${ticket}`, text: '{}' })

test('jobs that stayed because an earlier requeue was under way are asked for again', { timeout: 10_000 }, async () => {
  let asked = 0
  const again = new Promise<void>((resolve) => {
    const prefetch = new Prefetch(1, () => {
      if (++asked === 2) resolve()
    })
    onTestFinished(() => void prefetch.drain())
    prefetch.add(job(1))
  })
  await again
  expect(asked).toBe(2)
})

test('the memory of started jobs is freed also while other jobs are always waiting', async () => {
  setFlagsFromString('--expose-gc')
  const gc: () => void = runInNewContext('gc')
  const prefetch = new Prefetch(1, () => {})
  onTestFinished(() => void prefetch.drain())
  const started: WeakRef<object>[] = []
  prefetch.add(job(0))
  for (let n = 1; n <= 1000; n++) {
    prefetch.add(job(n))
    started.push(new WeakRef(prefetch.shift() as object))
  }
  // A WeakRef keeps its object until the turn of the event loop has ended.
  await new Promise((resolve) => setImmediate(resolve))
  gc()
  expect(started.filter((one) => one.deref()).length).toBeLessThan(200)
  expect(prefetch.jobs).toEqual([job(1000)])
})

test('jobs that end together make the worker fetch ahead only if they were quick', () => {
  let now = performance.now()
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now)
  onTestFinished(() => clock.mockRestore())
  const prefetch = new Prefetch(50, () => {})
  const limitAfter = (ms: number) => {
    for (let n = 0; n < 50; n++) prefetch.ended(ms)
    now += 10
    prefetch.measure()
    return prefetch.limit
  }
  expect(limitAfter(1000)).toBe(0)
  expect(limitAfter(1)).toBe(100)
})
