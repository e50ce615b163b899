import { expect, onTestFinished, test, vi } from 'vitest'
import type { PushItem } from '#dist/store/contract.js'
import { LimitedJobs } from '#dist/worker/lifecycle/limited-jobs.js'
import { bench, Collector, gate, until } from './bench.ts'

/** Starts a worker whose shared limit is used up: `n` jobs of a paused queue wait for room, and behind them three others. */
async function behindPaused(n: number) {
  const t = bench()
  const api = t.hq.limit('api', { concurrency: 1 })
  const { opened, open } = gate()
  const [first, second] = [new Collector<number>(), new Collector<number>()]
  const Paused = t.hq.job('Paused', { queue: 'paused', limit: api }, async (_ctx, n: number) => {
    first.add(n)
    await opened
  })
  const Other = t.hq.job('Other', { queue: 'other', limit: api }, async (_ctx, n: number) => second.add(n))
  await t.work({ concurrency: 5, queues: ['paused', 'other'] })
  await Paused.performAsync(0)
  await first.atLeast(1)
  await Paused.performBulk(Array.from({ length: n }, (_, i) => [i + 1]))
  await until(async () => (await t.hq.stats()).limited === n)
  await t.hq.queue('paused').pause()
  await Other.performBulk([[1], [2], [3]])
  await until(async () => (await t.hq.stats()).limited === n + 3)
  return { t, first, second, Other, open }
}

test('a thousand waiting jobs of a paused queue do not hold up the jobs of another queue that share their limit', async () => {
  const { t, first, second, open } = await behindPaused(1000)
  open()
  expect(await second.atLeast(3)).toEqual([1, 2, 3])
  await t.hq.queue('paused').resume()
  await first.atLeast(4)
})

test('a limited job whose room another job used up runs before newer jobs, also behind many jobs of a paused queue', async () => {
  const { t, second, Other, open } = await behindPaused(1500)
  await Other.performBulk(Array.from({ length: 50 }, (): [number] => [4]))
  await until(async () => (await t.hq.stats()).limited === 1553)
  const { limits } = t.hq.store
  const acquire = vi.spyOn(limits, 'acquire').mockResolvedValueOnce([{ over: 0, ms: 1 }])
  open()
  await until(async () => acquire.mock.calls.length > 0 && (await t.hq.stats()).limited === 1553)
  await t.hq.store.workers.join('another', { queues: ['none'], seconds: 60, host: 'elsewhere\n1\n1' })
  await limits.release({ limit: 'shared:api', owner: 'another', ticket: '1' })
  expect((await second.atLeast(3)).slice(0, 3)).toEqual([1, 2, 3])
})

test('jobs of a queue that no worker serves any more are passed, and come when a worker serves it again', async () => {
  const t = bench()
  const api = t.hq.limit('api', { concurrency: 1 })
  const { opened, open } = gate()
  const [lonely, served] = [new Collector<number>(), new Collector<number>()]
  const Lonely = t.hq.job('Lonely', { queue: 'lonely', limit: api }, async (_ctx, n: number) => {
    lonely.add(n)
    await opened
  })
  const Served = t.hq.job('Served', { queue: 'served', limit: api }, async (_ctx, n: number) => served.add(n))
  const first = await t.work({ concurrency: 5, queues: ['lonely'] })
  await Lonely.performAsync(0)
  await lonely.atLeast(1)
  await Lonely.performBulk([[1], [2], [3]])
  await until(async () => (await t.hq.stats()).limited === 3)
  first.quiet()
  const rows = Array.from({ length: 20 }, (_, i): [number] => [i])
  await Served.performBulk(rows)
  await t.work({ concurrency: 5, queues: ['served'] })
  await until(async () => (await t.hq.queue('served').limited()) > 0)
  const moves = vi.spyOn(t.hq.store.jobSets, 'swap')
  open()
  await served.atLeast(20)
  // The three others have not had their turns in between.
  const moved = moves.mock.calls.flatMap(([, swaps]) => swaps.map(({ to }) => to?.to === 'queue' && to.queue))
  expect(moved).toContain('served')
  expect(moved).not.toContain('lonely')
  expect(lonely.all).toEqual([0])
  await first.stop()
  await t.work({ concurrency: 5, queues: ['lonely'] })
  expect(await lonely.atLeast(4)).toEqual([0, 1, 2, 3])
})

test('a long pass through the jobs of a blocked queue is repeated after twenty times as long', async () => {
  const { hq, clock } = bench()
  const { workers, jobs, jobSets, limits } = hq.store
  const info = JSON.stringify({ queues: ['served'] })
  const process = { identity: 'me', info, concurrency: 1, busy: 0, beat: clock.now(), quiet: false, rss: 1 }
  await workers.heartbeat(process, 60)
  const limit = { name: 'shared:api', max: 1, count: 0, per: 0, burst: 1, window: 'smooth' } as const
  const items = Array.from({ length: 1510 }, (_, n) => {
    const text = JSON.stringify({ class: 'J', args: [n], queue: n < 1500 ? 'lonely' : 'served', jid: `${n}` })
    return { to: 'limited:shared:api', text, score: n, effects: [{ kind: 'await-limit', limit }] } as const
  })
  await jobs.push(items as unknown as PushItem[], clock.now())
  const { now } = performance
  let ms = 0
  performance.now = () => now.call(performance) + ms
  onTestFinished(() => {
    performance.now = now
  })
  // Each of the fifteen pages of the pass takes a second.
  const page = jobSets.page.bind(jobSets)
  let passes = 0
  jobSets.page = async (set, about) => {
    ms += 1000
    if (about.after === undefined) passes++
    return page(set, about)
  }
  const mover = new LimitedJobs({ store: hq.store, now: clock.now })
  const moved = (n: number) =>
    until(async () => {
      await limits.postpone([limit.name], 0)
      await mover.move()
      return (await jobs.peek('served', 0, 20)).length >= n
    })
  await moved(1)
  ms += 100_000
  await moved(2)
  expect(passes).toBe(1)
  ms += 300_000
  await moved(3)
  expect(passes).toBe(2)
})
