import type { Highkiq } from 'highkiq'
import { expect, onTestFinished, test, vi } from 'vitest'
import { ProgressUpdater } from '#dist/worker/lifecycle/progress-updater.js'
import { all, bench, Collector, gate, promptly, until } from './bench.ts'

test('hq.find shows the progress of a job that started after the last heartbeat, and each change of it', async () => {
  const t = bench()
  let beats = 0
  t.hq.on('beat', () => void beats++)
  const [second, end] = [gate(), gate()]
  const J = t.hq.job('J', async (ctx) => {
    ctx.progress(1, 3, 'žluťoučký')
    await second.opened
    ctx.progress(2, 3)
    await end.opened
  })
  await t.work()
  expect(beats).toBe(1)
  const jid = (await J.performAsync()) as string
  const shows = (done: number) => until(async () => (await t.hq.find(jid)).progress?.done === done)
  await promptly(1.5, shows(1))
  expect((await t.hq.find(jid)).progress).toEqual({ done: 1, total: 3, note: 'žluťoučký' })
  expect((await all(t.hq.running())).map((job) => [job.jid, job.progress?.done])).toEqual([[jid, 1]])
  second.open()
  await promptly(1.5, shows(2))
  expect((await t.hq.find(jid)).progress).toEqual({ done: 2, total: 3 })
  expect(beats).toBe(1)
  end.open()
  await t.settled()
  expect((await t.hq.find(jid)).progress).toBeUndefined()
})

test('a worker shows the progress of all its jobs with one call, and makes none without news', async () => {
  const t = bench()
  const { step, calls } = stepped(t.hq)
  const ended = new Collector<string>()
  const reported = new Collector<number>()
  t.hq.job('Silent', async () => ended.add('Silent'))
  const [more, end] = [gate(), gate()]
  t.hq.job('Loud', async (ctx) => {
    for (let n = 0; n < 3; n++) ctx.progress(n)
    reported.add(2)
    await more.opened
    ctx.progress(3)
    reported.add(3)
    await end.opened
  })
  await t.work({ concurrency: 4 })
  await t.hq.pushBulk({ class: 'Silent', args: Array.from({ length: 20 }, () => []) })
  await ended.atLeast(20)
  await step()
  expect(calls).toEqual([])
  await t.hq.pushBulk({ class: 'Loud', args: [[], [], []] })
  await reported.atLeast(3)
  for (let n = 0; n < 3; n++) await step()
  expect(calls).toEqual([{ shown: [2, 2, 2], ended: 0 }])
  more.open()
  await reported.atLeast(6)
  for (let n = 0; n < 3; n++) await step()
  expect(calls.slice(1)).toEqual([{ shown: [3, 3, 3], ended: 0 }])
  end.open()
  await t.settled()
  for (let n = 0; n < 3; n++) await step()
  expect(calls.slice(2)).toEqual([{ shown: [], ended: 3 }])
})

test('a job that reported progress and ended between two heartbeats is not listed as running any more', async () => {
  const t = bench()
  const { step, beats, calls } = stepped(t.hq)
  const reported = new Collector<string>()
  const ends = new Map([1, 2, 3].map((n) => [n, gate()]))
  t.hq.job('J', async (ctx, n: number) => {
    if (n < 3) ctx.progress(n)
    reported.add(ctx.jid)
    await ends.get(n)?.opened
  })
  const listed = async () => (await all(t.hq.running())).map(({ args }) => args?.[0]).sort()
  const worker = await t.work({ concurrency: 3 })
  await t.hq.pushBulk({ class: 'J', args: [[1], [3]] })
  await reported.atLeast(2)
  await step()
  expect(await listed()).toEqual([1])
  // The heartbeat lists the job without progress, too.
  await worker.set({ concurrency: 4 })
  expect(await listed()).toEqual([1, 3])
  await t.hq.pushBulk({ class: 'J', args: [[2]] })
  await reported.atLeast(3)
  await step()
  expect(await listed()).toEqual([1, 2, 3])
  const before = beats()
  for (const n of [3, 1]) ends.get(n)?.open()
  await until(async () => (await t.hq.store.metrics.totals()).fetched === 1)
  await step()
  expect(await listed()).toEqual([2])
  ends.get(2)?.open()
  await t.settled()
  await step()
  expect(await listed()).toEqual([])
  expect(beats()).toBe(before)
  expect(calls.at(-1)).toEqual({ shown: [], ended: 1 })
})

test('a job whose answer of the store was lost leaves the list when it has ended', async () => {
  const t = bench()
  const { step, lose } = stepped(t.hq)
  const reported = new Collector<number>()
  const end = gate()
  const J = t.hq.job('J', async (ctx) => {
    ctx.progress(1)
    reported.add(1)
    await end.opened
  })
  await t.work()
  await J.performAsync()
  await reported.atLeast(1)
  lose()
  await expect(step()).rejects.toThrow('lost')
  expect(await all(t.hq.running())).toHaveLength(1)
  end.open()
  await t.settled()
  lose('before')
  await expect(step()).rejects.toThrow('lost')
  expect(await all(t.hq.running())).toHaveLength(1)
  await step()
  expect(await all(t.hq.running())).toEqual([])
})

test('a retry does not show the progress of the attempt before', async () => {
  const t = bench()
  const began = new Collector<number>()
  const [fail, end] = [gate(), gate()]
  const J = t.hq.job('J', { retryIn: 0 }, async (ctx) => {
    began.add(ctx.attempt)
    if (ctx.attempt > 1) return end.opened
    ctx.progress(9, 10)
    await fail.opened
    throw new Error('not yet')
  })
  await t.work()
  const jid = (await J.performAsync()) as string
  await until(async () => (await t.hq.find(jid)).progress?.done === 9)
  fail.open()
  await began.atLeast(2)
  expect(await t.hq.find(jid)).toMatchObject({ state: 'running' })
  expect((await t.hq.find(jid)).progress).toBeUndefined()
  end.open()
})

test('a finished job that is kept has its last progress, until it runs again', async () => {
  const t = bench({ defaultJobOptions: { keepFinished: true } })
  const seen = new Collector<unknown>()
  const J = t.hq.job('J', async (ctx, n: number) => {
    seen.add(ctx.payload.hk_progress)
    if (n > 0) for (let i = 0; i <= n; i++) ctx.progress(i, n, 'quote " 🦙')
    return n
  })
  const [some, none] = [(await J.performAsync(3)) as string, (await J.performAsync(0)) as string]
  await t.work()
  await t.settled()
  const last = { done: 3, total: 3, note: 'quote " 🦙' }
  expect(await t.hq.find(some)).toMatchObject({ state: 'succeeded', result: 3, progress: last })
  expect(await t.hq.find(none)).not.toHaveProperty('progress')
  const entry = await t.hq.finished.find(some)
  expect(entry?.progress).toEqual(last)
  expect(await entry?.retry()).toBe(true)
  expect(await seen.atLeast(3)).toEqual([undefined, undefined, undefined])
})

/** Steps the loop that shows progress, instead of its timer. Notes the store's calls, and the number of heartbeats. */
function stepped({ store: { workers } }: Highkiq) {
  const updaters: ProgressUpdater[] = []
  vi.spyOn(ProgressUpdater.prototype, 'start').mockImplementation(async function (this: ProgressUpdater) {
    updaters.push(this)
  })
  onTestFinished(() => void vi.restoreAllMocks())
  const beat = vi.spyOn(workers, 'heartbeat')
  const calls: { shown: (number | undefined)[]; ended: number }[] = []
  let lost: 'before' | 'after' | undefined
  const show = workers.showRunning.bind(workers)
  workers.showRunning = async (identity, seconds, running, ended) => {
    calls.push({ shown: running.map(({ progress }) => progress?.done), ended: ended.length })
    const when = lost
    lost = undefined
    if (when !== 'before') await show(identity, seconds, running, ended)
    if (when) throw new Error('lost')
  }
  return {
    calls,
    beats: () => beat.mock.calls.length,
    step: async () => {
      for (const updater of updaters) await updater.run()
    },
    /** The next call has no effect, or its answer is lost. */
    lose: (when: 'before' | 'after' = 'after') => {
      lost = when
    },
  }
}
