import { BusinessFailure, Discard, HighkiqError, type JobOptions, Kill, type SetEntry } from 'highkiq'
import { expect, test } from 'vitest'
import { type Bench, bench, Collector, gate, promptly, until } from './bench.ts'

const KEPT: JobOptions = { keepResult: 60 }

test.each([[undefined], [null], [0], ['text'], [{ a: [1, { b: false }] }], [2n ** 60n]])(
  'hq.result returns what the handler returned (%o), now and later',
  async (value) => {
    const { hq, work, settled } = bench()
    const J = hq.job('J', KEPT, async () => value)
    const jid = (await J.performAsync()) as string
    const waiting = hq.result(jid)
    await work()
    expect(await waiting).toEqual(value)
    await settled()
    expect(await hq.result(jid, { timeout: 0 })).toEqual(value)
  },
)

test('hq.result accepts a job as its argument, and an error names a wrong option', async () => {
  const { hq, work } = bench()
  const J = hq.job('J', KEPT, async (_ctx, n: number) => n)
  const jid = await J.performAsync(7)
  await work()
  expect(await hq.result(J, jid)).toBe(7)
  expect(await hq.result(J.set({ queue: 'mail' }), String(jid), { timeout: 1 })).toBe(7)
  await expect(hq.result(J, null)).rejects.toMatchObject({ code: 'NO_RESULT' })
  for (const [call, words] of [
    [() => hq.result(jid, { timout: 5 } as object), 'hq.result: there is no option timout; did you mean timeout'],
    [() => hq.result(J, jid, { timeout: -1 }), 'timeout must be a number of seconds, 0 or more (got -1)'],
    [() => hq.result(J, undefined as never), 'hq.result: a jid must be a string (got undefined)'],
    [() => hq.result({ name: 'J' } as never, jid), 'hq.result: a jid must be a string (got an object)'],
  ] as const) {
    await expect(call()).rejects.toMatchObject({ code: 'INVALID_OPTION', message: expect.stringContaining(words) })
  }
})

test('hq.result waits for a result, also of another process, until its timeout', async () => {
  const t = bench()
  const { opened, open } = gate()
  const J = t.hq.job('J', KEPT, async () => {
    await opened
    return 7
  })
  const jid = (await J.performAsync()) as string
  await t.work()
  const ended = expect(t.hq.result(jid, { timeout: 0.1 })).rejects.toMatchObject({
    code: 'NO_RESULT',
    details: { jid },
  })
  await promptly(0.2, ended)
  const waiting = t.another().hq.result<number>(jid)
  open()
  expect(await waiting).toBe(7)
})

test('a push that client middleware stopped has no result', async () => {
  const { hq } = bench()
  hq.client.use(() => null)
  const jid = await hq.job('J', KEPT, async () => 5).performAsync()
  await expect(hq.result(jid)).rejects.toMatchObject({ code: 'NO_RESULT', message: /stopped the push/ })
})

test('hq.result times out for an unknown job and for a job without keepResult', async () => {
  const { hq, work, settled } = bench()
  const jid = (await hq.job('J', async () => 5).performAsync()) as string
  await work()
  await settled()
  for (const id of [jid, 'unknown']) {
    await expect(hq.result(id, { timeout: 0.05 })).rejects.toMatchObject({ code: 'NO_RESULT' })
  }
  const signal = AbortSignal.timeout(50)
  await expect(hq.result(jid, { signal })).rejects.toMatchObject({ name: 'TimeoutError' })
})

test('hq.result with a job that has no keepResult rejects at once, unless another process has kept a result', async () => {
  const t = bench()
  const J = t.hq.job('J', async () => 5)
  const jid = String(await J.performAsync())
  const refused = {
    code: 'NO_RESULT',
    message: expect.stringContaining('J keeps none; a job keeps one that says keepResult'),
  }
  await promptly(1, expect(t.hq.result(J, jid)).rejects.toMatchObject(refused))
  const other = t.another()
  other.hq.job('J', KEPT, async () => 7)
  await other.work()
  expect(await other.hq.result(jid)).toBe(7)
  expect(await t.hq.result(J.set({ queue: 'mail' }), jid)).toBe(7)
})

test.each<[string, unknown, JobOptions, object]>([
  ['exhausted its retries', new TypeError('broken'), { retry: 0 }, { class: 'TypeError', message: 'broken' }],
  ['is not retried', new Error('broken'), { retry: false }, { class: 'Error', message: 'broken' }],
  ['was killed', new Kill('hopeless'), {}, { class: 'Kill', message: 'hopeless' }],
  ['was discarded', new Discard('old'), {}, { class: 'Discard', message: 'old' }],
  ['was refused', new BusinessFailure('no price', { code: 'price' }), {}, { message: 'no price', code: 'price' }],
])('a job that %s has failed, and says why', async (_, error, options, details) => {
  const { hq, work } = bench()
  const J = hq.job('J', { ...KEPT, ...options }, async () => {
    throw error
  })
  const jid = (await J.performAsync()) as string
  await work()
  const thrown = await hq.result(jid).then(
    () => expect.unreachable(),
    (one: Error) => one,
  )
  expect(thrown).toMatchObject({ code: 'JOB_FAILED', status: 422, details: { jid, ...details } })
  expect(thrown.message).toContain((error as Error).message)
})

test('hq.result rejects for a job that was cancelled before or during its run, or expired', async () => {
  const { hq, work, clock } = bench()
  const began = new Collector<string>()
  const J = hq.job('J', { ...KEPT, expiresIn: 60 }, async (ctx, name: string) => {
    began.add(name)
    await new Promise((_, reject) => ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason)))
  })
  const late = (await J.performAsync('late')) as string
  clock.ahead = 100
  const running = (await J.performAsync('running')) as string
  const cancelled = (await J.performAsync('cancelled')) as string
  await hq.store.cancellations.request(cancelled, clock.now())
  await work()
  await began.atLeast(1)
  expect(await hq.cancel(running)).toBe('signalled')
  for (const [jid, code] of [
    [late, 'JOB_EXPIRED'],
    [running, 'JOB_CANCELLED'],
    [cancelled, 'JOB_CANCELLED'],
  ] as const) {
    await expect(hq.result(jid)).rejects.toMatchObject({ code: 'JOB_FAILED', details: { jid, code } })
  }
  expect(began.all).toEqual(['running'])
})

test.each<[string, string, (t: Bench, jid: string) => Promise<unknown>]>([
  ['cancelled', 'JOB_CANCELLED', ({ hq }, jid) => hq.cancel(jid)],
  ['deleted', 'JOB_DELETED', async ({ hq }, jid) => ((await hq.find(jid)).job as SetEntry).delete()],
  ['killed', 'JOB_KILLED', async ({ hq }, jid) => ((await hq.find(jid)).job as SetEntry).kill()],
])('who waits for the result of a job that is %s while it waits hears of it', async (_, code, end) => {
  const t = bench()
  const J = t.hq.job('J', KEPT, async () => 1)
  for (const queued of [true, false]) {
    if (queued && code === 'JOB_KILLED') continue
    const jid = (await (queued ? J.performAsync() : J.performIn(60))) as string
    // Collector at once: it may end before the call that ends it does.
    const failure = { code: 'JOB_FAILED', details: { jid, code } }
    const waiting = expect(t.another().hq.result(jid)).rejects.toMatchObject(failure)
    await end(t, jid)
    await waiting
  }
})

test('a waiting hq.result rejects when the job is dropped while it is due', async () => {
  const t = bench()
  const J = t.hq.job('J', { ...KEPT, expiresIn: 5 }, async () => 1)
  const jid = (await J.performIn(60)) as string
  const cancelled = (await J.performIn(62)) as string
  await t.hq.store.cancellations.request(cancelled, t.clock.now())
  t.clock.ahead = 66.5
  await t.work()
  await expect(t.hq.result(jid)).rejects.toMatchObject({ details: { jid, code: 'JOB_EXPIRED' } })
  await expect(t.hq.result(cancelled)).rejects.toMatchObject({ details: { jid: cancelled, code: 'JOB_CANCELLED' } })
})

test.each<[string, 'fail' | 'wait', string]>([
  ['died of a child', 'fail', 'ChildFailed'],
  ['was cancelled', 'fail', 'JOB_CANCELLED'],
  ['had only dead children and was cancelled', 'wait', 'JOB_CANCELLED'],
])('hq.result rejects at once, and later, for a flow that %s', async (_, onChildFailure, why) => {
  const t = bench()
  const Parent = t.hq.job('Parent', KEPT, () => 1)
  const Child = t.hq.job('Child', { retry: 0 }, () => {
    throw new Error('no')
  })
  // The outer parent waits, so that its end follows from that of a nested one.
  const inner = { job: Parent, children: [{ job: Child }], onChildFailure }
  const flow = await t.hq.flow({ job: Parent, children: [inner], onChildFailure })
  const { jid, bid } = flow as { jid: string; bid: string }
  const details = why === 'ChildFailed' ? { jid, class: why } : { jid, code: why }
  const waiting = expect(t.another().hq.result(jid)).rejects.toMatchObject({ code: 'JOB_FAILED', details })
  if (why === 'ChildFailed' || onChildFailure === 'wait') {
    await t.work()
    await until(async () => (await t.set('dead')).length > 0)
    await t.settled()
  }
  if (why === 'JOB_CANCELLED') await t.hq.batches.cancel(bid)
  await waiting
  await expect(t.hq.result(jid, { timeout: 0 })).rejects.toMatchObject({ code: 'JOB_FAILED', details })
})

test('hq.result waits through a failure that is retried', async () => {
  const { hq, work, clock } = bench()
  const J = hq.job('J', KEPT, async (ctx) => {
    if (ctx.attempt === 1) throw new Error('again')
    return ctx.attempt
  })
  const jid = (await J.performAsync()) as string
  await work()
  await until(async () => (await hq.store.jobSets.size('retry')) === 1)
  await expect(hq.result(jid, { timeout: 0 })).rejects.toMatchObject({ code: 'NO_RESULT' })
  clock.ahead = 16
  expect(await hq.result(jid)).toBe(2)
})

test.each<[string, () => unknown, RegExp]>([
  ['larger than 16 kB', () => 'é'.repeat(8192), /larger than 16384 bytes/],
  [
    'no JSON',
    () => {
      const circle: Record<string, unknown> = {}
      circle.circle = circle
      return circle
    },
    /not JSON/,
  ],
])(
  'a result that is %s is not kept: the job is done, a warning is logged, and a waiting hq.result rejects',
  async (_, make, why) => {
    const { hq, work, settled, log } = bench()
    const J = hq.job('J', KEPT, async () => make())
    const jid = (await J.performAsync()) as string
    await work()
    await expect(hq.result(jid)).rejects.toMatchObject({ code: 'NO_RESULT', message: expect.stringMatching(why) })
    await settled()
    expect(await hq.stats()).toMatchObject({ processed: 1, failed: 0 })
    expect(log.lines).toContainEqual(
      expect.objectContaining({ level: 'warn', about: { jid, class: 'J' }, message: expect.stringMatching(why) }),
    )
  },
)

test('a result is stored before its job is settled', async () => {
  const { hq, work, settled } = bench()
  const J = hq.job('J', KEPT, async () => 1)
  const { store } = hq
  const keep = store.results.keep.bind(store.results)
  const seen: unknown[] = []
  store.results.keep = async (...about) => {
    await keep(...about)
    // Who did not wait for this would have settled by then.
    await new Promise((resolve) => setTimeout(resolve, 200))
    const { fetched: taken, processed } = await store.metrics.totals()
    seen.push([taken, processed])
  }
  await J.performAsync()
  await work()
  await settled()
  expect(seen).toEqual([[1, 0]])
})

test('while the store does not answer a result waits, and its handler does not run again', async () => {
  const { hq, work, settled } = bench()
  const ran = new Collector<number>()
  const J = hq.job('J', KEPT, async () => {
    ran.add(1)
    return 'kept'
  })
  const { store } = hq
  const keep = store.results.keep.bind(store.results)
  let refusals = 0
  store.results.keep = async (...about) => {
    if (++refusals <= 3) throw new HighkiqError('STORE_UNREACHABLE', 'away')
    return keep(...about)
  }
  const jid = (await J.performAsync()) as string
  await work()
  expect(await hq.result(jid)).toBe('kept')
  await settled()
  expect(ran.all).toHaveLength(1)
})

test('a result that the store refuses is reported, and its job is done', async () => {
  const { hq, work, settled, errors } = bench()
  const J = hq.job('J', KEPT, async () => 'lost')
  hq.store.results.keep = async () => {
    throw new HighkiqError('STORE_FULL', 'full')
  }
  const jid = await J.performAsync()
  await work()
  await settled()
  expect(errors).toMatchObject([{ error: { code: 'STORE_FULL' }, about: { jid, during: 'keeping a result' } }])
  expect(await hq.stats()).toMatchObject({ processed: 1, failed: 0 })
})

test('hq.result rejects for a job whose process crashed too often', async () => {
  const { hq, work, raw } = bench()
  hq.job('J', KEPT, () => 'never')
  await raw('{"class":"J","args":[],"jid":"victim","retry":true,"hk_crashes":2}')
  await hq.store.workers.join('gone', { queues: ['default'], seconds: 60, host: '' })
  const turn = { now: Date.now(), started: [], settlements: [], fetch: { queues: ['default'], n: 1 } }
  await hq.store.workers.settleAndFetch('gone', turn)
  await hq.store.workers.claim('gone')
  await work()
  await expect(hq.result('victim')).rejects.toMatchObject({ code: 'JOB_FAILED', details: { class: 'Crashed' } })
})

test("hq.result of a task's row returns the result of its event", async () => {
  const { hq, work } = bench()
  const J = hq.job('J', { retry: 0 }, async (_ctx, n: number) => {
    if (n === 1) throw new BusinessFailure('one is refused', { code: 'one' })
    if (n === 2) throw new RangeError('two is broken')
    return n === 3 ? undefined : { n }
  })
  const task = await hq.tasks.create(J, [[0], [1], [2], [3]])
  const jids: string[] = []
  for await (const { jid } of task.events()) jids.push(jid)
  const all = jids.map((jid) => hq.result(jid))
  void Promise.allSettled(all)
  await expect(hq.result(jids[0] as string, { timeout: 0.01 })).rejects.toMatchObject({ code: 'NO_RESULT' })
  await work()
  const [zero, one, two, three] = await Promise.allSettled(all)
  expect(zero).toEqual({ status: 'fulfilled', value: { n: 0 } })
  expect(one).toMatchObject({ reason: { code: 'JOB_FAILED', message: expect.stringContaining('one is refused') } })
  expect(two).toMatchObject({ reason: { code: 'JOB_FAILED', message: expect.stringContaining('two is broken') } })
  expect(three).toEqual({ status: 'fulfilled', value: undefined })
})

test.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY, '5m'])('keepResult: %o is refused', (keepResult) => {
  const { hq } = bench({ url: 'sqlite::memory:' })
  const options = { keepResult: keepResult as number }
  expect(() => hq.job('J', options, () => {})).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }))
})

test('a job that is pushed again with its jid has no result until this run has ended', async () => {
  const t = bench()
  const J = t.hq.job('J', KEPT, async (_ctx, n: number) => n)
  const worker = await t.work()
  await J.set({ jid: 'customer-15' }).performAsync(1)
  expect(await t.hq.result('customer-15')).toBe(1)
  await t.settled()
  await worker.stop()
  await J.set({ jid: 'customer-15' }).performAsync(2)
  await expect(t.hq.result('customer-15', { timeout: 0 })).rejects.toMatchObject({ code: 'NO_RESULT' })
  await t.work()
  expect(await t.hq.result('customer-15')).toBe(2)
  await t.settled()
  // Another process may define the job.
  await bench({ url: t.url }).hq.push({ class: 'J', args: [3], jid: 'customer-15' })
  await until(async () => (await t.hq.result('customer-15')) === 3)
})

test('a dead job that is retried has no result until it has ended again', async () => {
  const t = bench()
  const { opened, open } = gate()
  const began = new Collector<number>()
  let attempts = 0
  const J = t.hq.job('J', { ...KEPT, retry: 0 }, async () => {
    began.add(++attempts)
    if (attempts === 1) throw new Error('broken')
    await opened
    return 7
  })
  await t.work()
  const jid = (await J.performAsync()) as string
  await expect(t.hq.result(jid)).rejects.toMatchObject({ code: 'JOB_FAILED' })
  await t.settled()
  await (await t.hq.dead.find(jid))?.retry()
  await began.atLeast(2)
  await expect(t.hq.result(jid, { timeout: 0 })).rejects.toMatchObject({ code: 'NO_RESULT' })
  const waiting = t.hq.result(jid)
  open()
  expect(await waiting).toBe(7)
})
