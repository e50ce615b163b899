import { type JobContext, Snooze } from 'highkiq'
import { expect, onTestFinished, test } from 'vitest'
import { BatchMaintenance } from '#dist/batches/batch-maintenance.js'
import { type Bench, bench, until } from './bench.ts'

/** Maintenance that changes a member in its second walk, and walks again at once. */
function checkOf({ hq, clock }: Bench): () => Promise<void> {
  const report = (thrown: unknown) => {
    throw thrown
  }
  const unused = { effects: () => undefined, keepEnd: async () => {} }
  const options = { everySeconds: 1, lostAfterMs: 0, walkingPart: 1e9 }
  const maintenance = new BatchMaintenance({ store: hq.store, now: clock.now, report, ...unused }, options)
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
