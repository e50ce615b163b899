import { expect, test, vi } from 'vitest'
import { type Bench, bench, Collector, gate, jobsOfQueues, until } from './bench.ts'

/** A job of which one is stored for each user; a push while it waits replaces its second argument. */
function saveJob({ hq }: Bench, onConflict: 'replace' | 'debounce', options: object = {}) {
  const ran = new Collector<unknown[]>()
  const { opened, open } = gate()
  const by = (user: number) => user
  const Save = hq.job('Save', { unique: { by, onConflict }, ...options }, async (_ctx, user: number, text: unknown) => {
    ran.add([user, text])
    await opened
  })
  return { Save, ran, open }
}

test('replace: the waiting job gets the new arguments, keeps its place, and the push answers its jid', async () => {
  const t = bench()
  const { Save } = saveJob(t, 'replace')
  const [jid] = [await Save.performAsync(1, 'a'), await Save.performAsync(2, 'x')]
  expect(await Save.performAsync(1, 'b')).toBe(jid)
  expect((await t.queue()).map(({ args }) => args)).toEqual([
    [1, 'b'],
    [2, 'x'],
  ])
  expect(
    await Save.performBulk([
      [1, 'c'],
      [3, 'y'],
      [1, 'd'],
    ]),
  ).toEqual([jid, expect.any(String), jid])
  expect((await t.queue()).map(({ args }) => args)).toEqual([
    [1, 'd'],
    [2, 'x'],
    [3, 'y'],
  ])
})

test('replace: a scheduled job keeps its time, a retry its errors, and a running job its arguments', async () => {
  const t = bench()
  const { Save, ran, open } = saveJob(t, 'replace')
  const scheduled = await Save.performIn(600, 1, 'a')
  const [before] = await t.set('schedule')
  expect(await Save.performAsync(1, 'b')).toBe(scheduled)
  expect(await t.set('schedule')).toMatchObject([{ args: [1, 'b'], score: before?.score }])
  expect(await t.queue()).toEqual([])
  const Fails = t.hq.job('Fails', { unique: { by: () => 1, onConflict: 'replace' } }, (_ctx, _n: number) => {
    throw new Error('no')
  })
  const failed = await Fails.performAsync(1)
  await t.work()
  await until(async () => (await t.set('retry')).length === 1)
  expect(await Fails.performAsync(2)).toBe(failed)
  expect(await t.set('retry')).toMatchObject([{ args: [2], error_message: 'no', jid: failed }])
  const running = await Save.performAsync(2, 'a')
  await ran.atLeast(1)
  expect(await Save.performAsync(2, 'b')).toBe(running)
  open()
  await t.settled()
  expect(ran.all).toEqual([[2, 'a']])
})

test.each(['replace', 'debounce'] as const)(
  '%s with a duration: after the end of the job a push stores nothing while the lock lasts, and answers its jid',
  async (onConflict) => {
    const t = bench()
    const ran = new Collector<number>()
    const unique = { for: '1h', by: () => 1, onConflict } as const
    const Sync = t.hq.job('Sync', { unique }, async (_ctx, n: number) => ran.add(n))
    const jid = await Sync.performAsync(1)
    expect(await Sync.performAsync(2)).toBe(jid)
    await t.work()
    await ran.atLeast(1)
    await t.settled()
    const { queues } = t.hq.store.jobs
    let searches = 0
    t.hq.store.jobs.queues = (...call) => {
      searches++
      return queues.apply(t.hq.store.jobs, call)
    }
    expect(await Sync.performAsync(3)).toBe(jid)
    expect(await Sync.set({ jid: 'own' }).performIn(60, 4)).toBe(jid)
    expect(searches).toBeLessThanOrEqual(4)
    t.clock.ahead = 3601
    expect(await Sync.performAsync(5)).not.toBe(jid)
    await ran.atLeast(2)
    expect(ran.all).toEqual([2, 5])
  },
)

test('replace: a job in one of 600 queues is found with a few calls of the store', async () => {
  const t = bench()
  await t.hq.store.jobs.push(jobsOfQueues(600), t.clock.now())
  const { Save } = saveJob(t, 'replace', { queue: 'zz' })
  const jid = await Save.performAsync(1, 'a')
  const { search } = t.hq.store
  const [short, long] = [vi.spyOn(search, 'scanQueues'), vi.spyOn(search, 'scanQueue')]
  expect(await Save.performAsync(1, 'b')).toBe(jid)
  expect(short.mock.calls.length).toBeLessThanOrEqual(2)
  expect(long).not.toHaveBeenCalled()
  expect((await t.queue('zz')).map(({ args }) => args)).toEqual([[1, 'b']])
})

test('debounce: the last push counts, and each push moves the time of the scheduled job', async () => {
  const t = bench()
  const { Save, ran, open } = saveJob(t, 'debounce')
  open()
  const jid = await Save.performIn(60, 1, 'a')
  const [first] = await t.set('schedule')
  for (const [text, seconds] of [
    ['b', 90],
    ['c', 300],
    ['d', 120],
  ] as const) {
    expect(await Save.performIn(seconds, 1, text)).toBe(jid)
  }
  const [last, ...others] = await t.set('schedule')
  expect(others).toEqual([])
  expect(last).toMatchObject({ jid, args: [1, 'd'], created_at: first?.created_at })
  expect((last?.score as number) - (first?.score as number)).toBeGreaterThanOrEqual(60)
  expect((last?.score as number) - (first?.score as number)).toBeLessThan(100)
  expect(await Save.performAsync(1, 'now')).toBe(jid)
  await t.work()
  await ran.atLeast(1)
  await t.settled()
  expect(ran.all).toEqual([[1, 'now']])
  expect(await Save.performIn(60, 1, 'next')).not.toBe(jid)
})

test('many debounced pushes at once store one job with the arguments of one of them', async () => {
  const t = bench()
  const apps = [t, t.another(), t.another()]
  const jobs = apps.map((app) => saveJob(app, 'debounce').Save)
  const pushes = Array.from({ length: 30 }, (_, n) => (jobs[n % 3] as (typeof jobs)[0]).performIn(60 + n, 1, n))
  const jids = new Set(await Promise.all(pushes))
  const scheduled = await t.set('schedule')
  expect(scheduled).toHaveLength(1)
  expect([...jids]).toEqual([scheduled[0]?.jid])
  expect((await t.hq.store.unique.list({ limit: 9 }, t.clock.now())).locks).toMatchObject([
    { holder: scheduled[0]?.jid },
  ])
})

test('a push whose holder ends while it is replaced is stored', async () => {
  const t = bench()
  const { Save } = saveJob(t, 'replace')
  const jid = await Save.performIn(60, 1, 'a')
  const { swap } = t.hq.store.jobSets
  t.hq.store.jobSets.swap = async (...args) => {
    t.hq.store.jobSets.swap = swap.bind(t.hq.store.jobSets)
    await t.hq.scheduled.deleteAll()
    return t.hq.store.jobSets.swap(...args)
  }
  const next = await Save.performAsync(1, 'b')
  expect(next).not.toBe(jid)
  expect(await t.queue()).toMatchObject([{ jid: next, args: [1, 'b'] }])
})

test('an encrypted argument is replaced, and its digest is keyed', async () => {
  const key = Buffer.alloc(32, 7)
  const t = bench({ encryption: { keys: { 2: key, 1: Buffer.alloc(32, 1) }, active: 2 } })
  const ran = new Collector<unknown[]>()
  const define = ({ hq }: Bench, encrypt: boolean) =>
    hq.job('Pay', { encrypt, unique: true }, async (_ctx, ...args: unknown[]) => ran.add(args))
  const Pay = define(t, true)
  const jid = await Pay.performAsync(1, 'secret')
  expect(await Pay.performAsync(1, 'secret')).toBe(jid)
  expect(await Pay.performAsync(1, 'other')).not.toBe(jid)
  expect(await Pay.set({ unique: { by: () => 1, onConflict: 'replace' } }).performAsync(2, 'a')).not.toBe(jid)
  const replaced = await Pay.set({ unique: { by: () => 1, onConflict: 'replace' } }).performAsync(3, 'new secret')
  const rotated = t.another({
    encryption: { keys: { 3: Buffer.alloc(32, 3), 2: key, 1: Buffer.alloc(32, 1) }, active: 3 },
  })
  expect(await define(rotated, true).performAsync(1, 'secret')).toBe(jid)
  expect(await define(t.another({ encryption: undefined as never }), false).performAsync(1, 'secret')).not.toBe(jid)
  await t.work()
  await ran.atLeast(4)
  expect(ran.all).toContainEqual([3, 'new secret'])
  expect(ran.all).not.toContainEqual([2, 'a'])
  expect(replaced).toEqual(expect.any(String))
})

test('a duplicate of a unique job needs its lock, and acquires it when it is free', async () => {
  const t = bench()
  const Report = t.hq.job('Report', { unique: true, retry: 0 }, () => {
    throw new Error('no')
  })
  const jid = (await Report.performIn(60)) as string
  const elsewhere = t.another()
  await expect(elsewhere.hq.duplicate(jid)).rejects.toMatchObject({ code: 'UNIQUE_CONFLICT', details: { jid } })
  await t.hq.scheduled.killAll()
  const again = await elsewhere.hq.duplicate(jid)
  expect(again).not.toBe(jid)
  expect(await Report.performAsync()).toBe(again)
  const [free, own] = [await Report.set({ unique: false, queue: 'other' }).performAsync(), 'own']
  expect(await t.hq.duplicate(free as string)).not.toBe(again)
  await Report.set({ unique: false })
    .set({ jid: own, unique: { by: () => 2 } })
    .performIn(60)
  await expect(t.hq.duplicate(own)).rejects.toMatchObject({ details: { jid: own } })
})

test('locks are listed, found and released by hand', async () => {
  const t = bench()
  const Report = t.hq.job('Report', { unique: true }, (_ctx, _n: number) => {})
  const Plain = t.hq.job('Plain', () => {})
  const jid = (await Report.performAsync(1)) as string
  await Report.set({ unique: { for: '1h' } }).performAsync(2)
  const lock = { key: expect.any(String), jid, endsAt: null, outlivesJob: false }
  expect(await t.hq.uniqueLocks.of(Report, 1)).toEqual(lock)
  expect(await t.hq.uniqueLocks.of(Report, 2)).toMatchObject({ endsAt: expect.any(Date), outlivesJob: true })
  expect(await t.hq.uniqueLocks.of(Report, 3)).toBe(null)
  await expect(t.hq.uniqueLocks.of(Plain)).rejects.toThrow(/Plain is not unique/)
  const locks = []
  for await (const one of t.hq.uniqueLocks) locks.push(one)
  expect(locks).toHaveLength(2)
  const held = locks.find((one) => one.jid === jid) as (typeof locks)[0]
  expect(await t.hq.uniqueLocks.release({ ...held, jid: 'another' })).toBe(false)
  expect(await t.hq.uniqueLocks.release(held)).toBe(true)
  expect(await t.hq.uniqueLocks.release(held)).toBe(false)
  await expect(t.hq.uniqueLocks.release({} as typeof held)).rejects.toThrow(/takes a lock of hq.uniqueLocks/)
  expect(await Report.performAsync(1)).not.toBe(jid)
})

test('hq.edit keeps the lock of a job', async () => {
  const t = bench()
  const Report = t.hq.job('Report', { unique: true }, (_ctx, _n: number) => {})
  const jid = (await Report.performAsync(1)) as string
  expect(await t.hq.edit(jid, [2])).toBe(true)
  expect(await Report.performAsync(1)).toBe(jid)
  expect(await Report.performAsync(2)).not.toBe(jid)
})
