import { Release, Snooze } from 'highkiq'
import { expect, test } from 'vitest'
import { bench, Collector, gate, until } from './bench.ts'

const nothing = { processed: 0, failed: 0, enqueued: 0, fetched: 0, scheduled: 0, retries: 0, dead: 0 }

test("a job that can't start in time is dropped without failing; others run", async () => {
  const t = bench()
  const ran = new Collector<string>()
  const deaths = new Collector<unknown>()
  t.hq.onDeath((payload) => deaths.add(payload))
  const J = t.hq.job('J', { expiresIn: 60 }, async (_ctx, name: string) => ran.add(name))
  await J.performAsync('late')
  await J.set({ expiresIn: 90 }).performAsync('in time')
  await t.hq.push({ class: 'J', args: ['raw'], expires_in: 50 })
  expect((await t.queue()).map(({ expires_in }) => expires_in)).toEqual([60, 90, 50])
  t.clock.ahead = 61
  await t.work()
  await ran.atLeast(1)
  await t.settled()
  expect(ran.all).toEqual(['in time'])
  expect(await t.hq.store.metrics.totals()).toMatchObject({ ...nothing, processed: 1 })
  expect([...t.errors, ...deaths.all]).toEqual([])
  const dropped = t.log.lines.filter(({ message }) => message === 'dropped: expired')
  expect(dropped).toMatchObject([{ about: { class: 'J', queue: 'default' } }, {}])
})

test('the time of a scheduled job counts from its scheduled time, not from its push or promotion', async () => {
  const t = bench()
  const ran = new Collector<string>()
  const J = t.hq.job('J', { expiresIn: 100 }, async (_ctx, name: string) => ran.add(name))
  await J.performIn(1000, 'missed')
  await J.performIn(1150, 'late')
  await J.performIn(1199, 'on time')
  t.clock.ahead = 1200
  // Promoted at once, and begun seventy seconds later by the app's clock.
  const mover = await t.work({ queues: ['other'] })
  await until(async () => (await t.hq.store.metrics.totals()).enqueued === 2)
  expect(await t.hq.store.jobSets.size('schedule')).toBe(0)
  await mover.stop()
  t.clock.ahead = 1270
  await t.work()
  await ran.atLeast(1)
  await t.settled()
  expect(ran.all).toEqual(['on time'])
  expect(await t.hq.store.metrics.totals()).toMatchObject({ ...nothing, processed: 1 })
})

test('a scheduled job that could not be moved when it was due keeps its deadline', async () => {
  const t = bench()
  const ran = new Collector<string>()
  let isBroken = true
  t.hq.client.use((payload, next) => {
    if (isBroken && payload.enqueued_at === undefined && t.clock.ahead >= 100) throw new Error('no network')
    return next()
  })
  const J = t.hq.job('J', { expiresIn: 150 }, async (_ctx, name: string) => ran.add(name))
  const due = t.clock.now() / 1000 + 100
  await J.performAt(due, 'late')
  await J.performAt(due + 20, 'by hand')
  const postponed = () =>
    until(async () => (await t.set('schedule')).every(({ score }) => score > t.clock.now() / 1000))
  t.clock.ahead = 125
  await t.work()
  await postponed()
  // Due again after a minute, and then after two.
  t.clock.ahead = 188
  await postponed()
  expect(t.errors.filter(({ about }) => about.during === 'promoting a due job')).toHaveLength(4)
  const entries = []
  for await (const entry of t.hq.scheduled) entries.push(entry)
  await entries.find(({ args }) => args[0] === 'by hand')?.reschedule(t.clock.now() / 1000 + 200)
  isBroken = false
  t.clock.ahead = 389
  await ran.atLeast(1)
  await until(async () => (await t.hq.store.jobSets.size('schedule')) === 0)
  await t.settled()
  expect(ran.all).toEqual(['by hand'])
  expect(t.log.lines.filter(({ message }) => message === 'dropped: expired')).toHaveLength(1)
})

test('a retry never expires', async () => {
  const t = bench()
  const ran = new Collector<number>()
  const J = t.hq.job('J', { expiresIn: 5, retryIn: () => 60 }, async (ctx) => {
    ran.add(ctx.attempt)
    if (ctx.attempt === 1) throw new Error('once')
  })
  await J.performAsync()
  await t.work()
  await until(async () => (await t.hq.store.jobSets.size('retry')) === 1)
  t.clock.ahead = 3600
  expect(await ran.atLeast(2)).toEqual([1, 2])
})

test('a job that has started once never expires, whatever ended its attempt', async () => {
  const t = bench()
  const ran = new Collector<string>()
  const J = t.hq.job('J', { expiresIn: 5 }, async (ctx, how: string) => {
    ran.add(how)
    if (ran.all.filter((one) => one === how).length > 1) return
    if (how === 'snoozed') throw new Snooze(1)
    if (how === 'released') throw new Release()
    await new Promise((_, reject) => ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason)))
  })
  const all = ['snoozed', 'released', 'stopped']
  for (const how of all) await J.performAsync(how)
  // Its process died: nothing else is said of it.
  await t.raw(
    JSON.stringify({ class: 'J', args: ['killed'], jid: 'k', created_at: t.clock.now(), expires_in: 5 }),
    'killed',
  )
  await t.hq.store.workers.join('dead', { queues: ['killed'], seconds: 60, host: '' })
  await t.hq.store.workers.settleAndFetch('dead', {
    now: 0,
    started: [],
    settlements: [],
    fetch: { queues: ['killed'], n: 1 },
  })
  const worker = await t.work({ timeout: 0.01 })
  await ran.atLeast(3)
  t.clock.ahead = 3600
  await worker.stop()
  await t.hq.store.workers.claim('dead')
  await t.work({ queues: ['default', 'killed'], leaseSeconds: 1 })
  await ran.atLeast(7)
  expect([...ran.all].sort()).toEqual(['killed', ...[...all, ...all].sort()])
})

test("the time of another program's job counts from its text, in seconds or milliseconds; an invalid time never expires", async () => {
  const t = bench()
  const ran = new Collector<string>()
  t.hq.job('J', async (_ctx, name: string) => ran.add(name))
  const now = Date.now()
  const raw = (name: string, more: object) =>
    t.raw(JSON.stringify({ class: 'J', args: [name], jid: name, queue: 'default', ...more }))
  await raw('seconds', { enqueued_at: now / 1000 - 100, expires_in: 60 })
  await raw('milliseconds', { enqueued_at: now - 100_000, expires_in: 60 })
  await raw('created', { created_at: now - 100_000, expires_in: 60 })
  await raw('text', { enqueued_at: now - 100_000, expires_in: '60' })
  await raw('no time', { expires_in: 60 })
  await raw('null', { enqueued_at: now - 100_000, expires_in: null })
  await raw('enough', { enqueued_at: now - 100_000, expires_in: 160.5 })
  await t.work({ concurrency: 1 })
  await ran.atLeast(4)
  await t.settled()
  expect(ran.all).toEqual(['text', 'no time', 'null', 'enough'])
})

test('a row of a task that expired is cancelled, with the reason as its code', async () => {
  const t = bench()
  const { opened, open } = gate()
  const began = new Collector<string>()
  const J = t.hq.job('J', { expiresIn: 5 }, async (_ctx, name: string) => {
    began.add(name)
    await opened
  })
  const task = await t.hq.tasks.create(J, [['first'], ['second']])
  await t.work({ concurrency: 1 })
  await began.atLeast(1)
  t.clock.ahead = 10
  open()
  const { counts } = await task.wait({ every: 10 })
  expect(counts).toMatchObject({ finished: 1, cancelled: 1 })
  for await (const event of task.events({ status: ['cancelled'] })) {
    expect(event).toMatchObject({ index: 1, code: 'expired', attempts: 0, args: ['second'] })
    expect(event.messages.at(-1)?.text).toBe('the worker dropped the row: it could not start in time')
  }
})

test('an invalid time is refused', async () => {
  const t = bench({ url: 'sqlite::memory:' })
  const wrong = { code: 'INVALID_OPTION', message: expect.stringContaining('expiresIn') }
  for (const expiresIn of [0, -1, Number.NaN, Number.POSITIVE_INFINITY, '5m']) {
    expect(() => t.hq.job('J', { expiresIn: expiresIn as number }, async () => {})).toThrow(
      expect.objectContaining(wrong),
    )
  }
  const J = t.hq.job('J', async () => {})
  const refused = (name: string) => ({ code: 'INVALID_JOB', message: expect.stringContaining(name) })
  await expect(J.set({ expiresIn: 0 }).performAsync()).rejects.toMatchObject(refused('expiresIn'))
  await expect(t.hq.push({ class: 'J', args: [], expires_in: 'soon' })).rejects.toMatchObject(refused('expires_in'))
})
