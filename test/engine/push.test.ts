import { BusinessFailure, type Job } from 'highkiq'
import { expect, test, vi } from 'vitest'
import { bench, Collector } from './bench.ts'

const noop = async () => {}

test('a job that is pushed runs with its arguments, its jid and its queue', async () => {
  const { hq, work } = bench()
  const ran = new Collector<unknown>()
  const HardJob = hq.job('HardJob', { queue: 'hard' }, async (ctx, name: string, count: number) => {
    ran.add([ctx.jid, ctx.queue, ctx.attempt, name, count])
  })
  const jid = await HardJob.performAsync('bob', 5)
  expect(jid).toMatch(/^[0-9a-f]{24}$/)
  await work({ queues: ['hard'] })
  expect(await ran.atLeast(1)).toEqual([[jid, 'hard', 1, 'bob', 5]])
})

test("the payload has Sidekiq's members, with its names and units", async () => {
  const { hq, queue } = bench({ clock: { now: () => 1_700_000_000_123 } })
  const options = { queue: 'q', retry: 5, backtrace: 3, dead: false, tags: ['vip'], retryFor: 60 }
  const Full = hq.job('Full', { ...options, retryIn: () => 1, onExhausted: noop, timeout: 9, maxCrashes: 2 }, noop)
  const jid = await Full.performAsync()
  expect(await queue('q')).toEqual([
    {
      class: 'Full',
      args: [],
      queue: 'q',
      jid,
      retry: 5,
      backtrace: 3,
      dead: false,
      tags: ['vip'],
      retry_for: 60,
      created_at: 1_700_000_000_123,
      enqueued_at: 1_700_000_000_123,
    },
  ])
})

test('a job without options is retried and goes to the queue default; the app may have other defaults', async () => {
  const plain = bench()
  await plain.hq.job('Plain', noop).performAsync()
  expect(await plain.queue()).toMatchObject([{ retry: true, queue: 'default' }])
  const other = bench({ defaultJobOptions: { queue: 'low', retry: 3, tags: ['x'] } })
  await other.hq.job('Plain', { retry: 0 }, noop).performAsync()
  expect(await other.queue('low')).toMatchObject([{ retry: 0, queue: 'low', tags: ['x'] }])
})

test('set() changes only its own pushes, not the job', async () => {
  const { hq, queue } = bench()
  const J = hq.job('J', { tags: ['old'], retry: 7 }, noop)
  const vip = J.set({ queue: 'critical', tags: ['vip'] })
  await vip.set({ retry: 0, retryFor: 30, backtrace: true, dead: false, jid: 'mine' }).performAsync()
  await vip.performAsync()
  await J.performAsync()
  expect(await queue('critical')).toMatchObject([
    { tags: ['vip'], retry: 0, retry_for: 30, backtrace: true, dead: false, jid: 'mine' },
    { tags: ['vip'], retry: 7 },
  ])
  expect(await queue()).toMatchObject([{ tags: ['old'], retry: 7 }])
})

test('any class can be pushed by name, with any members', async () => {
  const { hq, queue } = bench()
  const jid = await hq.push({ class: 'RubyWorker', args: [1, [2]], queue: 'ruby', bid: 'b1', cattr: { user: 3 } })
  expect(await queue('ruby')).toMatchObject([
    { class: 'RubyWorker', args: [1, [2]], queue: 'ruby', jid, retry: true, bid: 'b1', cattr: { user: 3 } },
  ])
})

test('pushes of one event loop iteration are stored in their order', async () => {
  const { hq, queue } = bench()
  const J = hq.job('J', async (_ctx, _n: number) => {})
  const numbers = Array.from({ length: 2500 }, (_, n) => n)
  const jids = await Promise.all(numbers.map((n) => J.performAsync(n)))
  const stored = [
    ...(await queue()),
    ...(await hq.store.jobs.peek('default', 1000, 2000)).map((text) => JSON.parse(text)),
  ]
  expect(stored.map(({ args }) => args[0])).toEqual(numbers)
  expect(stored.map(({ jid }) => jid)).toEqual(jids)
})

test('pushes keep their order when the answer about a recording grows old among them', async () => {
  const { hq, queue } = bench()
  const J = hq.job('J', async (_ctx, _n: number) => {})
  await J.performAsync(0)
  const real = performance.now.bind(performance)
  let asked = 0
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => real() + (++asked > 900 ? 8000 : 4000))
  const pushed = Array.from({ length: 1200 }, (_, n) => J.performAsync(n + 1))
  asked = 0
  await Promise.all(pushed).finally(() => clock.mockRestore())
  const stored = [
    ...(await queue()),
    ...(await hq.store.jobs.peek('default', 1000, 1000)).map((text) => JSON.parse(text)),
  ]
  expect(stored.map(({ args }) => args[0])).toEqual(Array.from({ length: 1201 }, (_, n) => n))
})

test('an argument beyond 2^53 arrives as a BigInt and is stored as an integer', async () => {
  const { hq, work, queue } = bench()
  const ran = new Collector<unknown>()
  const J = hq.job('J', async (_ctx, id: bigint, about: { ids: unknown[] }) => ran.add([id, about]))
  await J.performAsync(9007199254740993n, { ids: [12345678901234567890n, 1, '9007199254740993'] })
  const [text] = await hq.store.jobs.peek('default', 0, 1)
  expect(text).toContain('"args":[9007199254740993,{"ids":[12345678901234567890,1,"9007199254740993"]}]')
  expect(await queue()).toHaveLength(1)
  await work()
  expect(await ran.atLeast(1)).toEqual([[9007199254740993n, { ids: [12345678901234567890n, 1, '9007199254740993'] }]])
})

// ------------------------------------------------------------------------------------------------------------ when

const NOW = 1_700_000_000_000
const when: [string, (J: Job<[]>) => Promise<unknown>, number][] = [
  ['performIn seconds', (J) => J.performIn(300), 300],
  ['performIn a fraction of a second', (J) => J.performIn(0.25), 0.25],
  ["performIn '5m'", (J) => J.performIn('5m'), 300],
  ["performIn '1h 30m'", (J) => J.performIn('1h 30m'), 5400],
  ['performIn { minutes: 5 }', (J) => J.performIn({ minutes: 5, seconds: 1 }), 301],
  ['performIn an epoch second', (J) => J.performIn(1_700_000_500), 500],
  ['performIn a Date', (J) => J.performIn(new Date(NOW + 1500)), 1.5],
  ['performAt a Date', (J) => J.performAt(new Date(NOW + 1500)), 1.5],
  ['performAt an epoch second', (J) => J.performAt(1_700_000_007), 7],
  ['performAt a number below 1e9', (J) => J.performAt(999_999_999), 999_999_999],
]
test.each(when)('%s schedules, without at and enqueued_at in the stored job', async (_, push, after) => {
  const { hq, set, queue } = bench({ clock: { now: () => NOW } })
  const jid = await push(hq.job('J', noop))
  const [job] = await set('schedule')
  expect(job).toMatchObject({ class: 'J', jid, score: NOW / 1000 + after, created_at: NOW })
  expect(job).not.toHaveProperty('at')
  expect(job).not.toHaveProperty('enqueued_at')
  expect(await queue()).toEqual([])
})

const past: [string, (J: Job<[]>) => Promise<unknown>][] = [
  ['performIn 0', (J) => J.performIn(0)],
  ['performIn a negative number', (J) => J.performIn(-5)],
  ['performIn the first epoch second, 1e9', (J) => J.performIn(1_000_000_000)],
  ['performAt a Date in the past', (J) => J.performAt(new Date(0))],
  ['performAt now', (J) => J.performAt(new Date(NOW))],
]
test.each(past)('%s means now', async (_, push) => {
  const { hq, set, queue } = bench({ clock: { now: () => NOW } })
  await push(hq.job('J', noop))
  const [job] = await queue()
  expect(job).toMatchObject({ enqueued_at: NOW })
  expect(job).not.toHaveProperty('at')
  expect(await set('schedule')).toEqual([])
})

test.each([
  ['5 minutes'],
  ['soon'],
  [''],
  [Number.NaN],
  [Number.POSITIVE_INFINITY],
  [{ minuts: 5 }],
  [{ minutes: '5' }],
  [null],
  [undefined],
  [true],
  [5n],
])('performIn refuses %o', async (delay) => {
  const { hq, queue } = bench()
  await expect(hq.job('J', noop).performIn(delay as never)).rejects.toMatchObject({ code: 'INVALID_OPTION' })
  expect(await queue()).toEqual([])
})

test('performAt refuses an invalid Date', async () => {
  const { hq } = bench()
  await expect(hq.job('J', noop).performAt(new Date('never'))).rejects.toMatchObject({ code: 'INVALID_OPTION' })
})

// ------------------------------------------------------------------------------------------------------------ bulk

test('performBulk returns one jid for each job, in order, and null for filtered ones', async () => {
  const { hq, queue } = bench()
  const J = hq.job('J', async (_ctx, _n: number) => {})
  hq.client.use((payload, next) => (payload.args[0] === 2 ? null : next()))
  const jids = await J.performBulk([[1], [2], [3], [2]], { batchSize: 2 })
  const stored = await queue()
  expect(stored.map(({ args }) => args)).toEqual([[1], [3]])
  expect(jids).toEqual([stored[0]?.jid, null, stored[1]?.jid, null])
})

test('performBulk of nothing returns an empty array', async () => {
  const { hq } = bench()
  expect(await hq.job('J', noop).performBulk([])).toEqual([])
})

test('performBulk accepts iterables and async iterables, and reads at most one batch ahead', async () => {
  const { hq } = bench()
  const J = hq.job('J', async (_ctx, _n: number) => {})
  let read = 0
  let furthest = 0
  const poll = async () => {
    const { enqueued } = await hq.store.metrics.totals()
    furthest = Math.max(furthest, read - enqueued)
  }
  async function* rows(): AsyncGenerator<[number]> {
    for (let n = 0; n < 25; n++) {
      read++
      await poll()
      yield [n]
    }
  }
  expect(await J.performBulk(rows(), { batchSize: 10 })).toHaveLength(25)
  expect(furthest).toBe(10)
  function* more(): Generator<[number]> {
    for (let n = 0; n < 5; n++) yield [n]
  }
  expect(await J.performBulk(more())).toHaveLength(5)
  expect(await J.performBulk(new Set<[number]>([[1]]))).toHaveLength(1)
})

test('performBulk closes its source when a row is refused, and the error names the row', async () => {
  const { hq, queue } = bench()
  const J = hq.job('J', async (_ctx, _n: unknown) => {})
  let ended = false
  function* rows(): Generator<[unknown]> {
    try {
      yield [1]
      yield [undefined]
      yield [3]
    } finally {
      ended = true
    }
  }
  await expect(J.performBulk(rows(), { batchSize: 1 })).rejects.toMatchObject({ code: 'INVALID_ARGS' })
  expect(ended).toBe(true)
  expect((await queue()).map(({ args }) => args)).toEqual([[1]])
})

// -------------------------------------------------------------------------------------------------------- refusals

test.each([
  ['no class', { args: [] }],
  ['an empty class', { class: '', args: [] }],
  ['a class that is not a text', { class: 5, args: [] }],
  ['no args', { class: 'X' }],
  ['args that are no array', { class: 'X', args: { 0: 1 } }],
  ['an at that is no number', { class: 'X', args: [], at: '12' }],
  ['an at of NaN', { class: 'X', args: [], at: Number.NaN }],
  ['an empty jid', { class: 'X', args: [], jid: '' }],
  ['tags that are no array', { class: 'X', args: [], tags: 'vip' }],
  ['a retry_for of more than 1e9 seconds', { class: 'X', args: [], retry_for: 1_000_000_001 }],
])('a push with %s is refused with INVALID_JOB', async (_, request) => {
  const { hq } = bench()
  await expect(hq.push(request as never)).rejects.toMatchObject({ name: 'HighkiqError', code: 'INVALID_JOB' })
  expect((await hq.stats()).enqueued).toBe(0)
})

test.each([[''], ['two words'], ['{x}'], [5]])('a push to a queue named %o is refused', async (queue) => {
  const { hq } = bench()
  await expect(hq.push({ class: 'X', args: [], queue: queue as string })).rejects.toMatchObject({
    code: 'INVALID_OPTION',
  })
})

test('an argument that is not JSON is refused with its path; its job is not stored, and other pushes are', async () => {
  const { hq, queue } = bench()
  const J = hq.job('J', async (_ctx, _a: unknown) => {})
  const bad = J.performAsync({ when: new Date() })
  const good = J.performAsync(1)
  await expect(bad).rejects.toMatchObject({ code: 'INVALID_ARGS', details: { path: 'args[0].when', job: 'J' } })
  await good
  expect(await queue()).toHaveLength(1)
})

test("strictArgs 'warn' stores the argument as JSON and logs a warning; false logs nothing", async () => {
  const warned = bench({ strictArgs: 'warn' })
  const when = new Date(0)
  const jid = await warned.hq.push({ class: 'X', args: [when] })
  expect(await warned.queue()).toMatchObject([{ args: ['1970-01-01T00:00:00.000Z'] }])
  expect(warned.log.lines).toEqual([
    { level: 'warn', about: { jid }, message: expect.stringContaining('args[0] is a Date') },
  ])
  const off = bench({ strictArgs: false })
  await off.hq.push({ class: 'X', args: [when] })
  expect(await off.queue()).toMatchObject([{ args: ['1970-01-01T00:00:00.000Z'] }])
  expect(off.log.lines).toEqual([])
})

test('a job above maxArgsBytes, counted in bytes, is refused; a large one is warned of', async () => {
  const { hq, log, queue } = bench({ maxArgsBytes: { warn: 300, refuse: 1000 } })
  await hq.push({ class: 'X', args: ['x'.repeat(50)] })
  expect(log.lines).toEqual([])
  await hq.push({ class: 'X', args: ['x'.repeat(500)] })
  expect(log.lines).toMatchObject([{ level: 'warn', about: { class: 'X' }, message: expect.stringMatching(/large/) }])
  await expect(hq.push({ class: 'X', args: ['€'.repeat(400)] })).rejects.toMatchObject({ code: 'ARGS_TOO_LARGE' })
  expect(await queue()).toHaveLength(2)
})

test('without an option the limit is 10 MB', async () => {
  const { hq } = bench()
  await expect(hq.push({ class: 'X', args: ['x'.repeat(10_000_001)] })).rejects.toMatchObject({
    code: 'ARGS_TOO_LARGE',
    status: 413,
  })
})

// ---------------------------------------------------------------------------------------------------------- inline

test("performInline runs at once through both chains and returns the handler's value; nothing is stored", async () => {
  const { hq } = bench()
  const order: string[] = []
  hq.client.use((payload, next) => {
    order.push('client')
    payload.args[0] = 2n ** 60n
    return next()
  })
  hq.server.use(async (ctx, next) => {
    order.push(`server ${ctx.attempt}`)
    return next()
  })
  const J = hq.job('J', async (ctx, n: bigint) => ({ jid: ctx.jid, n }))
  expect(await J.set({ jid: 'j1' }).performInline(1n)).toEqual({ jid: 'j1', n: 2n ** 60n })
  expect(order).toEqual(['client', 'server 1'])
  expect(await hq.store.metrics.totals()).toMatchObject({ processed: 0, enqueued: 0, retries: 0 })
})

test("performInline throws the handler's error, refuses bad arguments, and returns null when it is filtered", async () => {
  const { hq } = bench()
  const refused = new BusinessFailure('no')
  const J = hq.job('J', async (_ctx, _a: unknown) => {
    throw refused
  })
  await expect(J.performInline(1)).rejects.toBe(refused)
  await expect(J.performInline(new Map())).rejects.toMatchObject({ code: 'INVALID_ARGS' })
  hq.client.use(() => null)
  expect(await J.performInline(1)).toBeNull()
})

test('performInline passes arguments through JSON', async () => {
  const { hq } = bench()
  const given = { deep: [1] }
  const J = hq.job('J', (_ctx, a: typeof given) => a)
  const got = await J.performInline(given)
  expect(got).toEqual(given)
  expect(got).not.toBe(given)
})
