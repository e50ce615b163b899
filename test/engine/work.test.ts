import { Highkiq, HighkiqError, type WorkerOptions } from 'highkiq'
import { expect, onTestFinished, test, vi } from 'vitest'
import { bench, Collector, gate, until } from './bench.ts'

test('at most concurrency jobs run at the same time', async () => {
  const { hq, work, settled } = bench()
  const began = new Collector<number>()
  let running = 0
  let most = 0
  const gates = Array.from({ length: 12 }, gate)
  const J = hq.job('J', async (_ctx, n: number) => {
    most = Math.max(most, ++running)
    began.add(n)
    await gates[n]?.opened
    running--
  })
  await J.performBulk(gates.map((_, n) => [n]))
  const worker = await work({ concurrency: 4 })
  for (let n = 0; n < 12; n++) {
    await began.atLeast(Math.min(n + 4, 12))
    await until(() => worker.busy === Math.min(4, 12 - n))
    gates[n]?.open()
  }
  await settled()
  expect(most).toBe(4)
  expect(began.all).toEqual(gates.map((_, n) => n))
})

test('the worker fetches no more jobs than it has free slots', async () => {
  const { hq, work } = bench()
  const began = new Collector<number>()
  const { opened, open } = gate()
  const J = hq.job('J', async () => {
    began.add(1)
    await opened
  })
  await J.performBulk(Array.from({ length: 10 }, () => []))
  await work({ concurrency: 3 })
  await began.atLeast(3)
  expect(await hq.store.metrics.totals()).toMatchObject({ fetched: 3, enqueued: 7 })
  open()
})

test('a job that is pushed to an idle worker runs at once', async () => {
  const { hq, work } = bench()
  const ran = new Collector<number>()
  const J = hq.job('J', async (_ctx, at: number) => ran.add(performance.now() - at))
  await work()
  for (let n = 1; n <= 5; n++) {
    await J.performAsync(performance.now())
    await ran.atLeast(n)
  }
  expect(Math.min(...ran.all)).toBeLessThan(100)
})

test('two apps on one file share jobs and nothing else', async () => {
  const a = bench()
  const b = a.another()
  const ran = new Collector<string>()
  const A = a.hq.job('J', async () => ran.add('a'))
  b.hq.job('J', async () => ran.add('b'))
  await b.work()
  await A.performAsync()
  expect(await ran.atLeast(1)).toEqual(['b'])
})

test('two workers on one file run each of 5,000 jobs once', async () => {
  const a = bench()
  const b = a.another()
  const ran = new Map<number, number>()
  const count = async (_ctx: unknown, n: number) => {
    ran.set(n, (ran.get(n) ?? 0) + 1)
  }
  const J = a.hq.job('J', count)
  b.hq.job('J', count)
  await a.work()
  await b.work()
  await J.performBulk(Array.from({ length: 5000 }, (_, n) => [n]))
  await a.settled()
  expect(ran.size).toBe(5000)
  expect([...ran.values()].every((times) => times === 1)).toBe(true)
  expect(await a.hq.stats()).toMatchObject({ processed: 5000, failed: 0, enqueued: 0, retries: 0, dead: 0 })
})

// ---------------------------------------------------------------------------------------------------------- queues

async function orderOf(queues: string[], random?: () => number): Promise<string> {
  const { hq, work } = bench({ url: 'sqlite::memory:', random })
  const ran = new Collector<string>()
  const J = hq.job('J', async (ctx) => ran.add(ctx.queue))
  for (let n = 0; n < 3; n++) for (const queue of ['c', 'b', 'a']) await J.set({ queue }).performAsync()
  await work({ queues, concurrency: 1 })
  return (await ran.atLeast(9)).join('')
}

test('without weights a queue is served only when the queues before it are empty', async () => {
  expect(await orderOf(['a', 'b', 'c'])).toBe('aaabbbccc')
  expect(await orderOf(['c', 'a', 'b', 'c'])).toBe('cccaaabbb')
})

test('with weights every queue is served, drawn anew for each job', async () => {
  const draws = [0, 0.99, 0.5, 0.2, 0.8, 0.4, 0.6, 0.1, 0.9]
  let i = 0
  const order = await orderOf(['a,2', 'b', 'c'], () => draws[i++ % draws.length] ?? 0)
  expect([...order].sort().join('')).toBe('aaabbbccc')
  expect(order).not.toMatch(/aaabbb|bbbccc|cccaaa/)
})

test('only the queues of a worker are served', async () => {
  const { hq, work } = bench()
  const ran = new Collector<string>()
  const J = hq.job('J', async (ctx) => ran.add(ctx.queue))
  await J.set({ queue: 'other' }).performAsync()
  await J.performAsync()
  await work()
  await ran.atLeast(1)
  await until(async () => (await hq.store.metrics.totals()).fetched === 0)
  expect(ran.all).toEqual(['default'])
  expect((await hq.stats()).enqueued).toBe(1)
})

test.each<[string, WorkerOptions]>([
  ['concurrency 0', { concurrency: 0 }],
  ['half a slot', { concurrency: 1.5 }],
  ['no queues', { queues: [] }],
  ['a queue without a name', { queues: [',3'] }],
  ['a weight that is no number', { queues: ['a,b'] }],
  ['a negative weight', { queues: ['a,-1'] }],
  ['a negative timeout', { timeout: -1 }],
  ['a timeout of NaN', { timeout: Number.NaN }],
  ['a lease of no time', { leaseSeconds: 0 }],
  ['a poll interval above 1 s', { pollInterval: 2 }],
])('a worker with %s is refused', (_, options) => {
  const { hq } = bench({ url: 'sqlite::memory:' })
  expect(() => hq.worker(options)).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }))
})

// --------------------------------------------------------------------------------------------------------- timeout

test('a timeout aborts the signal, and the attempt fails with JOB_TIMEOUT whatever the handler throws then', async () => {
  const { hq, work, set } = bench()
  const reasons: unknown[] = []
  const J = hq.job('J', { timeout: 0.05 }, async (ctx) => {
    await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve))
    reasons.push(ctx.signal.reason.code)
    throw new Error('the query was cancelled')
  })
  await J.performAsync()
  await work()
  await until(async () => (await hq.store.jobSets.size('retry')) === 1)
  expect(reasons).toEqual(['JOB_TIMEOUT'])
  const [job] = await set('retry')
  expect(job).toMatchObject({
    retry_count: 0,
    error_class: 'HighkiqError',
    error_message: expect.stringContaining('0.05 s'),
  })
})

test('a handler that returns after its timeout fails, too', async () => {
  const { hq, work, set } = bench()
  const J = hq.job('J', { timeout: 0.05 }, async (ctx) => {
    await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve))
  })
  await J.performAsync()
  await work()
  await until(async () => (await hq.store.jobSets.size('retry')) === 1)
  expect(await set('retry')).toMatchObject([{ error_message: expect.stringContaining('0.05 s') }])
})

test('a handler that ignores its signal loses its slot a moment later, and its end counts nothing', async () => {
  const { hq, work, errors } = bench()
  const { opened, open } = gate()
  const ran = new Collector<string>()
  const Deaf = hq.job('Deaf', { timeout: 0.05 }, async () => {
    await opened
    ran.add('deaf')
  })
  const Next = hq.job('Next', async () => ran.add('next'))
  await Deaf.performAsync()
  await Next.performAsync()
  await work({ concurrency: 1 })
  expect(await ran.atLeast(1)).toEqual(['next'])
  expect(errors).toMatchObject([{ error: { code: 'JOB_TIMEOUT' } }])
  open()
  await ran.atLeast(2)
  await until(async () => (await hq.store.metrics.totals()).fetched === 0)
  expect(await hq.store.metrics.totals()).toMatchObject({ processed: 2, failed: 1, retries: 1 })
})

test.each([Number.POSITIVE_INFINITY, 3e6, 60])('a timeout of %o s does not abort the job', async (timeout) => {
  const { hq, work, settled } = bench({ url: 'sqlite::memory:' })
  const J = hq.job('J', { timeout }, async (ctx) => {
    await new Promise((resolve) => setTimeout(resolve, 20))
    if (ctx.signal.aborted) throw ctx.signal.reason
  })
  await J.performAsync()
  await work()
  await settled()
  expect(await hq.store.metrics.totals()).toMatchObject({ processed: 1, failed: 0 })
})

// ---------------------------------------------------------------------------------------------------------- seeing

test('a worker is listed with its settings and running jobs until it has stopped', async () => {
  const { hq, work } = bench()
  const { opened, open } = gate()
  const began = new Collector<number>()
  const J = hq.job('J', async () => {
    began.add(1)
    await opened
  })
  await J.performAsync()
  const worker = await work({ concurrency: 3, queues: ['default', 'low'], tag: 'shop' })
  const seen = async () => {
    const all = []
    for await (const process of hq.processes()) all.push(process)
    return all
  }
  expect(await seen()).toMatchObject([
    {
      identity: worker.identity,
      pid: process.pid,
      tag: 'shop',
      concurrency: 3,
      queues: ['default', 'low'],
      isQuiet: false,
    },
  ])
  await began.atLeast(1)
  const quiet = worker.quiet()
  await quiet
  expect(await seen()).toMatchObject([{ busy: 1, isQuiet: true }])
  open()
  await worker.stop()
  expect(await seen()).toEqual([])
  expect(await hq.store.workers.leases()).toEqual([])
})

test('each lifecycle event is emitted once and in order; handlers of the last ones run in reverse order', async () => {
  const { hq, work } = bench()
  const order: string[] = []
  for (const event of ['startup', 'heartbeat', 'beat', 'quiet', 'shutdown', 'exit'] as const) {
    hq.on(event, () => void order.push(`${event} 1`))
    hq.on(event, () => void order.push(`${event} 2`))
  }
  const worker = await work()
  expect(order).toEqual(['startup 1', 'startup 2', 'heartbeat 1', 'heartbeat 2', 'beat 1', 'beat 2'])
  await worker.stop()
  const rest = order.slice(6).filter((name) => !name.startsWith('beat'))
  expect(rest).toEqual(['quiet 2', 'quiet 1', 'shutdown 2', 'shutdown 1', 'exit 2', 'exit 1'])
})

test('heartbeat is emitted again when the store has lost the process, and not with every beat', async () => {
  const { hq, work } = bench()
  const order: string[] = []
  for (const event of ['heartbeat', 'beat'] as const) hq.on(event, () => void order.push(event))
  const worker = await work()
  await hq.store.workers.removeProcess(worker.identity)
  await worker.quiet()
  expect(order).toEqual(['heartbeat', 'beat', 'heartbeat', 'beat'])
  const other = await work()
  await other.quiet()
  expect(order.slice(4)).toEqual(['heartbeat', 'beat', 'beat'])
})

test('heartbeat is emitted with the next beat when the answer to the first one was lost', async () => {
  const { hq, work, errors } = bench()
  const order: string[] = []
  for (const event of ['heartbeat', 'beat'] as const) hq.on(event, () => void order.push(event))
  const beat = hq.store.workers.heartbeat.bind(hq.store.workers)
  hq.store.workers.heartbeat = async (...about) => {
    hq.store.workers.heartbeat = beat
    await beat(...about)
    throw new HighkiqError('STORE_UNREACHABLE', 'the connection was lost')
  }
  const worker = await work()
  expect(order).toEqual([])
  await worker.quiet()
  expect(order).toEqual(['heartbeat', 'beat'])
  expect(errors.map(({ error }) => error.message)).toEqual(['the connection was lost'])
})

test('the worker warns once when the store answers slowly five beats in a row', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const { hq, work, log } = bench({ url: 'sqlite::memory:' })
  const beats = new Collector<number>()
  const { store } = hq
  const beat = store.workers.heartbeat.bind(store.workers)
  // The fifth is a good one.
  store.workers.heartbeat = async (...about) => ({ ...(await beat(...about)), rtt: beats.all.length === 4 ? 1 : 51 })
  hq.on('beat', () => beats.add(1))
  await work()
  const slow = () => log.lines.filter(({ message }) => /over 50 ms/.test(message)).length
  for (let n = 1; n <= 15; n++) {
    await beats.atLeast(n)
    expect(slow()).toBe(n < 10 ? 0 : n < 15 ? 1 : 2)
    vi.advanceTimersByTime(10_000)
  }
})

test('beats do not overlap: while the store is slow, only one more beat waits', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const { hq, work } = bench({ url: 'sqlite::memory:' })
  const { store } = hq
  const beat = store.workers.heartbeat.bind(store.workers)
  const { opened, open } = gate()
  const beats = new Collector<string>()
  store.workers.heartbeat = async (...about) => {
    beats.add('begins')
    if (beats.all.length > 1) await opened
    const answer = await beat(...about)
    beats.add('ends')
    return answer
  }
  const worker = await work()
  vi.advanceTimersByTime(10_000)
  await beats.atLeast(3)
  for (let n = 0; n < 3; n++) vi.advanceTimersByTime(10_000)
  open()
  await beats.atLeast(6)
  await worker.quiet()
  await worker.stop()
  expect(beats.all).toEqual(Array.from({ length: 4 }, () => ['begins', 'ends']).flat())
})

test('an event that does not exist is refused', () => {
  const { hq } = bench({ url: 'sqlite::memory:' })
  expect(() => hq.on('start' as 'startup', () => {})).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }))
})

test('a startup handler that throws prevents the start and leaves nothing in the store', async () => {
  const { hq, queue } = bench()
  const ran: number[] = []
  const events: string[] = []
  const J = hq.job('J', async () => void ran.push(1))
  await J.performAsync()
  hq.on('startup', () => {
    throw new Error('no configuration')
  })
  for (const event of ['heartbeat', 'quiet', 'exit'] as const) hq.on(event, () => void events.push(event))
  const worker = hq.worker()
  await expect(worker.start()).rejects.toThrow('no configuration')
  expect(await hq.store.workers.leases()).toEqual([])
  await worker.stop()
  expect(ran).toEqual([])
  expect(events).toEqual([])
  expect(await queue()).toHaveLength(1)
})

test('an error in a handler of another event is logged, and the next handlers run', async () => {
  const { hq, work, log } = bench()
  let shut = 0
  hq.on('shutdown', () => void shut++)
  hq.on('shutdown', () => {
    throw new Error('in shutdown')
  })
  const worker = await work()
  await worker.stop()
  expect(shut).toBe(1)
  expect(log.lines).toContainEqual({
    level: 'error',
    about: { err: expect.any(Error), during: 'shutdown' },
    message: 'in shutdown',
  })
})

test('ctx.interrupted is true when the worker fetches no more jobs, before the signal aborts', async () => {
  const { hq, work } = bench()
  const began = new Collector<boolean>()
  const J = hq.job('J', async (ctx) => {
    began.add(ctx.interrupted)
    await until(() => ctx.interrupted)
    began.add(ctx.signal.aborted)
  })
  const jid = await J.performAsync()
  const worker = await work()
  await began.atLeast(1)
  expect(worker.busy).toBe(1)
  await worker.quiet()
  expect(await began.atLeast(2)).toEqual([false, false])
  await worker.stop()
  expect(jid).not.toBeNull()
})

test('the progress of a handler is shown with the running jobs', async () => {
  const { hq, work } = bench()
  const { opened, open } = gate()
  const progress = new Collector<unknown>()
  const J = hq.job('J', async (ctx) => {
    progress.add(ctx.progressed)
    ctx.progress(1, 3)
    ctx.progress(2, 3, 'counting')
    progress.add(ctx.progressed)
    await opened
  })
  await J.performAsync()
  const worker = await work()
  expect(await progress.atLeast(2)).toEqual([undefined, { done: 2, total: 3, note: 'counting' }])
  const beats: unknown[] = []
  const { store } = hq
  const beat = store.workers.heartbeat.bind(store.workers)
  store.workers.heartbeat = (process, seconds, running) => {
    beats.push(running)
    return beat(process, seconds, running)
  }
  await worker.quiet()
  expect(beats).toMatchObject([[{ queue: 'default', progress: { done: 2, total: 3, note: 'counting' } }]])
  for await (const running of hq.running()) expect(running.progress).toEqual({ done: 2, total: 3, note: 'counting' })
  open()
})

test('the lines of ctx.log name the job', async () => {
  const { hq, work, log, settled } = bench()
  const J = hq.job('J', async (ctx) => {
    ctx.log.info({ n: 1 }, 'hello')
    ctx.log.warn('without fields')
  })
  const jid = await J.performAsync()
  await work()
  await settled()
  expect(log.lines.filter(({ level }) => level !== 'debug')).toEqual([
    { level: 'info', about: { jid, class: 'J', queue: 'default', n: 1 }, message: 'hello' },
    { level: 'warn', about: { jid, class: 'J', queue: 'default' }, message: 'without fields' },
  ])
})

test("an app whose store can't be opened can't start a worker, and can be closed", async () => {
  const hq = new Highkiq({ url: 'sqlite:/no/such/folder/jobs.db', logger: bench({ url: 'sqlite::memory:' }).log })
  await expect(hq.worker().start()).rejects.toMatchObject({ code: 'STORE_UNUSABLE' })
  await hq.close()
})

test('a store with several concurrent calls works on one while settlements go into another', async () => {
  const { hq, work, settled } = bench()
  const { workers, maxConcurrentCalls } = hq.store
  const settleAndFetch = workers.settleAndFetch.bind(workers)
  const sizes: number[] = []
  let underWay = 0
  let most = 0
  workers.settleAndFetch = async (owner, asked) => {
    most = Math.max(most, ++underWay)
    sizes.push(asked.settlements.length)
    try {
      return await settleAndFetch(owner, asked)
    } finally {
      underWay--
    }
  }
  const Noop = hq.job('Noop', async () => {})
  await Noop.performBulk(Array.from({ length: 1000 }, () => []))
  await work({ concurrency: 50 })
  await settled()
  expect(most).toBe(maxConcurrentCalls)
  // 50 jobs run, and at most 150 lie ahead.
  expect(Math.max(...sizes)).toBeLessThanOrEqual(200)
})
