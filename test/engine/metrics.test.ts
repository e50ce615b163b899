import { BusinessFailure, Discard, Highkiq, HighkiqError, Kill, Release, Snooze } from 'highkiq'
import { expect, onTestFinished, test } from 'vitest'
import type { MetricsBatch } from '#dist/store/contract.js'
import { openStore } from '#dist/store/open.js'
import { withReplaced } from '../replaced-store.ts'
import { type Bench, bench, Collector, gate, until } from './bench.ts'

const NOON = Date.UTC(2026, 4, 17, 12)

/** Runs what is in the queue to its end; what ended is told when the worker stops. */
async function workOff(t: Bench, wait: () => Promise<unknown> = () => t.settled()): Promise<void> {
  const worker = await t.work()
  await wait()
  await worker.stop()
}

/** An app at noon, whose store tells what it is told, and does what the test says first. */
function atNoon(answer: (batch: MetricsBatch, record: () => Promise<void>) => Promise<void> = (_, record) => record()) {
  const clock = { time: NOON, now: () => clock.time }
  const { url } = bench()
  const store = openStore(url)
  const told: MetricsBatch[] = []
  const wrapped = withReplaced(store, {
    metrics: {
      record: (batch) => {
        told.push(batch)
        return answer(batch, () => store.metrics.record(batch))
      },
    },
  })
  return { t: bench({ url, store: wrapped, clock }), clock, told }
}

test('ended jobs are counted by class: all failures, and the times of successes', async () => {
  const t = bench()
  const fails = { retry: new Error('x'), discard: new Discard(), kill: new Kill() }
  t.hq.job('Good', async (_ctx, ms: number) => new Promise((resolve) => setTimeout(resolve, ms)))
  t.hq.job('Bad', { retry: 3 }, async (_ctx, how: keyof typeof fails) => {
    throw fails[how]
  })
  t.hq.job('Refused', async () => {
    throw new BusinessFailure('no')
  })
  for (const ms of [1, 50, 50]) await t.hq.push({ class: 'Good', args: [ms] })
  for (const how of Object.keys(fails)) await t.hq.push({ class: 'Bad', args: [how] })
  await t.hq.push({ class: 'Refused', args: [] })
  await t.hq.push({ class: 'NotDefined', args: [] })
  await t.hq.push({ class: 'Sidekiq::ActiveJob::Wrapper', wrapped: 'MailJob', args: [] })
  await workOff(t)

  const { jobs } = await t.hq.metrics.top()
  const figures = jobs.map(({ name, processed, failed, success }) => [name, processed, failed, success])
  expect(figures.sort()).toEqual([
    ['Bad', 3, 3, 0],
    ['Good', 3, 0, 3],
    ['MailJob', 1, 1, 0],
    ['NotDefined', 1, 1, 0],
    ['Refused', 1, 0, 1],
  ])
  const good = await t.hq.metrics.job('Good')
  expect(good.seconds).toBeGreaterThanOrEqual(0.1)
  expect(good.average).toBeCloseTo(good.seconds / 3)
  expect(good.histogram.reduce((sum, { count }) => sum + count, 0)).toBe(3)
  const bad = await t.hq.metrics.job('Bad')
  expect(bad).toMatchObject({ seconds: 0, average: 0, p50: null, p95: null, p99: null })
  expect(bad.histogram.every(({ count }) => count === 0)).toBe(true)
})

test('a batch of an ordered queue is one run of it, and failed if one of its ids did', async () => {
  const t = bench()
  const Sync = t.hq.ordered('Sync', { shards: 1, batchSize: 2, retryIn: () => 3600 }, async (ctx, batch) => {
    if (batch.has('bad')) ctx.fail('bad', new Error('x'))
    if (batch.has('mean')) throw new Error('y')
  })
  await Sync.performAsync(['a', 'b', 'bad', 'c', 'mean', 'n', 'z'].map((id) => ({ id })))
  await workOff(t, async () => {
    await until(async () => {
      const { fresh, busy } = await Sync.stats()
      return fresh + busy === 0
    })
  })
  const { jobs } = await t.hq.metrics.top()
  const figures = jobs.map(({ name, processed, failed, success }) => [name, processed, failed, success])
  expect(figures).toEqual([['Sync', 4, 2, 2]])
})

test('requeued and snoozed jobs do not count', async () => {
  const t = bench()
  const ran = new Collector<string>()
  const { opened, open } = gate()
  t.hq.job('J', async (ctx, how: 'snooze' | 'release' | 'stay') => {
    ran.add(how)
    if (ran.all.filter((one) => one === how).length > 1) return
    if (how === 'snooze') throw new Snooze(100)
    if (how === 'release') throw new Release()
    open()
    await new Promise((_, reject) => ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason)))
  })
  for (const how of ['snooze', 'release', 'stay']) await t.hq.push({ class: 'J', args: [how] })
  const worker = await t.work({ timeout: 0.001 })
  await opened
  await ran.atLeast(4)
  await worker.stop()
  // The one that was released has run again.
  expect((await t.hq.metrics.top()).jobs).toMatchObject([{ name: 'J', processed: 1, failed: 0 }])
})

test('without ended jobs the worker writes no metrics', async () => {
  const { t, told } = atNoon()
  await workOff(t)
  expect(told).toEqual([])
})

test('metrics that could not be written are written later: in their own minute, and once, even after a lost answer', async () => {
  let away = true
  const { t, clock, told } = atNoon(async (_, record) => {
    await record()
    if (away) throw new HighkiqError('STORE_UNREACHABLE', 'the answer was lost')
  })
  t.hq.job('J', async () => {})
  t.hq.job('Later', async () => {})
  clock.time = NOON + 59_999
  await t.hq.push({ class: 'J', args: [] })
  await workOff(t)
  expect(t.errors.map(({ error, about }) => [error.code, about.during])).toEqual([
    ['STORE_UNREACHABLE', 'recording metrics'],
  ])
  clock.time = NOON + 60_000
  away = false
  await t.hq.push({ class: 'Later', args: [] })
  await workOff(t)
  expect(told.map(({ number, at, jobs }) => [number, at - NOON, jobs.map(({ name }) => name)])).toEqual([
    [1, 59_999, ['J']],
    [1, 59_999, ['J']],
    [2, 60_000, ['Later']],
  ])
  const { jobs } = await t.hq.metrics.top({ minutes: 2 })
  expect(
    jobs.map(({ name, processed, steps }) => [name, processed, steps.map(({ at }) => at.getTime() - NOON)]),
  ).toEqual(
    expect.arrayContaining([
      ['J', 1, [0]],
      ['Later', 1, [60_000]],
    ]),
  )
})

test('metrics that the store refuses are dropped, and do not block later ones', async () => {
  const { t } = atNoon(async ({ number }, record) => {
    if (number === 1) throw new HighkiqError('STORE_UNUSABLE', 'the key holds something else')
    await record()
  })
  t.hq.job('J', async () => {})
  await t.hq.push({ class: 'J', args: [] })
  await workOff(t)
  expect(t.errors).toMatchObject([{ error: { code: 'STORE_UNUSABLE' } }])
  await t.hq.push({ class: 'J', args: [] })
  await workOff(t)
  expect((await t.hq.metrics.top()).jobs).toMatchObject([{ name: 'J', processed: 1 }])
})

test('more classes than fit into one call are written in several', async () => {
  const { t, told } = atNoon()
  const names = Array.from({ length: 250 }, (_, i) => `Job${i}`)
  for (const name of names) t.hq.job(name, async () => {})
  await Promise.all(names.map((name) => t.hq.push({ class: name, args: [] })))
  await workOff(t)
  expect(told.map(({ number, jobs }) => [number, jobs.length])).toEqual([
    [1, 100],
    [2, 100],
    [3, 50],
  ])
  expect((await t.hq.metrics.top()).jobs).toHaveLength(250)
})

/** Puts figures there as a worker would have told them. */
async function tell(t: Bench, at: number, name: string, more: { p?: number; f?: number; ms?: number; h?: number[] }) {
  const { p = 1, f = 0, ms = 0, h = [] } = more
  const jobs = [{ name, processed: p, failed: f, ms, histogram: h }]
  await t.hq.store.metrics.record({ source: `${name} ${at}`, number: 1, at, jobs })
}

test('top: classes are sorted by total time, over minutes or hours, and filtered by a part of the name', async () => {
  const clock = { now: () => NOON + 30_000 }
  const t = bench({ clock })
  await tell(t, NOON, 'Slow', { p: 4, f: 2, ms: 5000 })
  await tell(t, NOON - 60_000, 'Slow', { p: 1, ms: 1000 })
  await tell(t, NOON - 59 * 60_000, 'Quick', { p: 100, ms: 500 })
  await tell(t, NOON - 60 * 60_000, 'Quick', { p: 1000, ms: 500_000 })
  await tell(t, NOON - 71 * 3_600_000, 'Old', { ms: 9000 })
  await tell(t, NOON, 'Shop::MailJob|vip', { ms: 1 })

  const top = await t.hq.metrics.top()
  expect(top).toMatchObject({ from: new Date(NOON - 59 * 60_000), to: new Date(NOON + 60_000), step: 60 })
  expect(top.jobs).toMatchObject([
    { name: 'Slow', processed: 5, failed: 2, success: 3, seconds: 6, average: 2 },
    { name: 'Quick', processed: 100, failed: 0, success: 100, seconds: 0.5, average: 0.005 },
    { name: 'Shop::MailJob|vip', processed: 1 },
  ])
  expect(top.jobs[0]?.steps).toEqual([
    { at: new Date(NOON - 60_000), processed: 1, failed: 0, seconds: 1 },
    { at: new Date(NOON), processed: 4, failed: 2, seconds: 5 },
  ])
  expect((await t.hq.metrics.top({ minutes: 1 })).jobs.map(({ processed }) => processed)).toEqual([4, 1])
  expect((await t.hq.metrics.top({ filter: 'mailJOB' })).jobs.map(({ name }) => name)).toEqual(['Shop::MailJob|vip'])
  const hours = await t.hq.metrics.top({ hours: 72 })
  expect(hours).toMatchObject({ to: new Date(NOON + 600_000), step: 600 })
  expect(hours.jobs.map(({ name }) => name)).toEqual(['Quick', 'Old', 'Slow', 'Shop::MailJob|vip'])
  // Six times ten minutes, the ones that are not over included.
  expect((await t.hq.metrics.top({ hours: 1 })).jobs.map(({ name }) => name)).toEqual(['Slow', 'Shop::MailJob|vip'])
})

test('job: a class is returned by the minute, with its histogram and percentiles', async () => {
  const t = bench({ clock: { now: () => NOON + 30_000 } })
  const h = (filled: Record<number, number>) => Array.from({ length: 26 }, (_, i) => filled[i] ?? 0)
  await tell(t, NOON, 'A|B', { p: 60, f: 10, ms: 2000, h: h({ 0: 40, 4: 10 }) })
  await tell(t, NOON - 120_000, 'A|B', { p: 50, ms: 1000, h: h({ 0: 50 }) })
  await tell(t, NOON, 'A', { p: 7 })
  await t.hq.deploy('v1', new Date(NOON - 60_000))
  await t.hq.deploy('before', new Date(NOON - 3 * 3_600_000))
  const found = await t.hq.metrics.job('A|B')
  expect(found).toMatchObject({
    name: 'A|B',
    processed: 110,
    failed: 10,
    success: 100,
    seconds: 3,
    average: 0.03,
    deploys: [{ at: new Date(NOON - 60_000), label: 'v1' }],
  })
  expect(found.histogram.filter(({ count }) => count > 0)).toEqual([
    { label: '20ms', count: 90 },
    { label: '100ms', count: 10 },
  ])
  expect(found.p50).toBeCloseTo(0.02 * (50 / 90))
  expect(found.p95).toBeCloseTo(0.065 + 0.035 * 0.5)
  const slow = expect.closeTo(0.065 + 0.035 * 0.75)
  expect(found.steps).toEqual([
    { at: new Date(NOON - 120_000), processed: 50, failed: 0, seconds: 1, p95: 0.019, histogram: h({ 0: 50 }) },
    { at: new Date(NOON), processed: 60, failed: 10, seconds: 2, p95: slow, histogram: h({ 0: 40, 4: 10 }) },
  ])
  const hours = await t.hq.metrics.job('A|B', { hours: 1 })
  expect(hours).toMatchObject({ step: 600, processed: 110, p50: found.p50, p95: found.p95 })
  expect(hours.steps.map(({ at, processed }) => [at.getTime() - NOON, processed])).toEqual([
    [-600_000, 50],
    [0, 60],
  ])
  expect(await t.hq.metrics.job('nobody', { minutes: 480 })).toMatchObject({ processed: 0, p99: null, steps: [] })
})

test("deploys: recorded by the minute, once for many processes, with git's label by default", async () => {
  const t = bench({ clock: { now: () => NOON + 30_000 } })
  const answers = await Promise.all([t, t.another()].map(({ hq }) => hq.deploy('v2')))
  expect(answers.sort()).toEqual([false, true])
  expect(await t.hq.metrics.deploys()).toEqual([{ at: new Date(NOON), label: 'v2' }])
  expect((await t.hq.metrics.top()).deploys).toEqual([{ at: new Date(NOON), label: 'v2' }])
  expect(await t.hq.deploy(undefined, new Date(NOON + 86_400_000))).toBe(true)
  expect(await t.hq.metrics.deploys({ days: 1 })).toEqual([{ at: new Date(NOON), label: 'v2' }])
})

test('an invalid query is refused with the valid values', async () => {
  const hq = new Highkiq({ url: 'sqlite::memory:' })
  onTestFinished(() => hq.close())
  await expect(hq.metrics.top({ minutes: 481 })).rejects.toThrow('minutes must be a whole number from 1 to 480')
  await expect(hq.metrics.top({ hours: 0 })).rejects.toThrow('hours must be a whole number from 1 to 72')
  await expect(hq.metrics.top({ days: 1 } as never)).rejects.toThrow('minutes')
  await expect(hq.metrics.job('A', { minutes: 1.5 })).rejects.toMatchObject({ code: 'INVALID_OPTION' })
  await expect(hq.metrics.job('')).rejects.toThrow('name')
  await expect(hq.metrics.deploys({ days: 91 })).rejects.toThrow('90')
  await expect(hq.metrics.compareDeploy({ minutes: 1441 })).rejects.toThrow('1440')
  await expect(hq.metrics.compareDeploy({ at: 'yesterday' as never })).rejects.toThrow('the Date of a deploy')
  await expect(hq.deploy('')).rejects.toThrow('label')
  await expect(hq.deploy('x', new Date('no'))).rejects.toThrow('Date')
})

test('several workers of one app add up their metrics', async () => {
  const { t, told } = atNoon()
  t.hq.job('J', async () => {})
  const workers = await Promise.all([t.work(), t.work()])
  for (let i = 0; i < 20; i++) await t.hq.push({ class: 'J', args: [] })
  await t.settled()
  await Promise.all(workers.map((worker) => worker.stop()))
  await until(() => told.length > 0)
  expect((await t.hq.metrics.top()).jobs).toMatchObject([{ name: 'J', processed: 20 }])
})
