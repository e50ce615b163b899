import { expect, test } from 'vitest'
import { type Bench, bench, Collector, gate, until } from './bench.ts'

/** A job whose handler waits for a gate. */
function slowJob({ hq }: Bench, unique: object | boolean, options: object = {}) {
  const began = new Collector<unknown[]>()
  const { opened, open } = gate()
  const Slow = hq.job('Slow', { unique: unique as object, ...options }, async (_ctx, ...args: unknown[]) => {
    began.add(args)
    await opened
    if (args[0] === 'fails') throw new Error('no')
  })
  return { Slow, began, open }
}

test('until-success: a push answers the jid of the job that waits, runs or will be retried', async () => {
  const t = bench()
  const { Slow, began, open } = slowJob(t, true)
  const jid = await Slow.performAsync('fails', { a: 1, b: 2 })
  expect(await Slow.performAsync('fails', { b: 2, a: 1 })).toBe(jid)
  expect(await Slow.performIn(60, 'fails', { a: 1, b: 2 })).toBe(jid)
  expect(await Slow.performBulk([['x'], ['fails', { a: 1, b: 2 }], ['x']])).toEqual([
    expect.any(String),
    jid,
    expect.any(String),
  ])
  expect(await t.queue()).toHaveLength(2)
  await t.work({ concurrency: 2 })
  await began.atLeast(2)
  expect(await Slow.performAsync('fails', { a: 1, b: 2 })).toBe(jid)
  open()
  await until(async () => (await t.set('retry')).length === 1)
  expect(await Slow.performAsync('fails', { a: 1, b: 2 })).toBe(jid)
  await until(async () => (await Slow.performAsync('y')) !== null && (await t.hq.retries.size()) === 1)
  for await (const entry of t.hq.retries) await entry.delete()
  expect(await Slow.performAsync('fails', { a: 1, b: 2 })).not.toBe(jid)
})

test('a dead job that is retried does not release the lock of a later job with the same jid', async () => {
  const t = bench()
  const Named = t.hq.job('Named', { retry: 0 }, async () => {
    throw new Error('no')
  })
  await Named.set({ jid: 'order-1' }).performAsync()
  await t.work()
  await until(async () => (await t.hq.dead.size()) === 1)
  const later = Named.set({ jid: 'order-1', queue: 'later' })
  await later.performAsync()
  const [dead] = (await t.hq.dead.page()).items
  expect(await dead?.retry()).toBe(true)
  await until(async () => (await t.hq.dead.size()) === 1)
  await later.performAsync()
  expect(await t.queue('later')).toHaveLength(1)
})

test.each(['until-start', 'pending'] as const)('%s: the lock is free when the handler runs', async (span) => {
  const t = bench()
  const { Slow, began, open } = slowJob(t, { for: span })
  const jid = await Slow.performAsync(1)
  expect(await Slow.performAsync(1)).toBe(jid)
  await t.work({ concurrency: 1 })
  await began.atLeast(1)
  const second = await Slow.performAsync(1)
  expect(second).not.toBe(jid)
  expect(await Slow.performAsync(1)).toBe(second)
  open()
  await began.atLeast(2)
})

test('by names a value in the arguments by its path, and has the lock of the function that returns it', async () => {
  const { hq } = bench()
  const J = hq.job('J', async (_ctx, _a: unknown, _b?: unknown) => {})
  const by = (path: string) => J.set({ unique: { by: path } })
  const jid = await by('0.shop.id').performAsync({ shop: { id: 7 } }, 1)
  expect(await by('0.shop.id').performAsync({ shop: { id: 7 }, more: 1 })).toBe(jid)
  const functional = J.set({ unique: { by: (row: { shop: { id: number } }) => row.shop.id } })
  expect(await functional.performAsync({ shop: { id: 7 } }, 2)).toBe(jid)
  expect(await by('0.shop.id').performAsync({ shop: { id: 8 } })).not.toBe(jid)
  expect(await by('1').performAsync('x', 7)).toBe(jid)
  await expect(by('0.shop.id').performAsync({ shop: null })).rejects.toMatchObject({
    code: 'INVALID_ARGS',
    message: 'J: unique.by is "0.shop.id", and the arguments have no such value: name another path',
  })
  for (const wrong of ['shop', '', '0..id', '*.id', '0.']) {
    await expect(by(wrong).performAsync(1)).rejects.toMatchObject({ code: 'INVALID_OPTION' })
  }
})

test('pending: a job that failed gets its lock back, until-start does not', async () => {
  const t = bench()
  const { Slow, open } = slowJob(t, { for: 'pending' })
  open()
  const [pending, start] = [
    await Slow.performAsync('fails'),
    await Slow.set({ unique: { for: 'until-start', by: () => 's' } }).performAsync('fails'),
  ]
  await t.work()
  await until(async () => (await t.set('retry')).length === 2)
  expect(await Slow.performAsync('fails')).toBe(pending)
  expect(await Slow.set({ unique: { for: 'until-start', by: () => 's' } }).performAsync('ok')).not.toBe(start)
})

test('a duration holds the lock after the job has ended', async () => {
  const t = bench()
  const { Slow, open } = slowJob(t, { for: '10m' })
  open()
  const jid = await Slow.performAsync(1)
  await t.work()
  await t.settled()
  expect(await Slow.performAsync(1)).toBe(jid)
})

test.each([
  ['deleted', async ({ hq }: Bench) => void (await (await hq.queue('default').page()).items[0]?.delete())],
  ['cleared', async ({ hq }: Bench) => void (await hq.queue('default').clear())],
  ['cancelled', async ({ hq }: Bench, jid: string) => void (await hq.cancel(jid))],
])('the lock of a job that was %s is free', async (_how, end) => {
  const t = bench()
  const { Slow } = slowJob(t, true)
  const jid = await Slow.performAsync(1)
  await end(t, jid as string)
  const next = await Slow.performAsync(1)
  expect(next).not.toBe(jid)
  expect(await t.queue()).toHaveLength(1)
})

test('a job that was killed, and one that goes to the dead set, has no lock', async () => {
  const t = bench()
  const { Slow, open } = slowJob(t, true, { retry: 0 })
  open()
  const scheduled = await Slow.performIn(60, 1)
  await t.hq.scheduled.killAll()
  expect(await Slow.performIn(60, 1)).not.toBe(scheduled)
  const jid = await Slow.performAsync('fails')
  await t.work()
  await until(async () => (await t.set('dead')).length === 2)
  expect(await Slow.performIn(60, 'fails')).not.toBe(jid)
})

test('by chooses what is unique, another class or no lock is free, and raise throws', async () => {
  const t = bench()
  const { Slow } = slowJob(t, { by: (user: { id: number }) => user.id })
  const Other = t.hq.job('Other', { unique: true }, (_ctx, _id: number) => {})
  const jid = await Slow.performAsync({ id: 1, name: 'a' })
  expect(await Slow.performAsync({ id: 1, name: 'b' })).toBe(jid)
  expect(await Slow.set({ unique: false }).performAsync({ id: 1 })).not.toBe(jid)
  expect(await Other.performAsync(1)).not.toBe(jid)
  const raising = Slow.set({ unique: { by: (user: { id: number }) => user.id, onConflict: 'raise' } })
  await expect(raising.performAsync({ id: 1 })).rejects.toMatchObject({ code: 'UNIQUE_CONFLICT', details: { jid } })
  await expect(raising.performBulk([[{ id: 1 }]])).rejects.toMatchObject({ code: 'UNIQUE_CONFLICT' })
})

test("Sidekiq's unique_for and unique_until mean this lock, for at most that long", async () => {
  const t = bench()
  const { Slow } = slowJob(t, false)
  const Ruby = Slow.set({ unique_for: 600, unique_until: 'start' })
  const jid = await Ruby.performAsync(1)
  expect(await Ruby.performAsync(1)).toBe(jid)
  expect(await Slow.set({ unique_for: false }).performAsync(1)).not.toBe(jid)
  const [job] = await t.queue()
  expect(job).toMatchObject({ unique_for: 600, hk_unique: expect.stringMatching(/^start:/) })
  await expect(Slow.set({ unique_for: 1e13 }).performAsync(1)).rejects.toThrow('at most 365,000 days')
  await expect(Slow.set({ unique: { for: 1e13 } }).performAsync(1)).rejects.toThrow(
    /for must be .* at most 365,000 days .*got 10000000000000/,
  )
  await expect(Slow.set({ unique_for: 0 }).performAsync(1)).rejects.toMatchObject({ code: 'INVALID_OPTION' })
})

test('an Active Job is unique by its own arguments', async () => {
  const t = bench()
  const Mail = t.hq.activeJob('Mail').set({ unique: true })
  const jid = await Mail.performAsync(7)
  expect(await Mail.performAsync(7)).toBe(jid)
  expect(await Mail.performAsync(8)).not.toBe(jid)
})

test('a lock is looked for by a unique job, not by its name', async () => {
  const { hq } = bench()
  await expect(hq.uniqueLocks.of('Slow' as never)).rejects.toMatchObject({
    code: 'INVALID_OPTION',
    message: 'hq.uniqueLocks.of: the first argument must be a job, as returned by hq.job(…) (got "Slow")',
  })
  const Plain = hq.job('Plain', () => {})
  await expect(hq.uniqueLocks.of(Plain)).rejects.toThrow(/Plain is not unique/)
})

test('wrong options, tracked jobs and tasks are refused', async () => {
  const t = bench()
  const define = (unique: unknown) => t.hq.job('Wrong', { unique: unique as boolean }, () => {})
  expect(() => define('yes')).toThrow(/unique/)
  expect(() => define({ for: 'ever' })).toThrow(/for must be 'until-success', 'until-start', 'pending' or a duration/)
  expect(() => define({ onConflict: 'later' })).toThrow(
    /onConflict must be one of 'drop', 'raise', 'replace', 'debounce'/,
  )
  const { Slow } = slowJob(t, true)
  await expect(Slow.set({ track: true }).performAsync(1)).rejects.toThrow(/a tracked job can't be unique/)
  await expect(t.hq.tasks.create(Slow, [[1]])).rejects.toThrow(/rows of a task can't be unique/)
  const Told = t.hq.job('Told', { unique: { by: (user: { id: number }) => user.id } }, (_ctx, _user: object) => {})
  await expect(t.hq.tasks.create(Told, [[{ id: 1 }]])).rejects.toThrow(
    "Told: rows of a task can't be unique: give Told.set({ unique: false }) instead",
  )
  const Row = t.hq.job('Row', () => {})
  const onDone = Told as never
  await expect(t.hq.tasks.create(Row, [[]], { onDone })).rejects.toThrow(/Told: a callback of a task can't be unique/)
  await expect(t.hq.batch({ onSuccess: onDone }, () => Row.performAsync())).rejects.toThrow(
    /Told: a callback of a batch can't be unique/,
  )
  expect(await t.queue()).toEqual([])
})
