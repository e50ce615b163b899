import { Discard, Highkiq, type IterableJob, iterate } from 'highkiq'
import { Redis } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import { openStore } from '#dist/store/open.js'
import { type Highkiq as App, PROGRAM } from '../../src/app.ts'
import { type Bench, bench, Child, Collector, gate, storeOfSuite, until } from './bench.ts'

type Job = Partial<IterableJob<[n: number], number, number>>

/** A job `Items` that goes through 0 to n - 1 and tells what it does. */
function items({ hq }: Bench, more: Job = {}, calls = new Collector<string>()) {
  const tell = (what: string) => () => calls.add(what)
  const job = hq.iterable('Items', {
    enumerate: (_ctx, cursor, n: number) => iterate.array([...Array(n).keys()], cursor),
    each: (_ctx, item) => calls.add(`${item}`),
    onStart: tell('start'),
    onResume: tell('resume'),
    onStop: tell('stop'),
    onCancel: tell('cancel'),
    onComplete: tell('complete'),
    ...more,
  })
  return { job, calls }
}

/** Stays at an item until the test lets it go on. */
function stayAt(at: number, calls: Collector<string>) {
  const { opened, open } = gate()
  const each = async (_ctx: unknown, item: number) => {
    calls.add(`${item}`)
    if (item === at) await opened
  }
  return { each, open, there: () => until(() => calls.all.includes(`${at}`)) }
}

test('an iterable job handles its items in order, calls its hooks, and leaves nothing in the store', async () => {
  const t = bench()
  const { job, calls } = items(t, {
    around: async (ctx, next) => {
      calls.add(`before ${ctx.iteration.done}`)
      await next()
      calls.add('after')
    },
  })
  const jid = (await job.performAsync(2)) as string
  await t.work()
  await t.settled()
  expect(calls.all).toEqual(['start', 'before 0', '0', 'after', 'before 1', '1', 'after', 'stop', 'complete'])
  expect(await t.hq.iteration(jid)).toBeNull()
  expect(await t.hq.store.metrics.totals()).toMatchObject({ processed: 1, failed: 0 })
})

for (const how of ['stop', 'quiet'] as const) {
  test(`${how} of its worker interrupts a job before the next item; it is requeued and continues elsewhere at that item`, async () => {
    const t = bench()
    const calls = new Collector<string>()
    const { each, open, there } = stayAt(2, calls)
    const { job } = items(t, { each }, calls)
    const jid = (await job.performAsync(5)) as string
    const worker = await t.work({ timeout: 1000 })
    await there()
    const told = worker[how]()
    open()
    await told
    await until(async () => (await t.queue()).length === 1)
    expect(calls.all).toEqual(['start', '0', '1', '2', 'stop'])
    const [back] = await t.queue()
    expect(back).toMatchObject({ jid, class: 'Items', args: [5] })
    expect(back).not.toHaveProperty('retry_count')
    expect(await t.hq.iteration(jid)).toMatchObject({ executions: 1, cursor: 3, cancelled: null })
    expect(await t.hq.store.metrics.totals()).toMatchObject({ processed: 0, failed: 0, retries: 0 })

    const other = t.another()
    const again = items(other)
    await other.work()
    await other.settled()
    expect(again.calls.all).toEqual(['resume', '3', '4', 'stop', 'complete'])
    expect(await t.hq.iteration(jid)).toBeNull()
    expect(await t.hq.store.metrics.totals()).toMatchObject({ processed: 1, failed: 0 })
    // As in Sidekiq each stretch counts by its class.
    await worker.stop()
    await other.hq.close()
    expect((await t.another().hq.metrics.top()).jobs).toMatchObject([{ name: 'Items', processed: 2, failed: 0 }])
  })
}

test('an item that does not end with its worker runs again', async () => {
  const t = bench()
  const calls = new Collector<string>()
  const { each, open, there } = stayAt(2, calls)
  const { job } = items(t, { each }, calls)
  const jid = (await job.performAsync(5)) as string
  const worker = await t.work({ timeout: 0.001 })
  await there()
  await worker.stop()
  expect((await t.queue()).map((one) => one.jid)).toEqual([jid])
  expect(await t.hq.iteration(jid)).toMatchObject({ executions: 1, cursor: 2 })
  open()
  const other = t.another()
  const again = items(other)
  await other.work()
  await other.settled()
  expect(again.calls.all).toEqual(['resume', '2', '3', '4', 'stop', 'complete'])
})

test('a retry starts at the failed item; earlier items do not run again', async () => {
  const t = bench()
  const calls = new Collector<string>()
  let broken = true
  const { job } = items(
    t,
    {
      each(_ctx, item) {
        calls.add(`${item}`)
        if (item === 2 && broken) throw new Error('broken')
      },
    },
    calls,
  )
  const jid = (await job.performAsync(4)) as string
  await t.work()
  await until(async () => (await t.hq.store.jobSets.size('retry')) === 1)
  expect(calls.all).toEqual(['start', '0', '1', '2', 'stop'])
  expect(await t.hq.iteration(jid)).toMatchObject({ executions: 1, cursor: 2 })
  expect(await t.set('retry')).toMatchObject([{ jid, retry_count: 0, error_message: 'broken' }])
  broken = false
  t.clock.ahead = 60
  await until(() => calls.all.includes('complete'))
  expect(calls.all.slice(5)).toEqual(['resume', '2', '3', 'stop', 'complete'])
  await t.settled()
  expect(await t.hq.iteration(jid)).toBeNull()
})

test('a dead job continues at its cursor when it is retried by hand; a new job with its jid starts at the first item', async () => {
  const t = bench()
  const calls = new Collector<string>()
  let isBroken = true
  const { job } = items(
    t,
    {
      each(_ctx, item) {
        calls.add(`${item}`)
        if (item === 2 && isBroken) throw new Error('broken')
      },
    },
    calls,
  )
  const push = () => job.set({ jid: 'order-7', retry: 0 }).performAsync(4)
  const deadJobs = (n: number) => until(async () => (await t.hq.store.jobSets.size('dead')) === n)
  await push()
  await t.work()
  await deadJobs(1)
  isBroken = false
  expect(await t.hq.dead.retryAll()).toMatchObject({ done: 1 })
  await until(() => calls.all.includes('complete'))
  await t.settled()
  expect(calls.all).toEqual(['start', '0', '1', '2', 'stop', 'resume', '2', '3', 'stop', 'complete'])
  isBroken = true
  for (const n of [1, 2]) {
    await push()
    await deadJobs(n)
  }
  expect(calls.all.slice(10)).toEqual(['start', '0', '1', '2', 'stop', 'start', '0', '1', '2', 'stop'])
})

test('a dropped job loses its cursor; a dead job keeps it', async () => {
  const t = bench()
  let error: Error = new Discard()
  const { job } = items(t, {
    each() {
      throw error
    },
  })
  const dropped = (await job.performAsync(3)) as string
  await t.work()
  await t.settled()
  error = new Error('broken')
  const deleted = (await job.set({ retry: false }).performAsync(3)) as string
  const dead = (await job.set({ retry: 0 }).performAsync(3)) as string
  await until(async () => (await t.hq.store.jobSets.size('dead')) === 1)
  await t.settled()
  expect(await t.hq.iteration(dropped)).toBeNull()
  expect(await t.hq.iteration(deleted)).toBeNull()
  expect(await t.hq.iteration(dead)).toMatchObject({ executions: 1, cursor: 0 })
})

test.each(['the job', 'the app', 'a file'])(
  'after maxIterationRuntime of %s it makes room: others in the queue come first, and no time is lost',
  async (who) => {
    const t = bench(who === 'the app' ? { maxIterationRuntime: 0.02 } : {})
    // What the app says comes before what a file says.
    const { [PROGRAM]: program } = t.hq as unknown as App
    program.useFile({ maxIterationRuntime: who === 'a file' ? 0.02 : 1000 }, {})
    const calls = new Collector<string>()
    const { job } = items(
      t,
      {
        ...(who === 'the job' ? { maxIterationRuntime: 0.02 } : {}),
        each: async (_ctx, item) => {
          calls.add(`${item}`)
          await new Promise((resolve) => setTimeout(resolve, 15))
        },
      },
      calls,
    )
    const { opened, open } = gate()
    t.hq.job('Other', async () => {
      calls.add('other')
      await opened
    })
    const jid = (await job.performAsync(5)) as string
    for (let i = 0; i < 2; i++) await t.hq.push({ class: 'Other', args: [] })
    await t.work({ concurrency: 1 })
    await until(async () => calls.all.includes('other') && (await t.queue()).length === 2)
    expect((await t.queue()).map((one) => one.class)).toEqual(['Other', 'Items'])
    open()
    await until(() => calls.all.includes('complete'))
    await t.settled()
    const told = calls.all.join(' ')
    expect(told).toMatch(/^start 0 .*stop other other resume .* complete$/)
    expect(calls.all.filter((one) => /^\d$/.test(one))).toEqual(['0', '1', '2', '3', '4'])
    expect(await t.hq.iteration(jid)).toBeNull()
    expect(await t.hq.store.metrics.totals()).toMatchObject({ processed: 3, failed: 0, retries: 0 })
  },
)

test('a job that is cancelled while it runs handles no further item, reports that, and is done', async () => {
  const t = bench()
  const calls = new Collector<string>()
  let known = false
  const { job } = items(
    t,
    {
      async each(ctx, item) {
        calls.add(`${item}`)
        if (item === 1) await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve))
      },
      onComplete(ctx) {
        known = ctx.iteration.cancelled
        calls.add('complete')
      },
    },
    calls,
  )
  const jid = (await job.performAsync(1000)) as string
  await t.work()
  await until(() => calls.all.includes('1'))
  expect(await t.hq.cancel(jid)).toBe('signalled')
  await t.settled()
  expect(calls.all).toEqual(['start', '0', '1', 'cancel', 'stop', 'complete'])
  expect(known).toBe(true)
  expect(await t.hq.iteration(jid)).toBeNull()
  expect(await t.hq.store.metrics.totals()).toMatchObject({ processed: 1, failed: 0 })
})

test('an item that throws because of a cancellation is no failure', async () => {
  const t = bench()
  const calls = new Collector<string>()
  const { job } = items(
    t,
    {
      async each(ctx, item) {
        calls.add(`${item}`)
        await new Promise((_, reject) => ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason)))
      },
    },
    calls,
  )
  const jid = (await job.performAsync(3)) as string
  await t.work()
  await until(() => calls.all.includes('0'))
  await t.hq.cancel(jid)
  await t.settled()
  expect(calls.all).toEqual(['start', '0', 'cancel', 'stop', 'complete'])
  expect(await t.hq.store.metrics.totals()).toMatchObject({ processed: 1, failed: 0, retries: 0, dead: 0 })
})

test('a job that is cancelled while it waits is removed with its state', async () => {
  const t = bench()
  const { job, calls } = items(t)
  const jid = (await job.performAsync(3)) as string
  await t.hq.store.jobs.saveIteration(jid, { executions: 1, runtime: 1, cursor: '1' }, t.clock.now())
  expect(await t.hq.cancel(jid)).toBe('removed')
  expect(await t.hq.iteration(jid)).toBeNull()
  await t.work()
  expect(await t.queue()).toEqual([])
  expect(calls.all).toEqual([])
})

test.runIf(storeOfSuite() === 'Redis')(
  'one that Ruby cancelled before it began only says so, and is done',
  async () => {
    const t = bench()
    const { job, calls } = items(t)
    const jid = (await job.performAsync(3)) as string
    const redis = new Redis(t.url)
    await redis.hsetnx(`it-${jid}`, 'cancelled', 1_723_900_000)
    redis.disconnect()
    expect(await t.hq.iteration(jid)).toEqual({
      executions: 0,
      runtime: 0,
      cursor: null,
      cancelled: new Date(1_723_900_000_000),
    })
    await t.work()
    await t.settled()
    expect(calls.all).toEqual(['start', 'cancel', 'stop', 'complete'])
    expect(await t.hq.iteration(jid)).toBeNull()
    expect(await t.hq.store.metrics.totals()).toMatchObject({ processed: 1, failed: 0 })
  },
)

test('a process that is killed repeats at most the items since its last save, in their order', async () => {
  const t = bench()
  const jid = (await t.hq.push({ class: 'Items', args: [400] })) as string
  const first = new Child(t.url, { concurrency: 1 })
  // Saved at least twice: then it is known where it will go on.
  let saved = 0
  await until(async () => {
    const found = await t.hq.iteration(jid)
    if (Number(found?.cursor ?? 0) > saved) saved = Number(found?.cursor)
    return saved > 40
  })
  first.kill('SIGKILL')
  await first.exited
  const { cursor } = (await t.hq.iteration(jid)) as { cursor: number }
  const done = first.all('item').map(({ item }) => item as number)
  expect(done).toEqual([...done.keys()])
  expect(cursor).toBeLessThanOrEqual(done.length)
  // Nothing was saved after its death; so what it did since then comes again.
  const second = new Child(t.url, { concurrency: 1 })
  await second.waitFor('item', 400 - cursor)
  await t.settled()
  expect(second.all('item').map(({ item }) => item)).toEqual([...Array(400).keys()].slice(cursor))
  expect(await t.hq.iteration(jid)).toBeNull()
  expect(await t.hq.store.metrics.totals()).toMatchObject({ processed: 1, failed: 0 })
})

test('a process that is stopped by a signal repeats no item', async () => {
  const t = bench()
  await t.hq.push({ class: 'Items', args: [300] })
  const first = new Child(t.url, { concurrency: 1, timeout: 100 })
  await first.waitFor('item', 20)
  const second = new Child(t.url, { concurrency: 1 })
  await second.waitFor('startup')
  first.kill('SIGTERM')
  expect(await first.exited).toMatchObject({ code: 0 })
  const done = first.all('item').length
  await second.waitFor('item', 300 - done)
  await t.settled()
  expect([...first.all('item'), ...second.all('item')].map(({ item }) => item)).toEqual([...Array(300).keys()])
})

test('100,000 items cost no round trip each and do not block the event loop', async () => {
  const url = bench().url
  const store = openStore(url)
  const calls: string[] = []
  for (const name of ['iterations', 'saveIteration'] as const) {
    const ask = (store.jobs[name] as (...args: unknown[]) => never).bind(store.jobs)
    store.jobs[name] = (...args: unknown[]) => {
      calls.push(name)
      return ask(...args)
    }
  }
  const t = bench({
    url,
    store,
  })
  let turns = 0
  const ticking = setInterval(() => turns++, 1)
  onTestFinished(() => clearInterval(ticking))
  let sum = 0
  const done = new Collector<number>()
  const job = t.hq.iterable('Sum', {
    async *enumerate(_ctx, cursor: number | null, n: number) {
      for (let i = cursor ?? 0; i < n; i++) yield [i, i]
    },
    each(_ctx, item) {
      sum += item
    },
    onStart: () => {
      turns = 0
    },
    onComplete: () => done.add(turns),
  })
  await t.work()
  await job.performAsync(100_000)
  const [turned] = await done.atLeast(1)
  expect(turned).toBeGreaterThan(0)
  expect(sum).toBe((100_000 * 99_999) / 2)
  await t.settled()
  expect(calls.length).toBeLessThan(10)
})

test('an attempt that was replaced by a later one ends, and does not overwrite its cursor', async () => {
  const t = bench()
  const calls = new Collector<string>()
  const { each, open, there } = stayAt(1, calls)
  const { job } = items(t, { each, saveEvery: 0.001 }, calls)
  const jid = (await job.performAsync(1000)) as string
  await t.work()
  await there()
  await t.hq.store.jobs.saveIteration(jid, { executions: 7, runtime: 1, cursor: '500' }, t.clock.now())
  await new Promise((resolve) => setTimeout(resolve, 2))
  open()
  await until(async () => (await t.hq.store.jobSets.size('retry')) === 1)
  expect(calls.all).toEqual(['start', '0', '1', 'stop'])
  expect(await t.hq.iteration(jid)).toMatchObject({ executions: 7, cursor: 500 })
})

test('enumerate must return pairs with JSON cursors', async () => {
  const t = bench()
  const wrongs: [gives: unknown, says: string][] = [
    [undefined, 'Wrong: enumerate returned undefined: return the pairs, or make it a generator (async *enumerate)'],
    [null, 'Wrong: enumerate returned null'],
    ['text', 'Wrong: enumerate returned "text"'],
    [{}, 'Wrong: enumerate returned an object'],
    [[1, 2], 'Wrong: enumerate must yield pairs: [item, cursor]'],
    [[['item', null]], 'Wrong: a null cursor means from the first item on'],
    [[['item', new Date()]], 'Wrong: cursor is a Date: pass cursor.toISOString()'],
    [[['item', { at: Number.NaN }]], 'Wrong: cursor.at is NaN'],
  ]
  t.hq.iterable('Wrong', { enumerate: (_ctx, _cursor, i: number) => wrongs[i]?.[0] as never, each: () => {} })
  await t.work()
  for (const i of wrongs.keys()) await t.hq.push({ class: 'Wrong', args: [i] })
  await until(async () => (await t.hq.store.jobSets.size('retry')) === wrongs.length)
  const failed = await t.set('retry')
  for (const [i, [, says]] of wrongs.entries()) {
    expect(failed.find(({ args }) => args[0] === i)?.error_message).toContain(says)
  }
})

test('an invalid definition is refused where it is made', () => {
  const hq = new Highkiq({ url: 'sqlite::memory:' })
  const good = { enumerate: () => [], each: () => {} }
  const wrongs: [job: object, says: string][] = [
    [{ enumerate: good.enumerate }, 'J: each is missing'],
    [{ each: good.each }, 'J: enumerate is missing'],
    [{ ...good, each: 1 }, 'J: each must be a function'],
    [{ ...good, onEnd: () => {} }, 'there is no option onEnd'],
    [{ ...good, maxIterationRuntime: 0 }, 'maxIterationRuntime must be a number of seconds above 0 (got 0)'],
    [{ ...good, saveEvery: 'x' }, 'saveEvery must be a number of seconds above 0 (got "x")'],
  ]
  for (const [job, says] of wrongs) expect(() => hq.iterable('J', job as never)).toThrow(says)
  expect(() => hq.iterable('J', { thread: true }, good)).toThrow('does not run in a thread')
  expect(() => hq.iterable('J', { retyr: 1 } as never, good)).toThrow('retyr')
  hq.iterable('J', good)
  expect(() => hq.iterable('J', good)).toThrow('already defined')
})

test('all items get the same frozen arguments', async () => {
  const t = bench()
  const told = new Collector<string>()
  t.hq.iterable('J', {
    enumerate: (_ctx, _cursor: number | null, _about: { tags: string[] }) => iterate.array([1, 2], null),
    each(_ctx, _item, about) {
      try {
        about.tags.push('x')
      } catch (thrown) {
        told.add((thrown as Error).name)
      }
    },
  })
  await t.hq.push({ class: 'J', args: [{ tags: [] }] })
  await t.work()
  expect(await told.atLeast(2)).toEqual(['TypeError', 'TypeError'])
})

test('performInline handles all items at once and stores nothing', async () => {
  const t = bench()
  const { job, calls } = items(t, { saveEvery: 1e-9 })
  await job.performInline(2)
  expect(calls.all).toEqual(['start', '0', '1', 'stop', 'complete'])
  expect(await t.hq.store.metrics.totals()).toMatchObject({ processed: 0, enqueued: 0 })
})

test('a row of a tracked task may be iterable: it is enqueued while it is interrupted, and finished once', async () => {
  const t = bench()
  const { job, calls } = items(t, { maxIterationRuntime: 0.000001 })
  const task = await t.hq.tasks.create(job, [[3], [2]])
  await t.work({ concurrency: 1 })
  const status = await task.wait({ every: 5 })
  expect(status.counts).toMatchObject({ finished: 2, enqueued: 0, working: 0 })
  expect(calls.all.filter((one) => one === 'complete')).toHaveLength(2)
  expect(calls.all.filter((one) => /^\d$/.test(one)).sort()).toEqual(['0', '0', '1', '1', '2'])
})
