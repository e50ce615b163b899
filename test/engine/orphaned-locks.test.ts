import { expect, onTestFinished, test } from 'vitest'
import { OrphanedLocks } from '#dist/unique/orphaned-locks.js'
import { type Bench, bench, Collector, gate, until } from './bench.ts'

/** A check that may release a lock in its second walk, and walks again at once. */
function checkOf({ hq, clock }: Bench, options: { goneMs?: number } = { goneMs: 0 }): () => Promise<void> {
  const report = (thrown: unknown) => {
    throw thrown
  }
  const check = new OrphanedLocks({ store: hq.store, now: clock.now, report }, { ...options, walkingPart: 1e9 })
  onTestFinished(() => check.stop())
  return () => check.run()
}

const locksOf = async ({ hq, clock }: Bench) => (await hq.store.unique.list({ limit: 99 }, clock.now())).locks

/** Removes a text from its queue as another program does, which knows no locks. */
async function removeText({ hq, clock }: Bench, text: string): Promise<void> {
  expect(await hq.store.search.pull('default', [{ text, to: null }], clock.now())).toEqual(['ok'])
}

test.each([
  ['deleted by another program', async (t: Bench, text: string) => removeText(t, text)],
  [
    'replaced by a text that is not a job',
    async (t: Bench, text: string) => {
      await removeText(t, text)
      await t.raw(text.slice(0, -1))
    },
  ],
  [
    'moved to the dead set by another program',
    async ({ hq, clock }: Bench, text: string) => {
      const to = { to: 'dead', text, score: clock.now() / 1000 } as const
      await hq.store.search.pull('default', [{ text, to }], clock.now())
    },
  ],
])('the lock of a job that was %s is released by the second walk', async (_how, lose) => {
  const t = bench()
  const Unique = t.hq.job('Unique', { unique: true }, (_ctx, _n: number) => {})
  const [lost, kept] = [await Unique.performAsync(1), await Unique.performAsync(2)]
  const [text = ''] = await t.hq.store.jobs.peek('default', 0, 1)
  await lose(t, text)
  const check = checkOf(t)
  await check()
  expect(await Unique.performAsync(1)).toBe(lost)
  await check()
  expect((await locksOf(t)).map(({ holder }) => holder)).toEqual([kept])
  expect(await Unique.performAsync(1)).not.toBe(lost)
})

test('jobs that wait anywhere and jobs that run keep their locks, and so does a lock with a duration', async () => {
  const t = bench()
  const { opened, open } = gate()
  const began = new Collector<number>()
  const Unique = t.hq.job('Unique', { unique: true }, async (_ctx, n: number) => {
    began.add(n)
    if (n === 1) throw new Error('no')
    await opened
  })
  await t.work({ concurrency: 2 })
  await Unique.performAsync(1)
  await until(async () => (await t.set('retry')).length === 1)
  await Unique.performAsync(2)
  await began.atLeast(2)
  await Unique.performIn(60, 3)
  await Unique.set({ queue: 'other' }).performAsync(4)
  await Unique.set({ queue: 'other', jid: 'mine', unique: false }).performAsync(4)
  await Unique.set({ queue: 'other', jid: 'own' }).performAsync(5)
  const Throttled = t.hq.job('Throttled', { unique: { for: '1h' } }, () => {})
  await Throttled.performAsync()
  await until(async () => (await t.hq.store.metrics.totals()).fetched === 1)
  const check = checkOf(t)
  await check()
  await check()
  const keys = (await locksOf(t)).map(({ key }) => key)
  expect(keys).toHaveLength(7)
  expect(keys.filter((key) => key.startsWith('jid:'))).toEqual(['jid:own'])
  open()
  await t.hq.queue('other').clear()
  for await (const entry of t.hq.scheduled) await entry.delete()
  for await (const entry of t.hq.retries) await entry.delete()
  await until(async () => (await locksOf(t)).length === 1)
})

test('a job that moves between the two walks keeps its lock, and a lock is not released before the time is over', async () => {
  const t = bench()
  const Unique = t.hq.job('Unique', { unique: true }, () => {})
  const jid = await Unique.performIn(60)
  const [entry] = (await t.hq.scheduled.page()).items
  // The search for jobs passes this one.
  const { scanSet } = t.hq.store.search
  t.hq.store.search.scanSet = async () => ({ items: [], next: null, scanned: 0 })
  const check = checkOf(t)
  await check()
  expect(await locksOf(t)).toMatchObject([{ holder: jid, suspicion: expect.any(String) }])
  await entry?.reschedule(120)
  expect(await locksOf(t)).toMatchObject([{ holder: jid, suspicion: null }])
  await check()
  expect(await locksOf(t)).toMatchObject([{ holder: jid, suspicion: expect.any(String) }])
  const patient = checkOf(t, { goneMs: 60_000 })
  await patient()
  await patient()
  expect(await locksOf(t)).toHaveLength(1)
  t.hq.store.search.scanSet = scanSet
  await check()
  await check()
  expect(await locksOf(t)).toHaveLength(1)
})

test('a worker without unique jobs acquires no leader lock to release locks', async () => {
  const t = bench()
  let asked = 0
  const { acquireLock } = t.hq.store.workers
  t.hq.store.workers.acquireLock = (...args) => {
    asked++
    return acquireLock.call(t.hq.store.workers, ...args)
  }
  await checkOf(t)()
  expect(asked).toBe(0)
})

test('set({ jid }): a job that waits or runs is pushed once, and is a new job when it has ended', async () => {
  const t = bench()
  const { opened, open } = gate()
  const began = new Collector<number>()
  const Own = t.hq.job('Own', async (_ctx, n: number) => {
    began.add(n)
    await opened
  })
  const own = Own.set({ jid: 'order-7' })
  expect(await Promise.all([own.performAsync(1), own.performAsync(2), own.performIn(60, 3)])).toEqual(
    Array(3).fill('order-7'),
  )
  expect(await t.queue()).toHaveLength(1)
  expect(await t.set('schedule')).toEqual([])
  await t.work()
  await began.atLeast(1)
  expect(await own.performAsync(4)).toBe('order-7')
  expect(await Own.set({ jid: 'order-8' }).performAsync(5)).toBe('order-8')
  open()
  await t.settled()
  expect(await locksOf(t)).toEqual([])
  expect(await own.performAsync(6)).toBe('order-7')
  await t.settled()
  expect(began.all.toSorted()).toEqual([expect.any(Number), 5, 6])
})

test('set({ jid }) and unique: each of the two refuses', async () => {
  const t = bench()
  const Both = t.hq.job('Both', { unique: true }, (_ctx, _n: number) => {})
  const own = Both.set({ jid: 'a' })
  expect(await own.performAsync(1)).toBe('a')
  expect(await own.performAsync(2)).toBe('a')
  expect(await Both.set({ jid: 'b' }).performAsync(1)).toBe('a')
  expect(await Both.set({ jid: 'b' }).performAsync(2)).toBe('b')
  expect((await t.queue()).map(({ jid, args }) => [jid, args])).toEqual([
    ['a', [1]],
    ['b', [2]],
  ])
  await t.hq.queue('default').clear()
  expect(await locksOf(t)).toEqual([])
})
