import type { JobContext, Task } from 'highkiq'
import { expect, test } from 'vitest'
import { TaskMaintenance } from '#dist/tasks/task-maintenance.js'
import { bench, Child, Collector, gate, until } from '../engine/bench.ts'

const HOUR = 3600

async function eventOf(task: Task, index = 0) {
  for await (const event of task.events({ after: index - 1 })) return event
  throw new Error(`no row ${index}`)
}

function counts(some: object) {
  return { enqueued: 0, working: 0, finished: 0, failed: 0, error: 0, cancelled: 0, ...some }
}

test('a deferred row is working until it is finished or failed from outside, and onDone runs once', async () => {
  const t = bench()
  const done = new Collector<unknown>()
  const Done = t.hq.job('Done', async (_, task: string, run: number) => done.add([task, run]))
  const Pay = t.hq.job('Pay', async (ctx, n: number) => {
    expect(await ctx.defer({ within: '2h' })).toBe(true)
    ctx.message(`sent ${n}`)
    return 'not the result'
  })
  const task = await t.hq.tasks.create(Pay, [[1], [2], [3]], { window: 1, onDone: Done })
  await t.work()
  await until(async () => (await task.status())?.deferred === 3)
  expect(await task.status()).toMatchObject({ state: 'running', retrying: 0, etaSeconds: null })
  const { jid, deferredUntil, ...event } = await eventOf(task)
  expect(event).toMatchObject({ status: 'working', attempts: 1, finishedAt: null })
  expect(event.messages.map(({ text }) => text)).toEqual(['working', 'sent 1'])
  expect(deferredUntil?.getTime()).toBeGreaterThan(t.clock.now() + 1.9 * HOUR * 1000)
  const jids = [jid, (await eventOf(task, 1)).jid, (await eventOf(task, 2)).jid] as const
  // From another process.
  const { tasks } = t.another().hq
  expect(await tasks.finish(jids[0], { id: 7 })).toEqual({ changed: true, status: 'finished', code: null })
  expect(await tasks.finish(jids[0], { id: 8 })).toEqual({ changed: false, status: 'finished', code: null })
  expect(await tasks.fail(jids[1], 'card declined', 'declined')).toMatchObject({ changed: true, code: 'declined' })
  expect(await tasks.finish(jids[1])).toEqual({ changed: false, status: 'failed', code: 'declined' })
  expect(done.all).toEqual([])
  await Promise.all([tasks.finish(jids[2]), tasks.finish(jids[2]), tasks.fail(jids[2], 'late')])
  await done.atLeast(1)
  expect(await eventOf(task)).toMatchObject({ status: 'finished', result: { id: 7 } })
  expect((await eventOf(task, 1)).messages.at(-1)?.text).toBe('card declined')
  expect(await task.wait()).toMatchObject({ state: 'done', deferred: 0 })
  await t.settled()
  expect(done.all).toEqual([[task.id, 1]])
})

test('an answer that is faster than the handler is kept, whatever the handler does after it', async () => {
  const t = bench()
  const ran = new Collector<unknown>()
  const { opened, open } = gate()
  const Pay = t.hq.job('Pay', { retry: 3, retryIn: () => 0 }, async (ctx, how: string) => {
    ran.add([how, ctx.attempt, await ctx.defer()])
    await opened
    if (how === 'throws') throw new Error('no answer from the other system')
    return how
  })
  const task = await t.hq.tasks.create(Pay, [['returns'], ['throws']])
  await t.work()
  await ran.atLeast(2)
  for (const index of [0, 1]) {
    const { jid } = await eventOf(task, index)
    expect(await t.hq.tasks.finish(jid, index)).toMatchObject({ changed: true })
  }
  expect(await task.wait()).toMatchObject({ state: 'done' })
  open()
  await t.settled()
  await until(async () => (await t.set('retry')).length === 0 && (await t.queue()).length === 0)
  await t.settled()
  expect(ran.all).toHaveLength(2)
  expect([(await eventOf(task, 0)).result, (await eventOf(task, 1)).result]).toEqual([0, 1])
  expect(await task.status()).toMatchObject({ state: 'done', counts: counts({ finished: 2 }) })
})

test('a row is deferred although its handler does not wait for ctx.defer', async () => {
  const t = bench()
  const Pay = t.hq.job('Pay', async (ctx) => {
    void ctx.defer()
    return 'not the result'
  })
  const task = await t.hq.tasks.create(Pay, [[]])
  await t.work()
  await t.settled()
  expect(await task.status()).toMatchObject({ state: 'running', deferred: 1 })
  expect(await t.hq.tasks.finish((await eventOf(task)).jid, 7)).toMatchObject({ changed: true })
  expect(await task.wait()).toMatchObject({ state: 'done' })
  expect(await eventOf(task)).toMatchObject({ status: 'finished', result: 7 })
})

test('the process dies between ctx.defer and the end of its handler: an answer that came counts, else the row runs again', async () => {
  const t = bench()
  const ran = new Collector<JobContext>()
  const Deferring = t.hq.job('Deferring', async (ctx, _n: number) => {
    expect(await ctx.defer()).toBe(true)
    ran.add(ctx)
  })
  const task = await t.hq.tasks.create(Deferring, [[0], [1]])
  const child = new Child(t.url, { concurrency: 2, leaseSeconds: 300 })
  await child.waitFor('deferred', 2)
  await t.hq.tasks.finish((await eventOf(task, 0)).jid, 'early')
  child.kill('SIGKILL')
  await child.exited
  await t.work({ leaseSeconds: 1 })
  const [ctx] = await ran.atLeast(1)
  expect(ctx).toMatchObject({ jid: (await eventOf(task, 1)).jid, attempt: 2 })
  await until(async () => (await task.status())?.deferred === 1)
  expect(await t.hq.tasks.finish((await eventOf(task, 1)).jid, 'late')).toMatchObject({ changed: true })
  expect(await task.wait()).toMatchObject({ counts: counts({ finished: 2 }) })
  await t.settled()
  expect(ran.all).toHaveLength(1)
  expect(await eventOf(task, 0)).toMatchObject({ result: 'early', attempts: 1 })
  expect(await eventOf(task, 1)).toMatchObject({ result: 'late', attempts: 2 })
})

test('a row that waits for its end is not lost, and becomes an error once, after its deadline; then it can run again', async () => {
  const t = bench()
  let within = '2h'
  const failed = new Collector<unknown>()
  const Failed = t.hq.job('Failed', async (_, task: string, _run: number) => failed.add(task))
  const Pay = t.hq.job('Pay', async (ctx) => {
    await ctx.defer({ within })
  })
  const task = await t.hq.tasks.create(Pay, [[]], { lostAfter: '1m', onFailure: Failed })
  const worker = await t.work()
  await until(async () => (await task.status())?.deferred === 1)
  await worker.stop()
  const maintenance = new TaskMaintenance(
    { store: t.hq.store, now: t.clock.now, report: (thrown) => t.errors.push({ error: thrown as Error, about: {} }) },
    { everySeconds: 1, walkingPart: 1 },
  )
  for (const ahead of [HOUR, HOUR + 100, HOUR + 200]) {
    t.clock.ahead = ahead
    await maintenance.run()
  }
  const { jid, status } = await eventOf(task)
  expect(status).toBe('working')
  t.clock.ahead = 2 * HOUR + 1
  await maintenance.run()
  await maintenance.run()
  expect(await eventOf(task)).toMatchObject({ status: 'error', code: 'deferred-timeout', attempts: 1 })
  expect((await eventOf(task)).messages.map(({ text }) => text)).toEqual([
    'working',
    'error: no other system ended the row in time',
  ])
  expect(await t.hq.tasks.finish(jid)).toEqual({ changed: false, status: 'error', code: 'deferred-timeout' })
  await maintenance.stop()
  within = '3h'
  await t.work()
  expect(await task.retry()).toMatchObject({ rows: 1, run: 2 })
  await until(async () => (await task.status())?.deferred === 1)
  expect(await t.hq.tasks.finish(jid)).toMatchObject({ changed: true })
  expect(await task.wait()).toMatchObject({ counts: counts({ finished: 1 }) })
  expect(await failed.atLeast(1)).toEqual([task.id])
  expect(t.errors).toEqual([])
})

test('a worker ends the rows whose deadline is over', async () => {
  const t = bench()
  const Pay = t.hq.job('Pay', async (ctx) => {
    await ctx.defer({ within: 0.05 })
  })
  const task = await t.hq.tasks.create(Pay, [[], [], []])
  await t.work()
  expect(await task.wait()).toMatchObject({ counts: counts({ error: 3 }) })
})

test('cancelling a row, a task and a deleted task ends deferred rows, and later answers say so', async () => {
  const t = bench()
  const Pay = t.hq.job('Pay', async (ctx, _n: number) => {
    await ctx.defer()
  })
  await t.work()
  const task = await t.hq.tasks.create(Pay, [[1], [2]])
  await until(async () => (await task.status())?.deferred === 2)
  const { jid } = await eventOf(task)
  expect(await t.hq.cancel(jid)).toBe('removed')
  expect(await t.hq.tasks.finish(jid)).toEqual({ changed: false, status: 'cancelled', code: 'cancelled' })
  await task.cancel()
  expect(await task.status()).toMatchObject({ state: 'cancelled', counts: counts({ cancelled: 2 }) })
  const other = await t.hq.tasks.create(Pay, [[1]])
  await until(async () => (await other.status())?.deferred === 1)
  const { jid: gone } = await eventOf(other)
  expect(await other.delete()).toBe(true)
  await expect(t.hq.tasks.finish(gone)).rejects.toMatchObject({ code: 'UNKNOWN_TASK' })
})

test('a tracked job can be deferred, and its cancellation while the handler runs cancels it', async () => {
  const t = bench()
  const began = new Collector<unknown>()
  const { opened, open } = gate()
  const Pay = t.hq.job('Pay', async (ctx, waits: boolean) => {
    await ctx.defer()
    began.add(ctx.jid)
    if (waits) await opened
  })
  await t.work()
  const jid = (await Pay.set({ track: true }).performAsync(false)) as string
  await until(async () => (await t.hq.tasks.event(jid))?.deferredUntil)
  await t.hq.tasks.finish(jid, 'ok')
  expect(await t.hq.tasks.event(jid)).toMatchObject({ status: 'finished', result: 'ok' })
  const cancelled = (await Pay.set({ track: true }).performAsync(true)) as string
  await began.atLeast(2)
  expect(await t.hq.cancel(cancelled)).toBe('signalled')
  await until(async () => (await t.hq.store.cancellations.among([cancelled])).length > 0)
  open()
  await until(async () => (await t.hq.tasks.event(cancelled))?.status === 'cancelled')
})

test("what can't be deferred or ended is refused, with the reason", async () => {
  const t = bench()
  const refused = new Collector<string>()
  const tries = (options?: object) => async (ctx: JobContext) => {
    refused.add(await ctx.defer(options).then(String, ({ message }) => message))
    return []
  }
  await t.work({ concurrency: 1 })
  const plain = t.hq.job('Plain', tries())
  await plain.performAsync()
  const kept = t.hq.job('Kept', { keepResult: 60 }, tries())
  await kept.set({ track: true }).performAsync()
  await refused.atLeast(2)
  await (await t.hq.tasks.create(t.hq.job('List', tries()) as never, [[[]], [[]]] as never, { rowsPerJob: 2 })).wait()
  await (await t.hq.tasks.export(t.hq.job('Page', tries()), [[]] as never)).wait()
  await (await t.hq.tasks.create(t.hq.job('Late', tries({ within: '3 years' })), [[]])).wait()
  await (await t.hq.tasks.create(t.hq.job('Odd', tries({ until: 5 })), [[]])).wait()
  const task = await t.hq.tasks.create(
    t.hq.job('Never', async () => {}),
    [[]],
  )
  await task.wait()
  expect(refused.all).toEqual([
    'ctx.defer: the job is no row of a task: create it with hq.tasks.create, or push it with track',
    'ctx.defer: Kept has keepResult: read the result of a deferred row with hq.tasks.event(jid)',
    'ctx.defer: List gets several rows (rowsPerJob), and only a job of one row can be deferred',
    'ctx.defer: Page makes a page of an export, which must return its rows',
    `ctx.defer: within must be a time above 0 and at most a year, in seconds or a string such as '2h' (got "3 years")`,
    'ctx.defer: there is no option until; there are within',
  ])
  const { jid } = await eventOf(task)
  const { tasks } = t.hq
  expect(await tasks.finish(jid)).toEqual({ changed: false, status: 'finished', code: null })
  await expect(tasks.finish(`${task.id}000000ff`)).rejects.toMatchObject({ code: 'UNKNOWN_TASK' })
  await expect(tasks.finish('x')).rejects.toMatchObject({ code: 'UNKNOWN_TASK' })
  await expect(tasks.finish(jid, 'x'.repeat(20_000))).rejects.toMatchObject({ code: 'INVALID_OPTION' })
  await expect(tasks.finish(jid, { receipt() {} })).rejects.toMatchObject({
    code: 'INVALID_OPTION',
    message: 'tasks.finish: result.receipt is a function: pass its result, or a name that the job can look up',
  })
  await expect(tasks.finish(jid, () => 'r-7')).rejects.toMatchObject({ code: 'INVALID_OPTION' })
  await expect((tasks.fail as (jid: string) => Promise<unknown>).call(tasks, jid)).rejects.toMatchObject({
    code: 'INVALID_OPTION',
    message: 'tasks.fail: message must be a string that says why the row failed (got undefined)',
  })
  await expect(tasks.fail(jid, 5 as never)).rejects.toMatchObject({ code: 'INVALID_OPTION' })
  await expect(tasks.fail(jid, '')).rejects.toMatchObject({ code: 'INVALID_OPTION' })
  await expect(tasks.fail(jid, 'x', '')).rejects.toMatchObject({ code: 'INVALID_OPTION' })
  const open = await t.hq.tasks.create(
    t.hq.job('Elsewhere', async () => {}),
    [[]],
    { queue: 'other' },
  )
  await expect(tasks.finish((await eventOf(open)).jid)).rejects.toMatchObject({
    code: 'NOT_DEFERRED',
    message: expect.stringContaining('is enqueued, and its handler has not called ctx.defer'),
  })
})
