import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test, vi } from 'vitest'
import { bench, Collector, gate, storeOfSuite, until } from './bench.ts'

test('no more jobs run than the limit allows, on two workers, and all of them run in the end, in their order', async () => {
  const t = bench()
  const other = bench({ url: t.url })
  const ended = new Collector<number>()
  let running = 0
  let most = 0
  const handler = async (_: unknown, n: number) => {
    most = Math.max(most, ++running)
    await new Promise((resolve) => setImmediate(resolve))
    running--
    ended.add(n)
  }
  for (const { hq } of [t, other]) hq.job('Limited', { limit: { concurrency: 2 } }, handler)
  for (let n = 0; n < 60; n++) await t.hq.push({ class: 'Limited', args: [n] })
  await Promise.all([t.work({ concurrency: 5 }), other.work({ concurrency: 5 })])
  expect([...(await ended.atLeast(60))].sort((a, b) => a - b)).toEqual(Array.from({ length: 60 }, (_, n) => n))
  expect(most).toBe(2)
  await until(async () => (await t.hq.store.limits.list()).length === 0)
  expect(await t.hq.store.metrics.totals()).toMatchObject({ processed: 60, failed: 0, dead: 0 })
})

test('a job that waits for room in its limit holds no slot of the worker and burns no retry, and hq.find finds it', async () => {
  const t = bench()
  const [began, ended] = [new Collector<unknown>(), new Collector<unknown>()]
  const { opened, open } = gate()
  const Limited = t.hq.job(
    'Limited',
    { limit: { concurrency: 1, by: (tenant: string) => tenant } },
    async (ctx, key) => {
      began.add(key)
      if (key === 'a') await opened
      ended.add([key, ctx.attempt])
    },
  )
  await t.work({ concurrency: 2 })
  await Limited.performAsync('a')
  await began.atLeast(1)
  const waiting = [await Limited.performAsync('a'), await Limited.performAsync('a')] as [string, string]
  await until(async () => (await t.hq.find(waiting[1])).state === 'limited')
  expect(await t.hq.store.limits.list()).toMatchObject([{ name: 'job:Limited:a', max: 1, used: 1, waiting: 2 }])
  await Limited.performAsync('b')
  await ended.atLeast(1)
  expect(ended.all).toEqual([['b', 1]])
  open()
  await ended.atLeast(4)
  expect(ended.all.slice(1)).toEqual([
    ['a', 1],
    ['a', 1],
    ['a', 1],
  ])
})

test("limited jobs that were fetched with one that can't start run once", async () => {
  const t = bench()
  const [ran, { opened, open }] = [new Collector<number>(), gate()]
  t.hq.job('Limited', { limit: { concurrency: 20 }, retry: 0 }, async (_, n: number) => {
    ran.add(n)
    await opened
  })
  for (const [n, jid] of ['a', 'b', { toString: 1 }, 'c'].entries()) {
    await t.raw(JSON.stringify({ class: 'Limited', args: [n], jid }))
  }
  await t.work({ concurrency: 20 })
  await ran.atLeast(3)
  await until(async () => (await t.set('dead')).length === 1)
  open()
  await t.settled()
  expect(ran.all.toSorted()).toEqual([0, 1, 3])
})

test('a failed attempt frees its slot', async () => {
  const t = bench()
  const ran = new Collector<number>()
  t.hq.job('Limited', { limit: { concurrency: 1 }, retry: 0 }, async (_, n: number) => {
    ran.add(n)
    if (n === 0) throw new Error('x')
  })
  for (const n of [0, 1, 2]) await t.hq.push({ class: 'Limited', args: [n] })
  await t.work({ concurrency: 3 })
  await ran.atLeast(3)
  await until(async () => (await t.hq.store.limits.list()).length === 0)
})

test('a job whose key is not a text or number fails and frees its slot', async () => {
  const t = bench()
  const deaths = new Collector<string>()
  t.hq.onDeath((_, error) => deaths.add((error as Error).message))
  t.hq.job('J', { limit: { concurrency: 1, by: () => '' }, retry: 0 }, async () => {})
  await t.hq.push({ class: 'J', args: [] })
  await t.work()
  const message = 'J: limit.by must return a number or a string of 1 to 200 characters (got "")'
  expect(await deaths.atLeast(1)).toEqual([message])
  await until(async () => (await t.hq.store.jobSets.size('dead')) === 1)
})

test('wrong options of a limit are refused with what is right', () => {
  const t = bench()
  const define = (limit: unknown) => () => t.hq.job('J', { limit } as never, async () => {})
  expect(define({})).toThrow('J: limit needs concurrency, the number of jobs that run at the same time')
  expect(define({ concurrency: 0 })).toThrow('J: limit: concurrency must be a whole number above 0 (got 0)')
  expect(define({ concurrency: 1, max: 1 })).toThrow('J: limit: there is no option max')
  expect(define({ concurrency: 1, per: 1 })).toThrow('J: limit needs rate and per together')
  expect(define({ rate: 1 })).toThrow('J: limit needs rate and per together')
  expect(define({ rate: 1.5, per: '1s' })).toThrow('J: limit: rate must be a whole number above 0 (got 1.5)')
  expect(define({ rate: 1, per: 'soon' })).toThrow('J: limit: per must be a time from 1 ms to 366 days')
  expect(define({ rate: 1, per: 60_000 })).toThrow('seconds (not milliseconds) up to 3,600')
  expect(t.hq.job('Long', { limit: { rate: 1, per: '2h' } }, async () => {}).name).toBe('Long')
  expect(define({ rate: 20_001, per: 2 })).toThrow('J: limit: rate must be at most 10,000 jobs in a second')
  expect(define({ concurrency: 1, burst: 2 })).toThrow('J: limit: burst needs a rate')
  expect(define({ concurrency: 1, window: 'fixed' })).toThrow('J: limit: window needs a rate')
  expect(define({ rate: 1, per: 1, window: 'calm' })).toThrow("J: limit: window must be one of 'fixed', 'sliding'")
  expect(define({ rate: 1, per: 1, window: 'fixed', burst: 2 })).toThrow('J: limit: burst has no meaning with a window')
  expect(define(5)).toThrow('J: limit must be an object, or a list of limits (got 5)')
  expect(define({ concurrency: 1, by: 'x' })).toThrow('J: limit: by must be a function (got "x")')
})

test('the slot of a worker is free once its lease was claimed, and the jobs that waited for it run in their order', async () => {
  const t = bench()
  const ran = new Collector<number>()
  t.hq.job('Long', { limit: { concurrency: 1 } }, async (_, n: number) => ran.add(n))
  await t.hq.store.workers.join('lost', { queues: ['other'], seconds: 1, host: 'elsewhere\n1\n1' })
  const limits = [{ name: 'job:Long', max: 1, count: 0, per: 0, burst: 1, window: 'smooth' }] as const
  expect(await t.hq.store.limits.acquire('lost', [{ ticket: '1', limits }])).toEqual([{ over: null, ms: 0 }])
  for (const n of [1, 2]) await t.hq.push({ class: 'Long', args: [n] })
  await t.work({ leaseSeconds: 1 })
  await until(async () => (await t.hq.store.jobSets.size('limited:job:Long')) === 2)
  expect(ran.all).toEqual([])
  expect(await ran.atLeast(2)).toEqual([1, 2])
  await until(async () => (await t.hq.store.limits.list()).length === 0)
})

test('a rate spaces its jobs on two workers, and a job over it waits in the store without a slot of the worker', async () => {
  const t = bench()
  const other = bench({ url: t.url })
  const starts = new Collector<number>()
  for (const { hq } of [t, other]) {
    hq.job('Spaced', { limit: { rate: 10, per: '1s' } }, async () => starts.add(performance.now()))
    hq.job('Plain', async () => {})
  }
  for (let n = 0; n < 8; n++) await t.hq.push({ class: 'Spaced', args: [] })
  const began = performance.now()
  await Promise.all([t.work({ concurrency: 2 }), other.work({ concurrency: 2 })])
  await until(async () => (await t.hq.store.jobSets.size('limited:job:Spaced')) > 0)
  // A start may be late, but no job starts before its time.
  for (const [i, time] of (await starts.atLeast(8)).entries()) expect(time - began).toBeGreaterThan(i * 100 - 2)
  await until(async () => (await t.hq.store.metrics.totals()).processed === 8)
  expect(await t.hq.store.metrics.totals()).toMatchObject({ failed: 0, retries: 0, dead: 0 })
  await until(async () => (await t.hq.store.limits.list()).length === 0)
})

test('jobs over a window wait until it has ended, and those of other keys run', async () => {
  const t = bench()
  const ran = new Collector<string>()
  const limit = { rate: 2, per: '1s', window: 'fixed', by: (key: string) => key } as const
  t.hq.job('Counted', { limit }, async (_, key: string) => ran.add(key))
  for (const key of 'aaaaabb') await t.hq.push({ class: 'Counted', args: [key] })
  await t.work({ concurrency: 3 })
  expect([...(await ran.atLeast(4))].sort().join('')).toBe('aabb')
  expect((await ran.atLeast(7)).slice(4).join('')).toBe('aaa')
})

test('jobs that wait for room in their limit are not moved into a paused queue', async () => {
  const t = bench()
  const ran = new Collector<number>()
  const { opened, open } = gate()
  t.hq.job('Limited', { limit: { concurrency: 1 } }, async (_, n: number) => {
    ran.add(n)
    if (n === 0) await opened
  })
  for (const n of [0, 1, 2]) await t.hq.push({ class: 'Limited', args: [n] })
  await t.work()
  await until(async () => (await t.hq.store.jobSets.size('limited:job:Limited')) === 2)
  await t.hq.queue('default').pause()
  open()
  await until(async () => (await t.hq.store.limits.list())[0]?.used === 0)
  await until(async () => ((await t.hq.store.limits.due(1)).nextMs ?? 0) > 500)
  expect(await t.hq.store.jobSets.size('limited:job:Limited')).toBe(2)
  await t.hq.queue('default').resume()
  expect(await ran.atLeast(3)).toEqual([0, 1, 2])
})

test('a job that waits for room in its limit is cancelled at once, and never runs', async () => {
  const t = bench()
  const ended = new Collector<number>()
  const { opened, open } = gate()
  const Limited = t.hq.job('Limited', { limit: { concurrency: 1 } }, async (_ctx, n: number) => {
    await opened
    ended.add(n)
  })
  await t.work({ concurrency: 2 })
  await Limited.performAsync(1)
  const waiting = (await Limited.performAsync(2)) as string
  await until(async () => (await t.hq.find(waiting)).state === 'limited')
  expect(await t.hq.cancel(waiting)).toBe('removed')
  await Limited.performAsync(3)
  open()
  expect((await ended.atLeast(2)).sort()).toEqual([1, 3])
  expect((await t.hq.find(waiting)).state).toBe('unknown')
})

test('a job that expires while it waits for room in its limit lets the next one start at once', async () => {
  const t = bench()
  const { opened, open } = gate()
  const ran = new Collector<number>()
  const Limited = t.hq.job('Limited', { limit: { concurrency: 1 } }, async (_ctx, n: number) => {
    ran.add(n)
    await opened
  })
  await t.work({ concurrency: 2 })
  await Limited.performAsync(1)
  await ran.atLeast(1)
  for (let n = 0; n < 30; n++) await Limited.set({ expiresIn: 60 }).performAsync(0)
  await Limited.performAsync(2)
  await until(async () => (await t.hq.store.jobSets.size('limited:job:Limited')) === 31)
  t.clock.ahead = 100
  open()
  expect(await ran.atLeast(2)).toEqual([1, 2])
})

test('many jobs of one key cost few calls of the store before the first job of another key starts', async () => {
  const t = bench()
  const { opened, open } = gate()
  const others = new Collector<string>()
  const limit = { concurrency: 1, by: (key: string) => key }
  const Keyed = t.hq.job('Keyed', { limit }, async (_ctx, key: string) => {
    if (key === 'a') await opened
    else others.add(key)
  })
  await Keyed.performBulk([...Array.from({ length: 1000 }, () => ['a'] as [string]), ['b']])
  let calls = 0
  const { limits } = t.hq.store
  const { acquire } = limits
  limits.acquire = (...request) => {
    calls++
    return acquire.call(limits, ...request)
  }
  await t.work({ concurrency: 2 })
  await others.atLeast(1)
  expect(calls).toBeLessThan(200)
  open()
})

test('a job that waits for room in its limit is counted, edited, duplicated and cleared with its queue', async () => {
  const t = bench()
  const { opened, open } = gate()
  const ran = new Collector<number>()
  const Limited = t.hq.job('Limited', { limit: { concurrency: 1 } }, async (_ctx, n: number) => {
    ran.add(n)
    await opened
  })
  await t.work({ queues: ['default', 'other'], concurrency: 2 })
  await Limited.performAsync(1)
  await ran.atLeast(1)
  const jids = [await Limited.performAsync(2), await Limited.set({ queue: 'other' }).performAsync(3)] as [
    string,
    string,
  ]
  await until(async () => (await t.hq.stats()).limited === 2)
  expect(await t.hq.stats()).toMatchObject({ enqueued: 0, busy: 1 })
  expect(await t.hq.edit(jids[0], [20])).toBe(true)
  expect(await t.hq.duplicate(jids[1])).toMatch(/./)
  await until(async () => (await t.hq.stats()).limited === 3)
  expect((await t.hq.find(jids[0])).payload?.args).toEqual([20])
  expect(await t.hq.queue('other').clear()).toBe(2)
  expect((await t.hq.stats()).limited).toBe(1)
  open()
  expect(await ran.atLeast(2)).toEqual([1, 20])
})

test("a dead set that the worker can't prune does not keep the slots of dead workers used", async () => {
  const t = bench()
  const { jobSets, limits } = t.hq.store
  await t.hq.store.workers.join('gone', { queues: ['q'], seconds: 600, host: 'elsewhere\n1\n1' })
  const limit = { name: 'job:J', max: 1, count: 0, per: 0, burst: 1, window: 'smooth' } as const
  await limits.acquire('gone', [{ ticket: '1', limits: [limit] }])
  await t.hq.store.workers.claim('gone')
  const [reported, released] = [new Collector<string>(), new Collector<true>()]
  t.hq.onError((error) => reported.add((error as Error).message))
  jobSets.prune = () => Promise.reject(new Error('no prune'))
  const { releaseOrphanedSlots } = limits
  limits.releaseOrphanedSlots = async () => {
    await releaseOrphanedSlots.call(limits)
    released.add(true)
  }
  await t.work()
  await released.atLeast(1)
  expect(await reported.atLeast(1)).toEqual(['no prune'])
})

// With two calls at the same time. PostgreSQL takes one, because its connections keep no order.
test.runIf(storeOfSuite() !== 'PostgreSQL')(
  'limited jobs start in their order after the store could not be asked about their limits',
  async () => {
    const t = bench()
    const JOBS = 60
    const ran = new Collector<number>()
    const Limited = t.hq.job('Limited', { limit: { concurrency: JOBS } }, async (_, n: number) => ran.add(n))
    await Limited.performBulk(Array.from({ length: JOBS }, (_, n): [number] => [n]))
    // A call has room for half of the settlements.
    Object.defineProperty(t.hq.store, 'maxConcurrentCalls', { value: 2 })
    const { limits } = t.hq.store
    const acquire = limits.acquire.bind(limits)
    let asked = 0
    limits.acquire = (owner, attempts) => {
      if (asked === JOBS) return acquire(owner, attempts)
      asked += attempts.length
      return Promise.reject(new Error('no answer'))
    }
    await t.work({ concurrency: JOBS })
    expect(await ran.atLeast(JOBS)).toEqual(Array.from({ length: JOBS }, (_, n) => n))
    expect(t.errors.map(({ error }) => (error as Error).message)).toContain('no answer')
  },
)

test("limited jobs keep their order when a worker becomes quiet while the store can't be asked about their limits", async () => {
  const t = bench()
  const JOBS = 20
  const Limited = t.hq.job('Limited', { limit: { concurrency: JOBS } }, async (_, _n: number) => {})
  await Limited.performBulk(Array.from({ length: JOBS }, (_, n): [number] => [n]))
  const asked = gate()
  t.hq.store.limits.acquire = async () => {
    asked.open()
    await worker.quiet()
    throw new Error('no answer')
  }
  const worker = await t.work({ concurrency: JOBS })
  await asked.opened
  await until(async () => worker.busy === 0)
  await worker.stop()
  expect((await t.queue()).map(({ args }) => args[0])).toEqual(Array.from({ length: JOBS }, (_, n) => n))
})

test('more than a hundred waiting jobs that have room at once move once, and run in their order', async () => {
  const t = bench()
  const ran = new Collector<number>()
  const limit = { rate: 1, per: '1h', window: 'fixed' } as const
  const Counted = t.hq.job('Counted', { limit }, async (_, n: number) => {
    await sleep(2)
    ran.add(n)
  })
  for (let first = 0; first < 400; first += 50) {
    await Counted.performBulk(Array.from({ length: 50 }, (_, i): [number] => [first + i]))
    // Jobs wait in the order of their times.
    t.clock.ahead += 0.01
  }
  await t.work({ concurrency: 2 })
  await until(async () => (await t.hq.stats()).limited === 399)
  const moves = vi.spyOn(t.hq.store.jobSets, 'swap')
  await t.hq.limits.set('job:Counted', { rate: 250, per: '1h' })
  expect((await ran.atLeast(250)).toSorted((a, b) => a - b)).toEqual(Array.from({ length: 250 }, (_, n) => n))
  expect(moves.mock.calls.flatMap(([, swaps]) => swaps)).toHaveLength(249)
})

test('a worker moves long jobs that have room a hundred at a time', async () => {
  const t = bench()
  const Long = t.hq.job('Long', { limit: { rate: 1, per: '1h', window: 'fixed' } }, async (_, _text: string) => {})
  const text = 'x'.repeat(100_000)
  await Long.performBulk(Array.from({ length: 150 }, (): [string] => [text]))
  await t.work({ concurrency: 5 })
  await until(async () => (await t.hq.stats()).limited === 149)
  const moves = vi.spyOn(t.hq.store.jobSets, 'swap')
  await t.hq.limits.set('job:Long', { rate: 1000, per: '1h' })
  await until(async () => moves.mock.calls.length > 0 && ((await t.hq.store.limits.due(0)).nextMs ?? 0) > 1000)
  expect(moves.mock.calls.map(([, swaps]) => swaps.length)).toEqual([100])
  expect((await t.hq.store.limits.due(0)).nextMs).toBeLessThanOrEqual(5000)
})
