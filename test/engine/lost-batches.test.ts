import { type JobContext, Snooze } from 'highkiq'
import { expect, onTestFinished, test } from 'vitest'
import { BatchMaintenance } from '#dist/batches/batch-maintenance.js'
import { batchMembers } from '#dist/batches/batch-plugin.js'
import type { Canceller } from '#dist/batches/cancel.js'
import { LeaderLock } from '#dist/worker/background-service.js'
import { maintenanceLock } from '#dist/worker/maintenance.js'
import { type Bench, bench, Collector, until } from './bench.ts'

/** In seconds. */
const DAY = 86_400

/** Maintenance that changes a member in its second walk. Without `walkingPart` it walks again at once. */
function checkOf(
  { hq, clock }: Bench,
  walkingPart = 1e9,
  membersPerWalk = 1e5,
  lock = maintenanceLock(hq),
  report: (thrown: unknown) => unknown = (thrown) => {
    throw thrown
  },
  lostAfterMs = 0,
): () => Promise<void> {
  const effects: Canceller['effects'] = (payload, outcome) => batchMembers.effects?.(payload, outcome, clock.now)
  const app = { store: hq.store, now: clock.now, effects, keepEnd: async () => {}, report }
  const maintenance = new BatchMaintenance(app, { everySeconds: 1, lostAfterMs, walkingPart, membersPerWalk, lock })
  onTestFinished(() => maintenance.stop())
  clock.ahead = 10
  return () => maintenance.run()
}

/** Moves the first job of the queue as another program does, which knows no batches. */
async function moveAsOthers({ hq, clock }: Bench, to: 'dead' | null): Promise<void> {
  const [text = ''] = await hq.store.jobs.peek('default', 0, 1)
  const destination = to && ({ to, text, score: clock.now() / 1000 } as const)
  expect(await hq.store.search.pull('default', [{ text, to: destination }], clock.now())).toEqual(['ok'])
}

test('a job that another program has deleted has failed after two walks, and the others are left alone', async () => {
  const t = bench()
  const Work = t.hq.job('Work', (_ctx, _n: number) => {})
  const bid = await t.hq.batch({}, async () => {
    await Work.performBulk([[1], [2]])
    await Work.performIn(1e6, 3)
    await t.hq.batch({}, () => Work.performIn(1e6, 4))
  })
  await moveAsOthers(t, null)
  const check = checkOf(t)
  await check()
  expect(await t.hq.batches.get(bid)).toMatchObject({ pending: 4, failed: 0 })
  await check()
  expect(await t.hq.batches.get(bid)).toMatchObject({ pending: 3, failed: 1 })
  for (let i = 0; i < 3; i++) await check()
  expect(await t.hq.batches.get(bid)).toMatchObject({ pending: 3, failed: 1 })
})

test('a deleted job whose jid is the id of a batch elsewhere has failed, too', async () => {
  const t = bench()
  const Work = t.hq.job('Work', (_ctx, _n: number) => {})
  const other = await t.hq.batch({}, () => Work.performIn(1e6, 1))
  const bid = await t.hq.batch({}, () => t.hq.push({ class: 'Work', args: [2], jid: other }))
  await moveAsOthers(t, null)
  const check = checkOf(t)
  for (let i = 0; i < 2; i++) await check()
  expect(await t.hq.batches.get(bid)).toMatchObject({ state: 'failed', failed: 1 })
  expect(await t.hq.batches.get(other)).toMatchObject({ state: 'running', pending: 1 })
})

test('a job that another program has killed is dead, and has failed once it is deleted from the dead set', async () => {
  const t = bench()
  const Work = t.hq.job('Work', (_ctx, _n: number) => {})
  const bid = await t.hq.batch({}, () => Work.performAsync(1))
  await moveAsOthers(t, 'dead')
  const check = checkOf(t)
  for (let i = 0; i < 2; i++) await check()
  expect(await t.hq.batches.get(bid)).toMatchObject({ state: 'dead', dead: 1 })
  for await (const entry of t.hq.dead) await entry.delete()
  t.clock.ahead = 20
  for (let i = 0; i < 2; i++) await check()
  expect(await t.hq.batches.get(bid)).toMatchObject({ state: 'failed', failed: 1 })
})

test('a lost job is found, and not too early, after a process with a clock a year ahead changed its batch', async () => {
  const t = bench()
  const Work = t.hq.job('Work', () => {})
  t.clock.ahead = 365 * DAY
  const bid = await t.hq.batch({}, () => Work.performAsync())
  await moveAsOthers(t, null)
  const check = checkOf(t, 1e9, 1e5, undefined, undefined, 1000 * DAY)
  for (let i = 0; i < 2; i++) await check()
  // No walk sees a job in the memory of a Sidekiq process.
  expect(await t.hq.batches.get(bid)).toMatchObject({ state: 'running', pending: 1 })
  t.clock.ahead += DAY + 1
  for (let i = 0; i < 2; i++) await check()
  expect(await t.hq.batches.get(bid)).toMatchObject({ state: 'failed', failed: 1 })
})

test('old batches are deleted at once, however many there are', async () => {
  const { hq, clock } = bench()
  await Promise.all(Array.from({ length: 1100 }, () => hq.batch({ keep: 60 }, () => {})))
  clock.ahead = DAY
  const report = (thrown: unknown) => {
    throw thrown
  }
  const app = { store: hq.store, now: clock.now, effects: () => undefined, keepEnd: async () => {}, report }
  const maintenance = new BatchMaintenance(app, { everySeconds: 3600 })
  onTestFinished(() => maintenance.stop())
  await maintenance.start()
  await until(async () => (await hq.store.batches.page({ limit: 1 })).items.length === 0)
})

test('a flow whose child is gone does not wait for ever, and a parent that waits is not gone', async () => {
  const t = bench()
  const Work = t.hq.job('Work', (_ctx: JobContext, _name: string) => {})
  const flow = await t.hq.flow({
    job: Work,
    args: ['root'],
    onChildFailure: 'ignore',
    children: [{ job: Work, args: ['parent'], onChildFailure: 'wait', children: [{ job: Work, args: ['child'] }] }],
  })
  const check = checkOf(t)
  for (let i = 0; i < 3; i++) await check()
  const bid = flow?.bid as string
  expect(await t.hq.batches.get(bid)).toMatchObject({ pending: 1, waiting: { jid: flow?.jid } })
  await moveAsOthers(t, null)
  for (let i = 0; i < 2; i++) await check()
  expect(await t.set('dead')).toMatchObject([{ args: ['parent'], error_class: 'ChildFailed' }])
  expect(await t.queue()).toMatchObject([{ args: ['root'], jid: flow?.jid }])
})

test('a batch is deleted when its time is over', async () => {
  const t = bench()
  const check = checkOf(t)
  const bid = await t.hq.batch({ keep: 60 }, () => {})
  await check()
  expect(await t.hq.batches.get(bid)).not.toBe(null)
  t.clock.ahead = 100
  await check()
  expect(await t.hq.batches.get(bid)).toBe(null)
})

test('the record of a batch is kept for a minute at least, and that of a flow for as long as its parent is retried', async () => {
  const t = bench()
  const check = checkOf(t)
  const ran = new Collector<number>()
  const Child = t.hq.job('Child', () => 7)
  const Parent = t.hq.job('Parent', { retry: 25, retryIn: 60 }, async (ctx) => {
    const children = await ctx.children()
    ran.add(children.length)
    if (t.clock.ahead < DAY) throw new Error('not yet')
  })
  const bid = await t.hq.batch({ keep: 1 }, () => {})
  await t.hq.flow({ job: Parent, children: [{ job: Child }] })
  t.clock.ahead += 50
  await check()
  expect(await t.hq.batches.get(bid)).not.toBe(null)
  const worker = await t.work()
  await ran.atLeast(1)
  await worker.stop()
  t.clock.ahead += 21 * DAY
  await check()
  expect(await t.hq.batches.get(bid)).toBe(null)
  await t.work()
  await t.settled()
  await until(async () => (await t.set('retry')).length === 0)
  expect(await t.set('dead')).toEqual([])
})

test('a job that is due while a walk goes on is not lost', async () => {
  const t = bench()
  const Work = t.hq.job('Work', () => {})
  const bid = await t.hq.batch({}, () => Work.performIn(1e6))
  const { jobSets, search } = t.hq.store
  const [entry] = await jobSets.page('schedule', { limit: 1 })
  if (!entry) throw new Error('nothing is scheduled')
  const { text, score } = entry
  const { scanSet } = search
  search.scanSet = async (set, ...rest) => {
    const due = { text, score, to: { to: 'queue', queue: 'default', text, end: 'back' } } as const
    if (set === 'schedule') expect(await jobSets.swap('schedule', [due], t.clock.now())).toEqual(['ok'])
    return scanSet.call(search, set, ...rest)
  }
  const check = checkOf(t)
  for (let i = 0; i < 3; i++) {
    await check()
    await search.pull('default', [{ text, to: { to: 'schedule', text, score } }], t.clock.now())
  }
  expect(await t.hq.batches.get(bid)).toMatchObject({ pending: 1, failed: 0 })
})

test('a job that snoozes is progress of its batch, and the batch is not idle', async () => {
  const t = bench()
  const Poll = t.hq.job('Poll', () => {
    throw new Snooze(1e6)
  })
  const bid = await t.hq.batch({}, () => Poll.performAsync())
  const { progressAt } = (await t.hq.store.batches.find(bid)) ?? {}
  t.clock.ahead = 100
  await t.work()
  await until(async () => (await t.set('schedule')).length === 1)
  expect((await t.hq.store.batches.find(bid))?.progressAt).toBeGreaterThan((progressAt as number) + 99_000)
})

test('a flow in a batch is not lost while its children run', async () => {
  const t = bench()
  const Work = t.hq.job('Work', (_ctx: JobContext, _name: string) => {})
  const flow = { job: Work, args: ['root'], children: [{ job: Work, args: ['child'] }] }
  const bid = await t.hq.batch({}, () => t.hq.flow(flow))
  const check = checkOf(t)
  for (let i = 0; i < 3; i++) await check()
  expect(await t.hq.batches.get(bid)).toMatchObject({ pending: 1, failed: 0 })
  await expect(t.hq.flow({ ...flow, job: Work.set({ jid: 'mine', unique: false }) })).rejects.toThrow(/leave jid out/)
})

/** Returns how many jobs each call has requested to cancel. */
function requestsOf({ hq }: Bench, onRequest = () => {}): number[] {
  const { cancellations } = hq.store
  const { request } = cancellations
  const sizes: number[] = []
  cancellations.request = (jids, now) => {
    sizes.push([jids].flat().length)
    onRequest()
    return request.call(cancellations, jids, now)
  }
  return sizes
}

test('a worker cancels a batch in its next round, however long it has walked for another one', async () => {
  const t = bench()
  const Work = t.hq.job('Work', () => {})
  const bids = [await t.hq.batch({}, () => Work.performIn(1e6)), await t.hq.batch({}, () => Work.performIn(1e6))]
  const anHourPerWalk = checkOf(t, 1e-9)
  await anHourPerWalk()
  for (const bid of bids) {
    await t.hq.store.batches.cancel(bid, t.clock.now())
    await anHourPerWalk()
    expect(await t.hq.batches.get(bid)).toMatchObject({ state: 'failed', cancelling: false })
  }
})

test('a worker that repeats a pass through cancelled batches requests the cancellation of no job again', async () => {
  const t = bench()
  const Work = t.hq.job('Work', () => {})
  const requests = requestsOf(t)
  const check = checkOf(t, 1e-9)
  const bid = await t.hq.batch({}, () => Work.performBulk([[], []]))
  for (let i = 0; i < 2; i++) await moveAsOthers(t, null)
  await t.hq.store.batches.cancel(bid, t.clock.now())
  for (let i = 0; i < 3; i++) await check()
  expect(requests).toEqual([2])
  expect(await t.hq.batches.get(bid)).toMatchObject({ cancelling: true, pending: 2 })
})

test('a worker that was not the leader for a while requests the cancellation of all jobs again', async () => {
  const t = bench()
  const Work = t.hq.job('Work', () => {})
  const requests = requestsOf(t)
  const [lock, other] = [1, 2].map(() => new LeaderLock(() => t.hq.store, 'maintenance', { seconds: 60 }))
  const check = checkOf(t, 1e-9, 1e5, lock)
  const bid = await t.hq.batch({}, () => Work.performBulk([[], []]))
  for (let i = 0; i < 2; i++) await moveAsOthers(t, null)
  await t.hq.store.batches.cancel(bid, t.clock.now())
  await check()
  expect(requests).toEqual([2])
  await lock?.leave()
  expect(await other?.acquire()).toBe(true)
  await check()
  await other?.leave()
  expect(requests).toEqual([2])
  await check()
  expect(requests).toEqual([2, 2])
})

/** Sets the monotonic clock forward by the milliseconds of `ahead`. */
function setMonotonicClock(ahead: { ms: number }): void {
  const { now } = performance
  performance.now = () => now.call(performance) + ahead.ms
  onTestFinished(() => {
    performance.now = now
  })
}

test('a worker that could not request the cancellation of jobs of a batch reports it, and requests it again', async () => {
  const t = bench()
  const ahead = { ms: 0 }
  setMonotonicClock(ahead)
  const Work = t.hq.job('Work', () => {})
  const bids = [await t.hq.batch({}, () => Work.performAsync()), await t.hq.batch({}, () => Work.performAsync())]
  for (let i = 0; i < 2; i++) await moveAsOthers(t, null)
  let isBroken = true
  const requests = requestsOf(t, () => {
    if (isBroken && requests.length === 1) throw new Error('broken')
  })
  const reports: unknown[] = []
  const check = checkOf(t, 1e9, 1e5, undefined, (thrown) => reports.push((thrown as Error).message))
  for (const bid of bids) await t.hq.store.batches.cancel(bid, t.clock.now())
  await check()
  expect(requests).toEqual([1, 1])
  expect(reports).toEqual(['broken'])
  isBroken = false
  ahead.ms = 31_000
  await check()
  expect(requests).toEqual([1, 1, 1])
})

test('a walk that found a job lost is confirmed after a minute, however long it took: a worker may not live longer', async () => {
  const t = bench()
  const ahead = { ms: 0 }
  setMonotonicClock(ahead)
  const Work = t.hq.job('Work', () => {})
  const bid = await t.hq.batch({}, () => Work.performAsync())
  await moveAsOthers(t, null)
  const { search } = t.hq.store
  const { scanSet } = search
  search.scanSet = async (...call) => {
    ahead.ms += 30_000
    return scanSet.apply(search, call)
  }
  const check = checkOf(t, 0.01)
  await check()
  ahead.ms += 61_000
  await check()
  expect(await t.hq.batches.get(bid)).toMatchObject({ state: 'failed', failed: 1 })
})

test('a call that cancels a large batch returns after a few seconds, and a worker does the rest', async () => {
  const t = bench()
  const Work = t.hq.job('Work', (_ctx, _n: number) => {})
  const rows = Array.from({ length: 1200 }, (_, n): [number] => [n])
  const bid = await t.hq.batch({}, () => Work.performBulk(rows))
  const { now } = performance
  onTestFinished(() => {
    performance.now = now
  })
  const requests = requestsOf(t, () => {
    performance.now = () => now.call(performance) + 10_000
  })
  expect(await t.hq.batches.cancel(bid)).toBe(1200)
  // One page: a scan of Redis may return some more than it was asked for.
  expect(requests).toHaveLength(1)
  expect(requests[0]).toBeLessThan(600)
  const { pending = 0 } = (await t.hq.batches.get(bid)) ?? {}
  expect(pending).toBeGreaterThan(0)
  await checkOf(t)()
  expect(await t.hq.batches.get(bid)).toMatchObject({ state: 'failed', failed: 1200, cancelling: false })
})

test('many jobs of a batch that another program has deleted have failed after two walks', async () => {
  const t = bench()
  const Work = t.hq.job('Work', (_ctx, _n: number) => {})
  const rows = Array.from({ length: 1200 }, (_, n): [number] => [n])
  const bid = await t.hq.batch({}, () => Work.performBulk(rows))
  const texts = await t.hq.store.jobs.peek('default', 0, 1200)
  const gone = texts.map((text) => ({ text, to: null }))
  expect(await t.hq.store.search.pull('default', gone, t.clock.now())).toHaveLength(1200)
  const check = checkOf(t)
  for (let i = 0; i < 2; i++) await check()
  expect(await t.hq.batches.get(bid)).toMatchObject({ state: 'failed', failed: 1200 })
})

test('a batch with more members than one walk looks for is checked in parts, and all that are gone have failed', async () => {
  const t = bench()
  const Work = t.hq.job('Work', (_ctx, _n: number) => {})
  const rows = Array.from({ length: 1300 }, (_, n): [number] => [n])
  const bid = await t.hq.batch({}, () => Work.performBulk(rows))
  await t.hq.batch({}, () => Work.performIn(1e6, 1))
  for (let i = 0; i < 1250; i++) await moveAsOthers(t, null)
  const check = checkOf(t, 1e9, 300)
  await check()
  expect(await t.hq.batches.get(bid)).toMatchObject({ pending: 1300, failed: 0 })
  await check()
  expect(await t.hq.batches.get(bid)).toMatchObject({ pending: 50, failed: 1250 })
})
