import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { HighkiqError } from 'highkiq'
import { expect, test } from 'vitest'
import { type Bench, bench, Collector, gate, promptly, until } from './bench.ts'

/** A job that runs until its gate opens or, if it listens, until it is told to end. */
function patient({ hq }: Bench, listens = true) {
  const { opened, open } = gate()
  const began = new Collector<string>()
  const aborted = new Collector<string>()
  const J = hq.job('J', async (ctx, name: string) => {
    began.add(name)
    const told = new Promise<void>((_, reject) => {
      ctx.signal.addEventListener('abort', () => {
        aborted.add(ctx.signal.reason.code)
        if (listens) reject(ctx.signal.reason)
      })
    })
    await Promise.race([opened, told])
  })
  return { J, began, aborted, open }
}

test('a quiet worker fetches no more jobs; running jobs end and are counted', async () => {
  const t = bench()
  const { J, began, open } = patient(t)
  await J.performAsync('a')
  const worker = await t.work({ concurrency: 2 })
  await began.atLeast(1)
  await worker.quiet()
  await J.performAsync('b')
  open()
  await until(async () => (await t.hq.store.metrics.totals()).processed === 1)
  expect(began.all).toEqual(['a'])
  expect(await t.hq.store.metrics.totals()).toMatchObject({ enqueued: 1, fetched: 0 })
  await worker.quiet()
  await worker.stop()
})

test('jobs that arrive after the worker became quiet go back to the front of their queue and do not start', async () => {
  const t = bench()
  const { J, began } = patient(t)
  await J.performBulk([['a'], ['b'], ['c']])
  const { workers } = t.hq.store
  const settleAndFetch = workers.settleAndFetch.bind(workers)
  const fetched = new Collector<number>()
  const { opened, open } = gate()
  workers.settleAndFetch = async (owner, step) => {
    const answer = await settleAndFetch(owner, step)
    if (answer.fetched.length > 0) {
      fetched.add(answer.fetched.length)
      await opened
    }
    return answer
  }
  const worker = await t.work({ concurrency: 2 })
  expect(await fetched.atLeast(1)).toEqual([2])
  await worker.quiet()
  open()
  await until(async () => (await t.hq.store.metrics.totals()).fetched === 0)
  expect(began.all).toEqual([])
  const left = await t.queue()
  expect(left.map(({ args }) => args[0])).toEqual(['a', 'b', 'c'])
  expect(left.every(({ hk_crashes }) => hk_crashes === undefined)).toBe(true)
})

test('stop does not wait for a lease thread whose store does not answer', async () => {
  const t = bench()
  const module = 'data:text/javascript,export const openRenewer = () => new Promise(() => {})'
  t.hq.store.workers.renewer = () => ({ module, options: {} })
  const worker = await t.work()
  await promptly(2, worker.stop())
  expect(await t.hq.store.workers.leases()).toEqual([])
})

test('a quiet worker moves no due jobs; another one does', async () => {
  const t = bench()
  const ran = new Collector<string>()
  const other = t.another()
  const J = t.hq.job('J', async () => ran.add('quiet'))
  other.hq.job('J', async () => ran.add('other'))
  const worker = await t.work()
  await worker.quiet()
  await J.performIn(0.01)
  await other.work()
  expect(await ran.atLeast(1)).toEqual(['other'])
})

test('stop waits for the running jobs and logs them', async () => {
  const t = bench()
  const { J, began, aborted, open } = patient(t)
  await J.performAsync('a')
  const worker = await t.work()
  await began.atLeast(1)
  let stopped = false
  const stop = worker.stop().then(() => {
    stopped = true
  })
  await until(() => t.log.lines.length > 0)
  expect(stopped).toBe(false)
  expect(t.log.lines).toMatchObject([
    {
      level: 'info',
      about: { busy: 1 },
      message: expect.stringMatching(/^waiting for 1 job to end: J [0-9a-f]{24} \(\d s\)$/),
    },
  ])
  open()
  await stop
  expect(aborted.all).toEqual([])
  expect(await t.hq.store.metrics.totals()).toMatchObject({ processed: 1, failed: 0, enqueued: 0, fetched: 0 })
})

test('stop with a timeout of Infinity waits for all jobs', async () => {
  const t = bench()
  const { J, began, aborted, open } = patient(t)
  await J.performAsync('a')
  const worker = await t.work({ timeout: Number.POSITIVE_INFINITY })
  await began.atLeast(1)
  const stop = worker.stop()
  await until(() => t.log.lines.length > 0)
  open()
  await stop
  expect(aborted.all).toEqual([])
  expect(await t.hq.store.metrics.totals()).toMatchObject({ processed: 1 })
})

test('after the timeout the signal aborts: jobs that obey are requeued at the front in order, uncounted, and run on other workers', async () => {
  const t = bench()
  const { J, began, aborted } = patient(t)
  await J.performBulk([['a'], ['b'], ['c'], ['d']])
  const worker = await t.work({ concurrency: 3, timeout: 0.05 })
  await began.atLeast(3)
  const started = performance.now()
  await worker.stop()
  expect(performance.now() - started).toBeLessThan(2500)
  expect(aborted.all).toEqual(['SHUTDOWN', 'SHUTDOWN', 'SHUTDOWN'])
  expect((await t.queue()).map(({ args }) => args[0])).toEqual(['a', 'b', 'c', 'd'])
  for (const job of await t.queue()) expect(job).not.toHaveProperty('retry_count')
  expect(await t.hq.store.metrics.totals()).toMatchObject({ processed: 0, failed: 0, retries: 0, fetched: 0 })
  expect(t.errors).toEqual([])
  expect(t.log.lines.at(-1)).toMatchObject({ level: 'info', message: expect.stringMatching(/^requeued 3 jobs: J /) })
  const other = t.another()
  const again = new Collector<string>()
  other.hq.job('J', async (ctx, name: string) => again.add(`${name}${ctx.attempt}`))
  await other.work({ concurrency: 1 })
  expect(await again.atLeast(4)).toEqual(['a1', 'b1', 'c1', 'd1'])
  await t.settled()
  expect(await t.hq.store.metrics.totals()).toMatchObject({ processed: 4, failed: 0 })
})

test('a job that ignores the signal is requeued 3 s later, newest last, and its late end is refused and reported', async () => {
  const t = bench()
  const { J, began, open } = patient(t, false)
  await J.performBulk([['a'], ['b'], ['c']])
  const worker = await t.work({ concurrency: 2, timeout: 0.001 })
  await began.atLeast(2)
  await worker.stop()
  expect((await t.queue()).map(({ args }) => args[0])).toEqual(['a', 'b', 'c'])
  const jids = (await t.queue()).slice(0, 2).map(({ jid }) => jid)
  expect(t.log.lines.at(-1)).toEqual({
    level: 'warn',
    about: {
      jobs: jids.map((jid) => expect.objectContaining({ jid, class: 'J', seconds: expect.any(Number) })).reverse(),
    },
    message: expect.stringMatching(/^requeued 2 jobs \(2 did not end in time\): J [0-9a-f]{24} \(\d s\), J /),
  })
  expect(await t.hq.store.metrics.totals()).toMatchObject({ processed: 0, failed: 0, fetched: 0, enqueued: 3 })
  open()
  await until(() => t.errors.length === 2)
  expect(t.errors.map(({ error }) => error.code)).toEqual(['LEASE_LOST', 'LEASE_LOST'])
  expect(t.errors.map(({ about }) => (about as { jid: string }).jid).toSorted()).toEqual(jids.toSorted())
  expect(await t.hq.store.metrics.totals()).toMatchObject({ processed: 0, enqueued: 3 })
})

test('stop ends also when the app’s clock stands still', async () => {
  const t = bench({ clock: { now: () => 1_700_000_000_000 } })
  const { J, began } = patient(t)
  await J.performAsync('a')
  const worker = await t.work({ timeout: 0.05 })
  await began.atLeast(1)
  await worker.stop()
  expect(await t.hq.store.metrics.totals()).toMatchObject({ enqueued: 1 })
})

test('handlers of shutdown and exit that never end do not keep the worker from stopping', async () => {
  const t = bench()
  t.hq.on('shutdown', () => new Promise(() => {}))
  t.hq.on('exit', () => new Promise(() => {}))
  const worker = await t.work({ timeout: 0.01 })
  await promptly(4, worker.stop())
  const lines = t.log.lines.filter(({ about }) => about.event !== undefined)
  expect(lines.map(({ level, about }) => [level, about.event])).toEqual([
    ['warn', 'shutdown'],
    ['warn', 'exit'],
  ])
  expect(await t.hq.store.workers.leases()).toEqual([])
})

test('stopping twice is stopping once', async () => {
  const t = bench()
  let exits = 0
  t.hq.on('exit', () => void exits++)
  const worker = await t.work()
  await Promise.all([worker.stop(), worker.stop()])
  await worker.stop()
  expect(exits).toBe(1)
})

test('a worker that was stopped before it started does not start', async () => {
  const t = bench()
  const worker = t.hq.worker()
  await worker.stop()
  await expect(worker.start()).rejects.toMatchObject({ code: 'INVALID_OPTION' })
  expect(await t.hq.store.workers.leases()).toEqual([])
})

test('a worker starts once', async () => {
  const t = bench()
  const worker = await t.work()
  await expect(worker.start()).rejects.toMatchObject({ code: 'INVALID_OPTION' })
  await worker.stop()
  await expect(worker.start()).rejects.toMatchObject({ code: 'INVALID_OPTION' })
})

test('a worker that is stopped while it starts leaves nothing in the store', async () => {
  const t = bench()
  const { opened, open } = gate()
  const starting = new Collector<number>()
  t.hq.on('startup', async () => {
    starting.add(1)
    await opened
  })
  const worker = t.hq.worker()
  const started = worker.start()
  await starting.atLeast(1)
  const stopped = worker.stop()
  // A stop that did not wait for the start would have ended by then.
  await Promise.race([stopped, new Promise((resolve) => setTimeout(resolve, 200))])
  open()
  await Promise.all([started, stopped])
  expect(await t.hq.store.workers.processes()).toEqual([])
  expect(await t.hq.store.workers.leases()).toEqual([])
  const ran = new Collector<number>()
  const J = t.hq.job('J', async () => ran.add(1))
  await J.performAsync()
  expect((await t.hq.stats()).enqueued).toBe(1)
})

test('close() stops the workers, and the app refuses later calls', async () => {
  const t = bench()
  const { J, began, open } = patient(t)
  await J.performAsync('a')
  await t.work()
  await began.atLeast(1)
  const closed = t.hq.close()
  open()
  await closed
  await t.hq.close()
  await expect(J.performAsync('b')).rejects.toMatchObject({ code: 'PUSH_FAILED', maybePushed: false })
  const look = t.another()
  expect(await look.hq.store.metrics.totals()).toMatchObject({ processed: 1, enqueued: 0, fetched: 0 })
})

test('close() aborts the jobs that outlast the timeout, requeues those that ignore it, and refuses their late calls', async () => {
  const t = bench()
  const { J, began, aborted, open } = patient(t, false)
  const late = new Collector<unknown>()
  const closed = gate()
  const Pushes = t.hq.job('Pushes', async () => {
    began.add('pushes')
    while (aborted.all.length === 0) await new Promise((resolve) => setTimeout(resolve, 10))
    // The store is open until the jobs have had their time.
    await J.performAsync('during the stop')
    await closed.opened
    await J.performAsync('after the close').catch((error) => late.add(error.code))
  })
  await Pushes.performAsync()
  await J.performAsync('a')
  await t.work({ concurrency: 2, timeout: 0.05 })
  await began.atLeast(2)
  await t.hq.close()
  expect(aborted.all).toEqual(['SHUTDOWN'])
  closed.open()
  expect(await late.atLeast(1)).toEqual(['PUSH_FAILED'])
  open()
  await until(() => t.errors.length === 2)
  const look = t.another()
  const left = (await look.queue()).map(({ class: name, args }) => [name, ...args])
  expect(left).toEqual([['Pushes'], ['J', 'a'], ['J', 'during the stop']])
  expect(await look.hq.store.metrics.totals()).toMatchObject({ processed: 0, failed: 0, fetched: 0 })
})

test('a job that ends while its worker stops is settled, also as a retry', async () => {
  const t = bench()
  const began = new Collector<number>()
  const J = t.hq.job('J', async (ctx) => {
    began.add(1)
    await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve))
  })
  await J.performAsync()
  const worker = await t.work({ timeout: 0.001 })
  await began.atLeast(1)
  await worker.stop()
  expect(await t.hq.store.metrics.totals()).toMatchObject({ processed: 1, failed: 0, enqueued: 0 })
})

/** The store can't be reached until `isBack` of the number of failed calls. Returns the time of each call that failed. */
function unreachable({ workers }: Bench['hq']['store'], isBack: (failed: number) => boolean) {
  const settleAndFetch = workers.settleAndFetch.bind(workers)
  const failed = new Collector<number>()
  workers.settleAndFetch = async (owner, step) => {
    if (isBack(failed.all.length)) return settleAndFetch(owner, step)
    failed.add(performance.now())
    throw new HighkiqError('STORE_UNREACHABLE', 'the store is away')
  }
  return failed
}

/** A worker that stops, with a job that ended while the store can't be reached. */
async function stopsWhileUnreachable(t: Bench, isBack: (failed: number) => boolean) {
  const { J, began, open } = patient(t)
  await J.performAsync('a')
  const worker = await t.work({ timeout: 1 })
  await began.atLeast(1)
  const failed = unreachable(t.hq.store, isBack)
  open()
  await failed.atLeast(1)
  await worker.stop()
  return { began, failed }
}

test('a worker that stops settles what ended as soon as the store can be reached again', async () => {
  const t = bench()
  const { began } = await stopsWhileUnreachable(t, (failed) => failed === 7)
  expect(await t.hq.store.metrics.totals()).toMatchObject({ processed: 1, fetched: 0, enqueued: 0 })
  expect(began.all).toEqual(['a'])
})

test('a worker whose store can’t be reached until its stop must end says so, and calls it no more', async () => {
  const t = bench()
  const { failed } = await stopsWhileUnreachable(t, () => false)
  const stopped = failed.all.length
  expect(t.log.lines.filter(({ level }) => level === 'error')).toMatchObject([
    { message: expect.stringMatching(/^the store did not settle all jobs before the stop had to end/) },
  ])
  // The longest pause between two calls is half a second, because the jitter is 0.
  await sleep(600)
  expect(failed.all.length).toBe(stopped)
})

test('a worker that stops and loses its lease does not wait for jobs whose shard is down', async () => {
  const t = bench()
  const { J, began, open } = patient(t)
  await J.performAsync('a')
  const { store } = t.hq
  const postponed = new Collector<string>()
  const settleAndFetch = store.workers.settleAndFetch.bind(store.workers)
  store.workers.settleAndFetch = async (owner, step) => {
    if (step.settlements.length === 0) return settleAndFetch(owner, step)
    postponed.add(owner)
    return {
      started: [],
      settled: step.settlements.map(() => 'unreachable'),
      fetched: [],
      cancellations: 0,
      fenced: false,
    }
  }
  const worker = await t.work({ timeout: 60, leaseSeconds: 1 })
  await began.atLeast(1)
  open()
  await postponed.atLeast(1)
  const stopping = worker.stop()
  await postponed.atLeast(2)
  await store.workers.claim(postponed.all[0] as string)
  await promptly(2, stopping)
})

test('jobs that were released by their handlers go back in their order when the worker stops', async () => {
  const t = bench()
  const ran = new Collector<string>()
  const { Release } = await import('highkiq')
  const J = t.hq.job('J', async (_ctx, name: string) => {
    ran.add(name)
    throw new Release()
  })
  await J.performBulk([['a'], ['b'], ['c']])
  const worker = await t.work({ concurrency: 1 })
  await ran.atLeast(3)
  await worker.stop()
  expect((await t.queue()).map(({ args }) => args[0])).toEqual(['a', 'b', 'c'])
})

test('a process ends within a second after it closed an app whose worker ran', async () => {
  const { url } = bench()
  const program = `
    import { Highkiq } from 'highkiq'
    const hq = new Highkiq({ url: process.argv[1] })
    const worker = hq.worker()
    await worker.start()
    await hq.close()
    setTimeout(() => {
      console.log('alive:', ...process.getActiveResourcesInfo())
      process.exit(1)
    }, 1000).unref()
  `
  const env = { ...process.env, HIGHKIQ_LOG_LEVEL: 'error' }
  const child = spawn(process.execPath, ['--input-type=module', '-e', program, url], { env })
  const printed = Promise.all([text(child.stdout), text(child.stderr)])
  const [code] = await once(child, 'close')
  expect([code, ...(await printed)]).toEqual([0, '', ''])
})
