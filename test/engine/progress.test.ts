import { setTimeout as sleep } from 'node:timers/promises'
import type { Highkiq } from 'highkiq'
import { expect, test } from 'vitest'
import { all, bench, gate, Heard, promptly, until } from './bench.ts'

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

test('a worker shows the progress of all its jobs with one call a second, and makes none without news', async () => {
  const t = bench()
  const calls = callsOf(t.hq)
  const ended = new Heard<string>()
  t.hq.job('Silent', async () => ended.say('Silent'))
  const [ticks, quiet, end] = [gate(), gate(), gate()]
  let running = true
  t.hq.job('Loud', async (ctx) => {
    await ticks.opened
    for (let n = 0; running; n++) {
      ctx.progress(n)
      await sleep(5)
    }
    quiet.open()
    await end.opened
  })
  await t.work({ concurrency: 4 })
  await t.hq.pushBulk({ class: 'Silent', args: Array.from({ length: 20 }, () => []) })
  await ended.atLeast(20)
  for (let n = 0; n < 3; n++) await t.hq.jobNamed('Loud').performAsync()
  await sleep(1100)
  expect(calls.all).toEqual([])
  ticks.open()
  await calls.atLeast(3)
  const times = calls.all.map(({ at }) => at)
  for (const [i, at] of times.slice(1).entries()) expect(at - (times[i] as number)).toBeGreaterThan(950)
  for (const { jobs } of calls.all) expect(jobs).toBe(3)
  running = false
  await quiet.opened
  const before = calls.all.length
  await sleep(2200)
  // At most the progress that was reported after the last call.
  expect(calls.all.length).toBeLessThanOrEqual(before + 1)
  end.open()
  await t.settled()
})

test('a retry does not show the progress of the attempt before', async () => {
  const t = bench()
  const began = new Heard<number>()
  const [fail, end] = [gate(), gate()]
  const J = t.hq.job('J', { retryIn: 0 }, async (ctx) => {
    began.say(ctx.attempt)
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
  const seen = new Heard<unknown>()
  const J = t.hq.job('J', async (ctx, n: number) => {
    seen.say(ctx.payload.hk_progress)
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

/** The calls with which a worker shows progress: when, and of how many jobs. */
function callsOf({ store: { workers } }: Highkiq): Heard<{ at: number; jobs: number }> {
  const calls = new Heard<{ at: number; jobs: number }>()
  const show = workers.showRunning.bind(workers)
  workers.showRunning = (identity, seconds, jobs) => {
    calls.say({ at: performance.now(), jobs: jobs.length })
    return show(identity, seconds, jobs)
  }
  return calls
}
