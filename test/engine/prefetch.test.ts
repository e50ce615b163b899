import type { WorkerOptions } from 'highkiq'
import { expect, test } from 'vitest'
import { type Bench, bench, gate, Heard } from './bench.ts'

const QUICK = 3000
const CONCURRENCY = 2

/**
 * Starts a worker on many quick jobs, then two that block until `open` is called, then 300 more quick ones. Resolves when
 * both slots are blocked. `most` is the largest number of jobs that one call asked for.
 */
async function blocked(t: Bench, options: WorkerOptions = {}) {
  const ran = new Heard<number>()
  const began = new Heard<number>()
  const { opened, open } = gate()
  const Quick = t.hq.job('Quick', { queue: 'a' }, async (_ctx, n: number) => ran.say(n))
  const Stuck = t.hq.job('Stuck', { queue: 'a' }, async (_ctx, n: number) => {
    began.say(n)
    await opened
  })
  const { workers } = t.hq.store
  const settleAndFetch = workers.settleAndFetch.bind(workers)
  const asked = { most: 0 }
  workers.settleAndFetch = (owner, step) => {
    asked.most = Math.max(asked.most, step.fetch.n)
    return settleAndFetch(owner, step)
  }
  await Quick.performBulk(Array.from({ length: QUICK }, (_, n) => [n]))
  await Stuck.performBulk([[1], [2]])
  await Quick.performBulk(Array.from({ length: 300 }, (_, n) => [QUICK + n]))
  const worker = await t.work({ queues: ['a'], concurrency: CONCURRENCY, ...options })
  await began.atLeast(2)
  return { worker, ran, open, asked }
}

test('while jobs end quickly a worker fetches ahead; jobs that cannot start soon go to other workers', async () => {
  const t = bench()
  const { worker, ran, open, asked } = await blocked(t)
  expect(asked.most).toBeGreaterThan(CONCURRENCY)
  const other = t.another()
  other.hq.job('Quick', { queue: 'a' }, async (_ctx, n: number) => ran.say(n))
  await other.work({ queues: ['a'] })
  // The jobs are not with the blocked worker any more, although both of its slots are still busy.
  await ran.atLeast(QUICK + 300)
  expect(worker.busy).toBe(2)
  open()
  await t.settled()
  expect(ran.all.toSorted((a, b) => a - b)).toEqual(Array.from({ length: QUICK + 300 }, (_, n) => n))
  expect(await t.hq.store.metrics.totals()).toMatchObject({ processed: QUICK + 302, failed: 0 })
})

test('a worker that becomes quiet puts back what it has fetched ahead, in its order', async () => {
  const t = bench()
  const { worker, open } = await blocked(t)
  const quiet = worker.quiet()
  open()
  await quiet
  await worker.stop()
  const left = (await t.queue('a')).map(({ args }) => args[0] as number)
  expect(left).toEqual(Array.from({ length: left.length }, (_, i) => QUICK + 300 - left.length + i))
  expect(await t.hq.store.metrics.totals()).toMatchObject({ fetched: 0, processed: QUICK + 302 - left.length })
})

test('a worker that serves queues in strict order, or in an order of the app, never fetches ahead', async () => {
  for (const options of [
    { queues: ['b', 'a'] },
    { fetchOrder: (names: readonly string[]) => names, queues: ['a', 'b,2'] },
  ]) {
    const t = bench()
    const { open, asked } = await blocked(t, options)
    expect(asked.most).toBe(CONCURRENCY)
    open()
    await t.settled()
  }
})
