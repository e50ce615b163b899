import { BatchFailure, type OrderedContext, type OrderedItem, type OrderedOptions } from 'highkiq'
import { expect, onTestFinished, test, vi } from 'vitest'
import { type Bench, bench, Collector, gate, until } from './bench.ts'

interface Call {
  batch: Record<string, unknown[]>
  ctx: OrderedContext
}

/** An ordered queue whose calls are collected; what `handle` throws fails the batch. */
function sync(
  { hq }: Bench,
  options: OrderedOptions<unknown> = {},
  handle: (call: Call) => unknown = () => {},
  name = 'Sync',
) {
  const calls = new Collector<Call>()
  const job = hq.ordered(name, { shards: 1, ...options }, async (ctx, batch: Map<string, unknown[]>) => {
    const call = { batch: Object.fromEntries(batch), ctx }
    calls.add(call)
    await handle(call)
  })
  return { job, calls }
}

const batches = (calls: Collector<Call>) => calls.all.map(({ batch }) => batch)

/** Nothing waits, and nothing is in flight. */
const emptied = (job: { stats(): Promise<{ length: number; busy: number }> }) =>
  until(async () => {
    const { length, busy } = await job.stats()
    return length + busy === 0
  })

test('payloads of one id come in the order of their scores, as one batch', async () => {
  const here = bench()
  const { job, calls } = sync(here)
  await job.performAsync([
    { id: 1, payload: { v: 2 }, score: 2 },
    { id: 1, payload: { v: 1 }, score: 1 },
    { id: 1, payload: { v: 3 }, score: 3 },
  ])
  await here.work()
  await calls.atLeast(1)
  await emptied(job)
  expect(batches(calls)).toEqual([{ 1: [{ v: 1 }, { v: 2 }, { v: 3 }] }])
  expect(await job.stats()).toMatchObject({ length: 0, busy: 0, processed: 1, failed: 0, lag: 0 })
  expect(here.errors).toEqual([])
})

test('payloads pushed while their id runs are handled after it, and never beside it', async () => {
  const here = bench()
  const { opened, open } = gate()
  let running = 0
  const { job, calls } = sync(here, { shards: 3 }, async () => {
    expect(++running).toBe(1)
    await opened
    running--
  })
  await here.work()
  await job.performAsync({ id: 'a', payload: 1 })
  await calls.atLeast(1)
  await job.performAsync([
    { id: 'a', payload: 2 },
    { id: 'a', payload: 3 },
  ])
  open()
  await calls.atLeast(2)
  await emptied(job)
  expect(batches(calls)).toEqual([{ a: [1] }, { a: [2, 3] }])
  expect(here.errors).toEqual([])
})

test('a push wakes an idle worker', async () => {
  // Without its timers the worker does not poll.
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  onTestFinished(() => void vi.useRealTimers())
  const here = bench()
  const { job, calls } = sync(here)
  await here.work()
  await until(async () => (await job.stats()).shards[0]?.owner)
  for (let i = 1; i <= 5; i++) {
    await job.performAsync({ id: i })
    await calls.atLeast(i)
  }
})

test('a batch has at most batchSize ids, the earliest due ones', async () => {
  const here = bench()
  const { job, calls } = sync(here, { batchSize: 3 })
  await job.performAsync(['d', 'a', 'c', 'b'].map((id, i) => ({ id, payload: i, performAt: new Date(1000 + i) })))
  await here.work()
  await calls.atLeast(2)
  await emptied(job)
  expect(batches(calls)).toEqual([{ d: [0], a: [1], c: [2] }, { b: [3] }])
})

test('a failed id runs again after retryIn, with payloads pushed meanwhile', async () => {
  const here = bench()
  const seen: [number, unknown][] = []
  const { job, calls } = sync(
    here,
    {
      retryIn: (count, error) => {
        seen.push([count, (error as Error).message])
        return 100
      },
    },
    () => {
      if (calls.all.length <= 2) throw new Error('out of order')
    },
  )
  await job.performAsync({ id: 7, payload: 1, score: 1 })
  await here.work()
  await calls.atLeast(1)
  await until(async () => (await job.stats()).retries === 1)
  await job.performAsync({ id: 7, payload: 2, score: 2 })
  const { items } = await job.waiting.list()
  expect(items).toMatchObject([{ id: '7', retryCount: 0, error: 'out of order', size: 2 }])
  here.clock.ahead += 101
  await until(async () => (await job.stats()).failed === 2)
  here.clock.ahead += 101
  await calls.atLeast(3)
  await emptied(job)
  expect(batches(calls)).toEqual([{ 7: [1] }, { 7: [1, 2] }, { 7: [1, 2] }])
  expect(seen).toEqual([
    [0, 'out of order'],
    [1, 'out of order'],
  ])
  expect(await job.stats()).toMatchObject({ processed: 1, failed: 2 })
  expect(here.errors.map(({ error, about }) => [error.message, about.ids])).toEqual([
    ['out of order', ['7']],
    ['out of order', ['7']],
  ])
})

test('when the retries are used up only the first payload dies, and the others start over', async () => {
  const here = bench()
  const died = new Collector()
  const { job, calls } = sync(here, { maxRetries: 1, retryIn: () => 0, onExhausted: died.add }, () =>
    Promise.reject(new Error('never')),
  )
  await job.performAsync([
    { id: 1, payload: 'v1', score: 1 },
    { id: 1, payload: 'v2', score: 2 },
  ])
  await here.work()
  await died.atLeast(2)
  await emptied(job)
  expect(batches(calls)).toEqual([{ 1: ['v1', 'v2'] }, { 1: ['v1', 'v2'] }, { 1: ['v2'] }, { 1: ['v2'] }])
  expect(died.all).toEqual([
    [{ id: '1', payloads: [{ payload: 'v1', score: 1 }], error: 'never' }],
    [{ id: '1', payloads: [{ payload: 'v2', score: 2 }], error: 'never' }],
  ])
  const dead = await job.morgue.find(1)
  expect(dead).toMatchObject({ id: '1', error: 'never', deaths: 2 })
  expect(dead?.payloads).toEqual([
    { payload: 'v1', score: 1 },
    { payload: 'v2', score: 2 },
  ])
})

test('an onExhausted that throws is only reported', async () => {
  const here = bench()
  const { job, calls } = sync(
    here,
    {
      maxRetries: 0,
      onExhausted: () => {
        throw new Error('hook')
      },
    },
    ({ batch }) => {
      if (batch[1]) throw new Error('job')
    },
  )
  await here.work()
  await job.performAsync([{ id: 1 }, { id: 2, performIn: '1s' }])
  await until(() => here.errors.length === 2)
  here.clock.ahead += 1
  await calls.atLeast(2)
  await emptied(job)
  expect(here.errors.map(({ error }) => error.message)).toEqual(['job', 'hook'])
  expect(await job.stats()).toMatchObject({ morgueLength: 1, processed: 1, failed: 1 })
})

test.each([
  ['ctx.fail', ({ ctx }: Call) => ctx.fail(2, new Error('two'))],
  [
    'BatchFailure',
    () => {
      throw new BatchFailure(new Map([[2, new Error('two')]]))
    },
  ],
])('%s fails one id of a batch, and the others are done', async (_, handle) => {
  const here = bench()
  const { job, calls } = sync(here, { batchSize: 10, retryIn: () => 100 }, handle)
  await job.performAsync([{ id: 1 }, { id: 2 }, { id: 3 }])
  await here.work()
  await calls.atLeast(1)
  await until(async () => (await job.stats()).busy === 0)
  expect(await job.stats()).toMatchObject({ length: 1, retries: 1, processed: 2, failed: 1 })
  expect((await job.find(2)).waiting).toMatchObject({ retryCount: 0, error: 'two' })
})

test('server middleware runs around each batch, and client middleware around each item', async () => {
  const here = bench()
  const heard: unknown[] = []
  here.hq.server.use(async (ctx, next) => {
    heard.push([ctx.payload.class, ctx.queue, [...(ctx.args[0] as Map<string, unknown>).keys()]])
    return next()
  })
  here.hq.client.use((payload, next) => {
    const [item] = payload.args as [{ id: number; payload?: unknown }]
    if (item.id === 2) return null
    if (item.id === 3) payload.args = [{ ...item, payload: 'changed' }]
    if (item.id === 4) item.payload = 'changed in place'
    return next()
  })
  const { job, calls } = sync(here, { batchSize: 5, queueName: 'sync-users' })
  expect(await job.performAsync([1, 2, 3, 4].map((id) => ({ id, performAt: new Date(1000) })))).toBe(3)
  await here.work()
  await calls.atLeast(1)
  expect(batches(calls)).toEqual([{ 1: [''], 3: ['changed'], 4: ['changed in place'] }])
  expect(heard).toEqual([['Sync', 'sync-users', ['1', '3', '4']]])
})

test('prepare computes id, score and time from the payload', async () => {
  const here = bench()
  const { job } = sync(here, {
    prepare: ({ payload }) => {
      const { user, version } = payload as { user: number; version: number }
      return { id: user, payload: version, score: version, performIn: { minutes: 5 } }
    },
  })
  await job.performAsync([{ payload: { user: 7, version: 2 } }, { payload: { user: 7, version: 1 } }])
  const { items } = await job.waiting.list()
  expect(items).toMatchObject([
    {
      id: '7',
      payloads: [
        { payload: 1, score: 1 },
        { payload: 2, score: 2 },
      ],
    },
  ])
  expect(items[0]?.performIn).toBeCloseTo(here.clock.now() / 1000 + 300, 0)
})

test('a number below 1e9 counts seconds from now, from 1e9 on since 1970, as for other jobs', async () => {
  const here = bench()
  const { job } = sync(here)
  const now = here.clock.now() / 1000
  const cases: [item: Partial<OrderedItem>, due: number][] = [
    [{ performIn: 300 }, now + 300],
    [{ performAt: 300 }, now + 300],
    [{ performIn: 0.5 }, now + 0.5],
    [{ performIn: 0 }, now],
    [{ performIn: -5 }, now],
    [{ performIn: '5m' }, now + 300],
    [{ performIn: 999_999_999 }, now + 999_999_999],
    [{ performIn: 1_000_000_000 }, 1_000_000_000],
    [{ performIn: now + 60 }, now + 60],
    [{ performAt: now + 60 }, now + 60],
    [{ performAt: new Date(now * 1000 + 60_000) }, now + 60],
    [{ performIn: new Date(0) }, 0],
  ]
  await job.performAsync(cases.map(([item], id) => ({ id, ...item })))
  for (const [id, [item, due]] of cases.entries()) {
    const found = await job.waiting.find(id)
    expect(Math.abs((found?.performIn ?? Number.NaN) - due), JSON.stringify(item)).toBeLessThan(10)
  }
})

test.each([
  ['no id', {}, 'INVALID_JOB'],
  ['an empty id', { id: '' }, 'INVALID_JOB'],
  ['a score that is none', { id: 1, score: Number.NaN }, 'INVALID_JOB'],
  ['a score beyond 2^53', { id: 1, score: 2 ** 53 + 2 }, 'INVALID_JOB'],
  ['a time that is none', { id: 1, performIn: 'soon' }, 'INVALID_OPTION'],
  ['milliseconds', { id: 1, performIn: Date.now() }, 'INVALID_OPTION'],
  ['an invalid Date', { id: 1, performAt: new Date('never') }, 'INVALID_OPTION'],
  ['what is not JSON', { id: 1, payload: { at: new Date() } }, 'INVALID_ARGS'],
])('%s: nothing of the call is stored', async (_, wrong, code) => {
  const here = bench()
  const { job } = sync(here)
  await expect(job.performAsync([{ id: 1 }, { id: 2 }, wrong])).rejects.toMatchObject({ code })
  expect((await job.stats()).length).toBe(0)
})

test.each<[OrderedOptions['retryIn'], least: number, most: number]>([
  [300, 300, 300],
  ['5m', 300, 300],
  [{ minutes: 5, jitter: true }, 300, 309],
  [() => ({ minutes: 5 }), 300, 300],
  [() => 'default', 15, 44],
])('retryIn: %j is the delay of an id that failed', async (retryIn, least, most) => {
  const here = bench({ clock: { now: () => 1_764_000_000_000 } })
  const { job } = sync(here, { retryIn }, () => {
    throw new Error('no')
  })
  await job.performAsync({ id: 7 })
  await here.work()
  await until(async () => (await job.stats()).retries === 1)
  const [found] = (await job.waiting.list()).items
  const delay = (found?.performIn ?? 0) - 1_764_000_000
  expect(delay).toBeGreaterThanOrEqual(least)
  expect(delay).toBeLessThanOrEqual(most)
  await here.hq.close()
  expect(here.errors.map(({ error }) => error.message)).toEqual(['no'])
})

test('a retryIn that returns a promise is reported, and the id gets the default delay', async () => {
  const here = bench()
  const { job } = sync(here, { retryIn: (async () => 5) as never }, () => {
    throw new Error('no')
  })
  await job.performAsync({ id: 7 })
  await here.work()
  await until(async () => (await job.stats()).retries === 1)
  expect(here.errors.map(({ error }) => error.message)).toContainEqual(
    expect.stringMatching(/^Sync: retryIn must return .* \(got a promise\); the id gets the default delay$/),
  )
})

test('default scores grow with each push, also within a millisecond', async () => {
  const here = bench({ clock: { now: () => 1_764_000_000_000 } })
  const { job } = sync(here)
  await job.performAsync(Array.from({ length: 250 }, (_, v) => ({ id: 1, payload: v })))
  const found = (await job.waiting.list({ payloads: 300 })).items[0]
  expect(found?.payloads.map(({ payload }) => payload)).toEqual(Array.from({ length: 250 }, (_, v) => v))
})

test.each([
  [{ shards: 0 }, 'Sync: shards must be a whole number, 1 to 1,000 (got 0)'],
  [{ batchSize: 101 }, 'batchSize'],
  [{ maxRetries: -1 }, 'maxRetries'],
  [{ maxPayloads: 1001 }, 'maxPayloads'],
  [{ serial: 'all' }, 'serial'],
  [{ reshard: true }, 'reshard'],
  [{ retryIn: -5 }, 'Sync: retryIn must be a number of seconds, 0 or more, or a duration'],
  [{ retryIn: 'soon' }, '(got "soon")'],
  [{ morgueMax: 'many' }, 'Sync: morgueMax must be a whole number, 0 or more (got "many")'],
  [{ shard: 5 }, 'there is no option shard'],
  [{ queueName: 'a b' }, 'queue name'],
])('%j is refused', (options, says) => {
  const { hq } = bench()
  expect(() => hq.ordered('Sync', options as OrderedOptions, () => {})).toThrow(
    expect.objectContaining({ code: 'INVALID_OPTION', message: expect.stringContaining(says) }),
  )
})

test('a name and a queue can be defined only once', () => {
  const { hq } = bench()
  hq.job('Hard', () => {})
  hq.ordered('Sync', () => {})
  const code = 'DUPLICATE_JOB'
  expect(() => hq.ordered('Sync', () => {})).toThrow(expect.objectContaining({ code }))
  expect(() => hq.ordered('Other', { queueName: 'Sync' }, () => {})).toThrow(expect.objectContaining({ code }))
  expect(() => hq.ordered('Hard', () => {})).toThrow(expect.objectContaining({ code }))
  expect(() => hq.job('Sync', () => {})).toThrow(expect.objectContaining({ code }))
  hq.worker()
  expect(() => hq.ordered('Late', () => {})).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }))
})

test('two workers share the shards, release them after a batch, and release all when they leave', async () => {
  const here = bench()
  const { opened, open } = gate()
  const first = sync(here, { shards: 8 }, () => opened)
  const worker = await here.work({ orderedConcurrency: 8, leaseSeconds: 1 })
  const ownersOf = async () => (await first.job.stats()).shards.map(({ owner }) => owner)
  const count = async (who: { identity: string }) =>
    (await ownersOf()).filter((owner) => owner?.startsWith(who.identity)).length
  await until(async () => (await count(worker)) === 8)
  await first.job.performAsync(Array.from({ length: 40 }, (_, id) => ({ id })))
  await first.calls.atLeast(8)
  const there = here.another()
  const second = sync(there, { shards: 8 })
  const other = await there.work({ orderedConcurrency: 8, leaseSeconds: 1 })
  // Each shard has a batch that runs.
  await new Promise((resolve) => setTimeout(resolve, 100))
  expect(await count(other)).toBe(0)
  open()
  await until(async () => (await count(other)) === 4 && (await count(worker)) === 4)
  await emptied(first.job)
  const ids = [...batches(first.calls), ...batches(second.calls)].flatMap((batch) => Object.keys(batch))
  expect(ids.map(Number).sort((a, b) => a - b)).toEqual(Array.from({ length: 40 }, (_, id) => id))
  await other.stop()
  await until(async () => (await count(worker)) === 8)
  expect(here.errors).toEqual([])
  expect(there.errors).toEqual([])
})

test('pushes within hq.via go to that store', async () => {
  const here = bench()
  const there = bench()
  const { job } = sync(here)
  await here.hq.via(there.hq, () => job.performAsync({ id: 1 }))
  expect(await here.hq.orderedQueues()).toEqual([])
  expect(await there.hq.ordered('Sync').stats()).toMatchObject({ length: 1 })
})

test('a worker waits for a failed id no longer than until its retry', async () => {
  const here = bench()
  const at: number[] = []
  const { job, calls } = sync(here, { retryIn: () => 0.05 }, () => {
    at.push(performance.now())
    if (calls.all.length < 10) throw new Error('again')
  })
  await here.work({ pollInterval: 1 })
  await job.performAsync({ id: 1 })
  await calls.atLeast(10)
  // Asking again and again would take as long as that for each, and half as long again.
  expect((at[9] as number) - (at[0] as number)).toBeLessThan(9000)
})

test('actions on waiting ids affect only those that they name', async () => {
  const here = bench()
  const { job } = sync(here, { retryIn: () => 1000 }, () => {
    throw new Error('no')
  })
  await job.performAsync([{ id: 'f1' }, { id: 'f2' }, { id: 'f3' }])
  const worker = await here.work()
  await until(async () => (await job.stats()).retries === 3)
  await worker.stop()
  await job.performAsync([
    { id: 'later', performIn: '1h', payload: { b: 1, a: 2 } },
    { id: 'later', payload: 2 },
    { id: 'fresh' },
  ])
  expect(await job.waiting.deletePayload('later', { a: 2, b: 1 })).toBe(true)
  expect(await job.waiting.find('later')).toMatchObject({ size: 1, payloads: [{ payload: 2 }] })
  expect(await job.waiting.kill('f1', 'enough')).toBe(1)
  expect(await job.morgue.find('f1')).toMatchObject({ error: 'enough' })
  expect(await job.waiting.killAllFailed()).toBe(2)
  expect(await job.waiting.performAllNow()).toBe(1)
  const now = here.clock.now() / 1000
  expect((await job.waiting.find('later'))?.performIn).toBeLessThanOrEqual(now)
  expect(await job.waiting.delete(['later', 'none'])).toBe(1)
  const { items } = await job.waiting.list({ by: 'performIn', desc: true })
  expect(items.map(({ id }) => id)).toEqual(['fresh'])
  const ids = async (options: object) => (await job.morgue.list(options)).items.map(({ id }) => id)
  expect(await ids({ by: 'id' })).toEqual(['f1', 'f2', 'f3'])
  expect(await ids({ by: 'id', from: 'f2' })).toEqual(['f2', 'f3'])
  expect(await ids({ by: 'id', desc: true, from: 'f2' })).toEqual(['f2', 'f1'])
  const { next } = await job.morgue.list({ by: 'id', limit: 2 })
  expect(await ids({ by: 'id', after: next })).toEqual(['f3'])
})

test('a quiet worker ends its batch, requeues batches that have not started, and leaves', async () => {
  const here = bench()
  const { opened, open } = gate()
  const { job, calls } = sync(here, {}, () => opened)
  await job.performAsync([{ id: 1 }, { id: 2 }, { id: 3 }])
  const worker = await here.work()
  await calls.atLeast(1)
  await worker.quiet()
  await until(async () => {
    const { length, busy } = await job.stats()
    return length === 2 && busy === 1
  })
  open()
  await until(async () => (await job.stats()).shards[0]?.owner === null)
  expect(await job.stats()).toMatchObject({ length: 2, busy: 0, processed: 1 })
  await worker.stop()
  expect(calls.all).toHaveLength(1)
})

test('a quiet worker with a running batch delays no other shard', async () => {
  const here = bench()
  const { opened, open } = gate()
  const first = sync(here, { shards: 6 }, ({ batch }) => (batch.long ? opened : undefined))
  const worker = await here.work({ leaseSeconds: 1 })
  await first.job.performAsync({ id: 'long' })
  await first.calls.atLeast(1)
  const there = here.another()
  const second = sync(there, { shards: 6 })
  const other = await there.work({ leaseSeconds: 1 })
  const owners = async (who: { identity: string }) =>
    (await second.job.stats()).shards.filter(({ owner }) => owner?.startsWith(who.identity)).length
  // The third one of its share may be that of the batch.
  await until(async () => (await owners(other)) >= 2)
  await worker.quiet()
  await until(async () => (await owners(other)) === 5)
  await second.job.performAsync(Array.from({ length: 30 }, (_, id) => ({ id })))
  await until(async () => (await second.job.stats()).processed >= 20)
  open()
  await emptied(second.job)
  expect(await owners(other)).toBe(6)
})

test('a batch that does not end in time is requeued unchanged', async () => {
  const here = bench()
  const reasons = new Collector<string>()
  const { job, calls } = sync(here, {}, ({ ctx }) => {
    ctx.signal.addEventListener('abort', () => reasons.add(ctx.signal.reason.code))
    return new Promise(() => {})
  })
  await job.performAsync({ id: 1, payload: 'v' })
  const worker = await here.work({ timeout: 0.1 })
  await calls.atLeast(1)
  expect(worker.busy).toBe(1)
  await worker.stop()
  expect(reasons.all).toEqual(['SHUTDOWN'])
  expect((await job.find(1)).waiting).toMatchObject({ retryCount: -1, payloads: [{ payload: 'v' }] })
  expect(await job.stats()).toMatchObject({ busy: 0, processed: 0, failed: 0 })
})

test('cancelling removes waiting payloads, drops batches that have not started, and aborts running ones', async () => {
  const here = bench()
  const reasons = new Collector<string>()
  const { job, calls } = sync(here, {}, ({ ctx, batch }) => {
    if (!batch[1]) return
    return new Promise((_, reject) => {
      ctx.signal.addEventListener('abort', () => {
        reasons.add(ctx.signal.reason.code)
        reject(ctx.signal.reason)
      })
    })
  })
  await job.performAsync([
    { id: 1, performAt: new Date(1000) },
    { id: 2, performAt: new Date(2000) },
    { id: 3, performAt: new Date(3000) },
    { id: 4, performIn: '1h' },
  ])
  await here.work()
  await calls.atLeast(1)
  expect(await job.cancel([1, 2, 4, 5])).toEqual(['signalled', 'signalled', 'removed', 'not-found'])
  await reasons.atLeast(1)
  await emptied(job)
  expect(reasons.all).toEqual(['JOB_CANCELLED'])
  expect(batches(calls)).toEqual([{ 1: [''] }, { 3: [''] }])
  expect(await job.stats()).toMatchObject({ processed: 1, failed: 0 })
})

test('no batch starts while the queue is paused', async () => {
  const here = bench()
  const { job, calls } = sync(here)
  await job.performAsync({ id: 1 })
  await job.pause()
  await here.work({ pollInterval: 1 })
  await until(async () => (await job.stats()).shards[0]?.owner)
  await job.performAsync({ id: 2 })
  expect((await job.stats()).paused).toBe(true)
  let waits = 0
  const { store } = here.hq
  const wait = store.ordered.wait.bind(store.ordered)
  store.ordered.wait = (...about) => {
    waits++
    return wait(...about)
  }
  await new Promise((resolve) => setTimeout(resolve, 200))
  expect(calls.all).toEqual([])
  expect(waits).toBeLessThan(20)
  await job.resume()
  await calls.atLeast(2)
})

test('the number of shards changes while pushes and batches continue', async () => {
  const here = bench()
  const seen = new Map<string, number[]>()
  const { job } = sync(here, { shards: 3, batchSize: 4 }, ({ batch }) => {
    for (const [id, payloads] of Object.entries(batch)) {
      seen.set(id, [...(seen.get(id) ?? []), ...(payloads as number[])])
    }
  })
  const items = (v: number) => Array.from({ length: 100 }, (_, id) => ({ id, payload: v, score: v }))
  await job.performAsync(items(1))
  await here.work({ leaseSeconds: 1 })
  await Promise.all([job.reshard(7), job.performAsync(items(2))])
  await job.performAsync(items(3))
  await job.reshard(2)
  await emptied(job)
  await until(async () => (await job.stats()).shards.length === 2)
  expect(seen.size).toBe(100)
  for (const payloads of seen.values()) expect(payloads).toEqual([1, 2, 3])
  expect(here.errors).toEqual([])
})

test('a definition with another number of shards is warned of, and applied with reshard: auto', async () => {
  const here = bench()
  sync(here, { shards: 3 })
  const worker = await here.work()
  await until(async () => (await here.hq.ordered('Sync').stats()).shards.length === 3)
  await worker.stop()
  const other = here.another()
  sync(other, { shards: 4 })
  await other.work()
  await until(() =>
    other.log.lines.some(({ level, message }) => level === 'warn' && /has 3 shards, not 4/.test(message)),
  )
  const third = here.another()
  const { job } = sync(third, { shards: 4, reshard: 'auto' })
  await third.work()
  await until(async () => (await job.stats()).shards.length === 4)
})

test('with serial id, batches of one shard run in parallel, and never two of one id', async () => {
  const here = bench()
  const { opened, open } = gate()
  const { job, calls } = sync(here, { serial: 'id' }, () => opened)
  await job.performAsync([{ id: 1 }, { id: 2 }, { id: 3 }])
  await here.work({ orderedConcurrency: 2 })
  await calls.atLeast(2)
  await job.performAsync({ id: 1, payload: 'again' })
  expect(batches(calls)).toEqual([{ 1: [''] }, { 2: [''] }])
  open()
  await calls.atLeast(4)
  expect(batches(calls).slice(2)).toEqual([{ 3: [''] }, { 1: ['again'] }])
})

test('a splitter assigns shards to a process by hand', async () => {
  const here = bench()
  const { job } = sync(here, { shards: 4 })
  const worker = await here.work({ splitter: { nodes: 2, node: 1 } })
  await until(async () => (await job.stats()).shards.filter(({ owner }) => owner).length === 2)
  const { shards } = await job.stats()
  expect(shards.map(({ owner }) => owner?.startsWith(worker.identity) ?? false)).toEqual([false, true, false, true])
})

test('dead ids are resurrected or deleted', async () => {
  const here = bench()
  let broken = true
  const { job, calls } = sync(here, { maxRetries: 0 }, () => {
    if (broken) throw new Error('broken')
  })
  await job.performAsync([1, 2, 3].map((id) => ({ id })))
  await here.work()
  await until(async () => (await job.stats()).morgueLength === 3)
  expect((await job.morgue.list({ by: 'id', limit: 2 })).items.map(({ id }) => id)).toEqual(['1', '2'])
  broken = false
  expect(await job.morgue.delete(2)).toBe(1)
  expect(await job.morgue.resurrect('all')).toBe(2)
  await calls.atLeast(5)
  await emptied(job)
  expect(await job.stats()).toMatchObject({ morgueLength: 0, processed: 2, failed: 3 })
})

test('the stats of an app show its ordered queues', async () => {
  const here = bench()
  const { job } = sync(here)
  await job.performAsync([{ id: 1, performIn: here.clock.now() / 1000 - 60 }, { id: 2 }])
  const { ordered } = await here.hq.stats()
  expect(ordered.queues).toEqual({ Sync: { length: 2, morgueLength: 0, lag: expect.closeTo(60, 0) } })
  expect(ordered.total).toEqual(ordered.queues.Sync)
  expect(await here.hq.orderedQueues()).toEqual(['Sync'])
})

test('the context has a fence, and the name, shard and number of the batch', async () => {
  const here = bench()
  const { job, calls } = sync(here, { shards: 3 })
  await job.performAsync({ id: 'x', payload: 1, score: 5, performAt: new Date(9000) })
  await here.work()
  const [call] = await calls.atLeast(1)
  const { ctx } = call as Call
  expect(ctx.fence).toBeGreaterThan(0)
  expect(ctx.ordered).toMatchObject({ name: 'Sync', shard: expect.any(Number) })
  expect(ctx.ordered.batch).toEqual([
    { id: 'x', payloads: [{ payload: 1, score: 5 }], performIn: 9, retryCount: -1, error: null },
  ])
  expect(() => ctx.fail('y', new Error('x'))).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }))
})
