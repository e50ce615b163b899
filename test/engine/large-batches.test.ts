import { HighkiqError, PushError } from 'highkiq'
import { expect, onTestFinished, test } from 'vitest'
import { BatchMaintenance } from '#dist/batches/batch-maintenance.js'
import { putInSteps } from '#dist/client/batch-steps.js'
import type { BatchSpec, BatchStore, NewMember, Store } from '#dist/store/contract.js'
import { withReplaced } from '../replaced-store.ts'
import { type Bench, bench, Child, Collector, until } from './bench.ts'

const LARGE = 10_500
const rows = Array.from({ length: LARGE }, (_, n): [number] => [n])

function jobs({ hq }: Bench) {
  const called = new Collector<string>()
  let ran = 0
  const Work = hq.job('Work', (_ctx, _n: number) => void ran++)
  const callback = (name: string) => hq.job(name, (_ctx, bid: string) => called.add(`${name} ${bid}`))
  const all = { onComplete: callback('complete'), onSuccess: callback('success'), onDeath: callback('death') }
  return { Work, called, all, ran: () => ran }
}

/** Runs the maintenance of batches as if no batch had had progress for long. */
async function findLost(t: Bench): Promise<void> {
  const report = (thrown: unknown) => {
    throw thrown
  }
  const app = { store: t.hq.store, now: t.clock.now, effects: () => [], keepEnd: async () => {}, report }
  const maintenance = new BatchMaintenance(app, { everySeconds: 1, lostAfterMs: 0, walkingPart: 1e9 })
  onTestFinished(() => maintenance.stop())
  t.clock.ahead += 10
  for (let n = 0; n < 2; n++) await maintenance.run()
}

const NONE = { parent: null, onComplete: null, onSuccess: null, onDeath: null, job: null }

function spec(bid: string, parent: string | null = null): BatchSpec {
  return { ...NONE, bid, parent, meta: '{}', keep: 1000, createdAt: 1 }
}

/** Scheduled jobs of a batch. */
function members(bid: string, count: number): NewMember[] {
  return Array.from({ length: count }, (_, n) => {
    const id = `${bid}-${n}`
    const text = JSON.stringify({ class: 'Work', args: [n], jid: id, bid })
    return { bid, id, item: { to: 'schedule' as const, text, score: 4e9 } }
  })
}

/** Returns the store, which does this before its n-th push of batches. */
function beforePush(store: Store, n: number, work: () => unknown): Store {
  let calls = 0
  const push: BatchStore['push'] = async (push, now) => {
    if (++calls === n) await work()
    return store.batches.push(push, now)
  }
  return withReplaced(store, { batches: { push } })
}

const isThere = async ({ hq }: Bench, bid: string, jobs: number) => ((await hq.batches.get(bid))?.total ?? 0) > jobs

test('a large batch ends with its last job, also when its jobs run while others are stored', async () => {
  const t = bench()
  const { Work, called, all, ran } = jobs(t)
  await t.work({ concurrency: 50 })
  let inner = ''
  const bid = await t.hq.batch(all, async () => {
    await Work.performBulk(rows)
    inner = await t.hq.batch({ onSuccess: all.onSuccess }, () => Work.performAsync(-1))
    await t.hq.batch({}, () => {})
  })
  const names = await called.atLeast(3)
  expect(names.toSorted()).toEqual([`complete ${bid}`, `success ${bid}`, `success ${inner}`].toSorted())
  expect(ran()).toBe(LARGE + 1)
  const counts = { total: LARGE + 3, succeeded: LARGE + 3, failed: 0, pending: 0, state: 'succeeded' }
  expect(await t.hq.batches.get(bid)).toMatchObject(counts)
})

test('a function that throws stores nothing of a large batch, and neither does a lock that is held', async () => {
  const t = bench()
  const { Work, all } = jobs(t)
  const failed = t.hq.batch(all, async () => {
    await Work.performBulk(rows)
    throw new Error('changed my mind')
  })
  await expect(failed).rejects.toThrow('changed my mind')
  const Strict = Work.set({ unique: { onConflict: 'raise' } })
  await Strict.performAsync(LARGE - 1)
  await expect(t.hq.batch(all, () => Strict.performBulk(rows))).rejects.toMatchObject({ code: 'UNIQUE_CONFLICT' })
  const twice = t.hq.batch(all, async () => {
    await Work.performBulk(rows)
    for (let n = 0; n < 2; n++) await Work.set({ jid: 'mine', unique: false }).performAsync(n)
  })
  await expect(twice).rejects.toThrow(/job mine would be in batch/)
  expect(await t.queue()).toHaveLength(1)
  expect((await t.hq.batches.page()).items).toEqual([])
})

test('jobs are added to a batch in several steps, and locks that are held drop some of them', async () => {
  const t = bench()
  const { Work, called, all } = jobs(t)
  const Once = Work.set({ unique: true })
  await Once.set({ queue: 'other' }).performBulk([[5], [LARGE - 5]])
  const bid = await t.hq.batch(all, () => Work.performIn(1e6, -1))
  await t.hq.batches.add(bid, () => Once.performBulk(rows))
  expect(await t.hq.batches.get(bid)).toMatchObject({ total: LARGE - 1, pending: LARGE - 1, failed: 0 })
  await t.hq.batches.cancel(bid)
  await t.work()
  await called.atLeast(1)
  expect(await t.hq.batches.get(bid)).toMatchObject({ total: LARGE - 1, failed: LARGE - 1, state: 'failed' })
})

test('a large batch that is cancelled while it is stored accepts no more jobs, and ends', async () => {
  const t = bench()
  const { Work, called, all } = jobs(t)
  let bid = ''
  const push = t.hq.batch(all, async (batch) => {
    bid = batch.bid
    await Work.performBulk(rows)
  })
  const failed = expect(push).rejects.toMatchObject({
    code: 'PUSH_FAILED',
    maybePushed: true,
    message: expect.stringMatching(/was cancelled\. Batch [0-9a-f]{16} has \d+ of 10500 jobs/),
  })
  await until(() => isThere(t, bid, 1000))
  expect(await t.hq.batches.cancel(bid)).toBeGreaterThan(999)
  await failed
  await t.work()
  await called.atLeast(1)
  expect(called.all).toEqual([`complete ${bid}`])
  expect(await t.hq.batches.get(bid)).toMatchObject({ state: 'failed', pending: 0, cancelling: false })
  expect(await t.queue()).toEqual([])
})

test('a step whose answer was lost is sent again, and stored once', async () => {
  const { store } = bench().hq
  let calls = 0
  const timeout = new HighkiqError('STORE_TIMEOUT', 'lost')
  const loseSome = async <T>(answer: Promise<T>, error: Error): Promise<T> => {
    await answer
    if (calls++ % 2 === 0) throw error
    return answer
  }
  const push: BatchStore['push'] = (push, now) =>
    loseSome(store.batches.push(push, now), new PushError('lost', [], true, { cause: timeout }))
  const apply: BatchStore['apply'] = (effects, now) => loseSome(store.batches.apply(effects, now), timeout)
  const bid = 'b'.repeat(16)
  const large = { batches: [spec(bid)], members: members(bid, 2500) }
  expect(await putInSteps(withReplaced(store, { batches: { push, apply } }), large, Date.now)).toEqual([])
  expect(calls).toBe(16)
  expect(await store.batches.find(bid)).toMatchObject({ total: 2500, pending: 2500 })
  expect(await store.jobSets.size('schedule')).toBe(2500)
})

test('a push whose batch was ended while its process was stopped for long says so', async () => {
  const t = bench()
  const { store } = t.hq
  const [outer, inner] = ['a'.repeat(16), 'b'.repeat(16)]
  const push = {
    batches: [spec(inner, outer), spec(outer)],
    members: [...members(inner, 1), { bid: outer, id: inner, item: null }, ...members(outer, 2500)],
  }
  const stored = putInSteps(
    beforePush(store, 3, () => findLost(t)),
    push,
    t.clock.now,
  )
  await expect(stored).rejects.toMatchObject({
    code: 'PUSH_FAILED',
    message: `this process was stopped for so long that a worker has ended the push. Batch ${outer} has 2501 of 2501 jobs and ends without success: cancel it with hq.batches.cancel('${outer}')`,
    notPushed: [],
  })
  expect(await store.batches.find(outer)).toMatchObject({ total: 2502, pending: 2501, failed: 1 })
})

test('the error of a failed step names the outermost batch, and a batch that accepts no more jobs', async () => {
  const t = bench()
  const { store } = t.hq
  const [outer, inner] = ['a'.repeat(16), 'b'.repeat(16)]
  await store.batches.push({ batches: [spec(outer)], members: members(outer, 1) }, t.clock.now())
  const push = {
    batches: [spec(inner, outer)],
    members: [...members(inner, 1), { bid: outer, id: inner, item: null }, ...members(outer, 2500).slice(1)],
  }
  const stored = putInSteps(
    beforePush(store, 3, () => store.batches.cancel(outer, t.clock.now())),
    push,
    t.clock.now,
  )
  await expect(stored).rejects.toMatchObject({
    code: 'PUSH_FAILED',
    message: `not pushed, because batch ${outer} was cancelled. Batch ${outer} has 1000 of 2500 jobs and ends without success: cancel it with hq.batches.cancel('${outer}')`,
  })
  expect(await store.batches.find(inner)).toMatchObject({ pending: 1, failed: 1 })
})

test('a process that is killed while it stores a large batch leaves one that ends without success', async () => {
  const t = bench()
  const { called } = jobs(t)
  const child = new Child(t.url, { jobs: 50_000 }, 'batch-pusher.js')
  const [{ bid = '' } = {}] = (await child.waitFor('pushing')) as { bid?: string }[]
  await until(() => isThere(t, bid, 2000))
  child.kill('SIGKILL')
  await child.exited
  const stored = await t.hq.scheduled.size()
  expect(stored).toBeLessThan(50_000)
  const members: string[] = []
  for await (const { id } of t.hq.batches.members(bid)) members.push(id)
  // The batch inside is the other member.
  expect(members).toHaveLength(stored + 1)

  await findLost(t)
  const batch = await t.hq.batches.get(bid)
  expect(batch?.failed).toBeGreaterThan(0)
  // The batch inside, whose jobs were not stored, has failed, too.
  expect(batch?.pending).toBe(stored)
  await t.hq.batches.cancel(bid)
  await t.work()
  await called.atLeast(1)
  await until(async () => (await t.hq.batches.get(bid))?.pending === 0)
  expect(called.all).toEqual([`complete ${bid}`])
  expect(await t.hq.batches.get(bid)).toMatchObject({ state: 'failed', pending: 0 })
})
