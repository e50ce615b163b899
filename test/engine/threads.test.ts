import { readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { threadId as here } from 'node:worker_threads'
import { Highkiq, type HighkiqOptions } from 'highkiq'
import { expect, onTestFinished, test } from 'vitest'
import { all, type Bench, Collector, bench as plain, recorder, until } from './bench.ts'
import { current, define } from './threads/jobs.js'

/** An app with the jobs of jobs.js. */
function bench(options: HighkiqOptions = {}): Bench {
  const t = plain(options)
  process.env.HIGHKIQ_TEST_THREADS = t.url
  define(t.hq)
  return t
}

const push = ({ hq }: Bench, name: string, ...args: unknown[]) => hq.push({ class: name, args }) as Promise<string>

/** What a handler's thread logged with these words, once it has. */
async function logged({ log }: Bench, message: string, n = 1): Promise<Record<string, unknown>[]> {
  const found = () => log.lines.filter((line) => line.message === message).map(({ about }) => about)
  await until(() => found().length >= n)
  return found()
}

test("a job of Rails' ActiveJob runs in a thread as its wrapped class", async () => {
  const t = bench()
  const results: unknown[] = []
  t.hq.server.use(async (_ctx, next) => results.push(await next()))
  await t.hq.activeJob('Add').performAsync(1, 2)
  await t.work()
  await until(() => results.length === 1)
  expect(results).toMatchObject([{ sum: 3, isMainThread: false, args: [1, 2] }])
})

test('a handler in a thread adds to its batch, and reads the results of its children', async () => {
  const t = bench()
  const Join = t.hq.jobNamed('Join')
  const flow = await t.hq.flow({ job: Join, children: [{ job: t.hq.jobNamed('Grow') }, { job: Join }] })
  await t.work()
  await until(async () => (await t.hq.batches.get(flow?.bid as string))?.succeeded === 3)
  await t.settled()
  const said = await logged(t, 'children', 2)
  expect(said.map(({ results }) => results)).toEqual([[], ['grown', undefined]])
})

test('a handler in a thread runs with the context of its push, and the next one without', async () => {
  const t = bench()
  const jid = await current.run({ tenant: 'acme' }, () => push(t, 'Context'))
  await t.work()
  expect(await t.hq.result(jid)).toEqual({ value: { tenant: 'acme' }, isMainThread: false })
  expect(await t.hq.result(await push(t, 'Context'))).toEqual({ value: null, isMainThread: false })
})

test('a handler runs in another thread, with its arguments and its whole context', async () => {
  const t = bench()
  const seen: unknown[] = []
  t.hq.server.use(async (ctx, next) => {
    ctx.args = [...ctx.args.slice(0, 1), 2n ** 60n]
    const result = await next()
    seen.push((result as { sum: bigint }).sum)
    return result
  })
  const jid = await push(t, 'Add', 2n ** 61n, 'replaced by middleware')
  await t.work()
  const result = await t.hq.result<Record<string, unknown>>(jid)
  expect(result).toMatchObject({
    ...{ sum: 2n ** 61n + 2n ** 60n, isMainThread: false, jid, queue: 'default', attempt: 1 },
    payload: { class: 'Add', args: [2n ** 61n, 'replaced by middleware'] },
    args: [2n ** 61n, 2n ** 60n],
  })
  expect(result.threadId).not.toBe(here)
  expect(seen).toEqual([2n ** 61n + 2n ** 60n])
})

test('while a handler keeps its thread busy, others run in the main thread and in other threads', async () => {
  const t = bench()
  const ran = new Collector<number>()
  t.hq.job('Quick', (_ctx, n: number) => ran.add(n))
  const jid = await push(t, 'Polite')
  const worker = await t.work()
  const [began] = await logged(t, 'began')
  for (let n = 1; n <= 5; n++) {
    await push(t, 'Quick', n)
    await ran.atLeast(n)
  }
  const add = await push(t, 'Add', 1, 2)
  const { sum, threadId } = await t.hq.result<{ sum: number; threadId: number }>(add)
  expect(sum).toBe(3)
  expect(threadId).not.toBe(began?.threadId)
  await expect(t.hq.result(jid, { timeout: 0 })).rejects.toMatchObject({ code: 'NO_RESULT' })
  await worker.stop()
  expect(await t.hq.result(jid)).toBe('broke off')
})

test('a thread is used again for the next job', async () => {
  const t = bench()
  await t.work()
  const threads = new Set<number>()
  for (let n = 0; n < 3; n++) {
    threads.add((await t.hq.result<{ threadId: number }>(await push(t, 'Add', n, n))).threadId)
    await t.settled()
  }
  expect(threads.size).toBe(1)
})

test('a thread reports which of several rows failed, and their errors', async () => {
  const t = bench()
  const task = await t.hq.tasks.create(t.hq.jobNamed('Lists') as never, [[1], [2], [3], [4]], { rowsPerJob: 4 })
  await t.work()
  await task.wait({ every: 10 })
  const events = await all(task.events())
  expect(events.map(({ status, code }) => [status, code])).toEqual([
    ['failed', 'price'],
    ['failed', 'Refused'],
    ['error', 'Error'],
    ['finished', null],
  ])
  expect(events.map(({ messages }) => messages.map(({ text }) => text).includes('of the last one'))).toEqual([
    ...[false, false, false, true],
  ])
})

test('log, message and progress of a thread arrive as those of other handlers', async () => {
  const t = bench()
  const told: unknown[] = []
  t.hq.server.use(async (ctx, next) => {
    const last = await next()
    told.push(
      ctx.messages.map(({ text }) => text),
      ctx.progressed,
      last,
    )
  })
  const jid = await push(t, 'Talk')
  await t.work()
  await t.settled()
  const last = { done: 1000, total: 1000, note: 'counting' }
  expect(told).toEqual([['a message'], last, last])
  const lines = t.log.lines.filter(({ level }) => level !== 'debug')
  expect(lines).toMatchObject([
    { level: 'info', about: { jid, class: 'Talk', deep: 1, n: 2 }, message: 'hello' },
    { level: 'error', about: { jid, class: 'Talk' }, message: 'without fields' },
    { level: 'warn', about: { jid, class: 'Talk', about: expect.stringContaining('Function') }, message: 'odd' },
  ])
})

test('messages and progress of code that runs on after its job in a thread are dropped', async () => {
  const t = bench()
  const told: unknown[] = []
  t.hq.server.use(async (ctx, next) => {
    await next()
    told.push([ctx.payload.class, ctx.messages.length, ctx.progressed])
  })
  const task = await t.hq.tasks.create(t.hq.jobNamed('Leaves') as never, [[1], [2]], { rowsPerJob: 2 })
  await t.work()
  await task.wait({ every: 10 })
  await push(t, 'Finds')
  await until(() => told.length === 2)
  expect(told).toEqual([
    ['Leaves', 0, undefined],
    ['Finds', 0, undefined],
  ])
})

test('the last progress of a burst arrives from a thread, while its handler runs and when it ends', async () => {
  const t = bench()
  const [waits, ends] = [await push(t, 'Burst', true), await push(t, 'Burst', false)]
  await t.work()
  for (const jid of [waits, ends]) await until(async () => (await t.hq.find(jid)).progress?.done === 7)
  expect(await t.hq.find(waits)).toMatchObject({ state: 'running' })
  await t.hq.cancel(waits)
  await t.settled()
})

// ---------------------------------------------------------------------------------------------------------- errors

test.each<[string, object]>([
  ['business', { processed: 1, failed: 0, retries: 0 }],
  ['declared', { processed: 1, failed: 0, retries: 0 }],
  ['discard', { processed: 1, failed: 1, retries: 0, dead: 0 }],
  ['kill', { processed: 1, failed: 1, retries: 0, dead: 1 }],
  ['snooze', { processed: 0, failed: 0, scheduled: 1 }],
])('what a handler throws in a thread (%s) ends its job as elsewhere', async (what, figures) => {
  const t = bench()
  await push(t, 'Throw', what)
  await t.work()
  await t.settled()
  expect(await t.hq.store.metrics.totals()).toMatchObject(figures)
})

test('an error leaves its thread with class, message, stack, members and causes', async () => {
  const t = bench()
  for (const what of ['mine', 'text', 'uncloneable']) await push(t, 'Throw', what)
  await t.work({ concurrency: 1 })
  await until(() => t.errors.length === 3)
  const [mine, text, odd] = t.errors.map(({ error }) => error) as [Error & { details: unknown }, unknown, Error]
  expect(mine).toBeInstanceOf(Error)
  expect(mine).toMatchObject({ name: 'Mine', message: 'of my own', code: 'mine', details: { a: [1n] } })
  expect(mine.stack).toMatch(/jobs\.js/)
  expect(mine.cause).toMatchObject({ name: 'TypeError', message: 'below', cause: 'the bottom' })
  expect(text).toBe('a text')
  expect(odd).toMatchObject({ name: 'Error', message: 'odd' })
  await t.settled()
  const stored = (await t.set('retry')).map(({ error_class, error_message }) => `${error_class} ${error_message}`)
  expect(stored.sort()).toEqual(['Error odd', 'Mine of my own', 'string a text'])
})

test("a result that can't be cloned is dropped: the job is done, and a warning is logged", async () => {
  const t = bench()
  const jid = await push(t, 'Odd')
  await t.work()
  await t.settled()
  expect(await t.hq.stats()).toMatchObject({ processed: 1, failed: 0 })
  expect(t.log.lines).toContainEqual(
    expect.objectContaining({ level: 'warn', about: expect.objectContaining({ jid }) }),
  )
})

// ------------------------------------------------------------------------------------------------------ being ended

test('a handler that blocks its thread is ended with the thread at its timeout, and another thread replaces it', async () => {
  const t = bench()
  await push(t, 'Deaf')
  await t.work({ concurrency: 1 })
  const [{ threadId } = {}] = await logged(t, 'began')
  await until(() => t.errors.length === 1)
  expect(t.errors).toMatchObject([{ error: { code: 'JOB_TIMEOUT' } }])
  const next = await t.hq.result<{ threadId: number }>(await push(t, 'Add', 1, 2))
  expect(next.threadId).not.toBe(threadId)
  expect(await t.hq.store.metrics.totals()).toMatchObject({ processed: 2, failed: 1, retries: 1 })
})

test('a handler that blocks its thread is ended with the thread when its job is cancelled', async () => {
  const t = bench()
  const jid = await push(t, 'Endless')
  await t.work({ concurrency: 1 })
  const [{ threadId } = {}] = await logged(t, 'began')
  expect(await t.hq.cancel(jid)).toBe('signalled')
  await t.settled()
  const next = await t.hq.result<{ threadId: number }>(await push(t, 'Add', 1, 2))
  expect(next.threadId).not.toBe(threadId)
  expect(t.errors).toEqual([])
  expect(await t.hq.store.metrics.totals()).toMatchObject({ processed: 2, failed: 0, retries: 0 })
  expect(await t.hq.cancel(jid)).toBe('not-found')
})

test('a handler that obeys its signal keeps its thread', async () => {
  const t = bench()
  await push(t, 'Listens')
  await t.work({ concurrency: 1 })
  const [told] = await logged(t, 'told')
  expect(told).toMatchObject({ code: 'JOB_TIMEOUT' })
  await until(() => t.errors.length === 1)
  expect(t.errors).toMatchObject([{ error: { code: 'JOB_TIMEOUT' } }])
  expect(await t.hq.result(await push(t, 'Add', 1, 2))).toMatchObject({ threadId: told?.threadId })
})

test('a loop sees ctx.interrupted when its worker is quiet; a loop that ignores it is ended at the stop and requeued', async () => {
  const t = bench()
  const polite = await push(t, 'Polite')
  const deaf = await push(t, 'Endless')
  const worker = await t.work({ timeout: 0.3 })
  await logged(t, 'began', 2)
  await worker.quiet()
  expect(await t.hq.result(polite)).toBe('broke off')
  await worker.stop()
  expect(await t.queue()).toMatchObject([{ jid: deaf }])
  expect(await t.hq.store.metrics.totals()).toMatchObject({ processed: 1, failed: 0, fetched: 0, retries: 0 })
  expect(t.errors).toEqual([])
})

test('a job that is cancelled is ended with its thread, and is no failure', async () => {
  const t = bench()
  const jid = await push(t, 'Endless')
  await t.work()
  await logged(t, 'began')
  expect(await t.hq.cancel(jid)).toBe('signalled')
  await t.settled()
  expect(await t.hq.store.metrics.totals()).toMatchObject({ processed: 1, failed: 0, retries: 0, dead: 0 })
  expect(t.errors).toEqual([])
})

test('when the lease is lost the threads of its jobs end, and the jobs run anew', async () => {
  const t = bench()
  const jid = await push(t, 'Endless', 2500)
  await t.work({ leaseSeconds: 1 })
  const [first] = await logged(t, 'began')
  const [lease] = await t.hq.store.workers.leases()
  await t.hq.store.workers.claim(lease?.owner ?? '')
  const [, second] = await logged(t, 'began', 2)
  expect(second?.threadId).not.toBe(first?.threadId)
  expect(await t.hq.result(jid)).toBe(second?.threadId)
  expect((await t.hq.stats()).failed).toBe(0)
})

// ------------------------------------------------------------------------------------------------------------ dying

test.each([
  ['Exit', /ended by itself/],
  ['Crash', /uncaught/],
  ['Greedy', /memory/],
])('a thread that dies (%s) fails its own job alone', async (name, why) => {
  const t = bench()
  const other = await push(t, 'Endless', 1500)
  const jid = await push(t, name)
  await t.work()
  await until(() => t.errors.length === 1)
  expect(t.errors).toMatchObject([
    { error: { code: 'THREAD_DIED', message: expect.stringMatching(why) }, about: { jid } },
  ])
  expect(await t.hq.result(await push(t, 'Add', 1, 2))).toMatchObject({ sum: 3 })
  await t.hq.result(other)
  await t.settled()
  expect(await t.set('retry')).toMatchObject([{ jid, retry_count: 0 }])
  expect(await t.hq.store.metrics.totals()).toMatchObject({ processed: 3, failed: 1 })
})

test('an uncaught error after a job in a thread is reported, and the next job gets another thread', async () => {
  const t = bench()
  await push(t, 'Careless')
  await t.work()
  await t.settled()
  await until(() => t.errors.length === 1)
  expect(t.errors).toMatchObject([{ error: { message: 'left behind' } }])
  expect(await t.hq.result(await push(t, 'Add', 1, 2))).toMatchObject({ sum: 3 })
  expect((await t.hq.stats()).processed).toBe(2)
})

test('a thread that dies after it was reserved for a job fails the job', async () => {
  const t = bench()
  t.hq.server.use(async (ctx, next) => {
    if (ctx.payload.class === 'Add') await until(() => t.errors.length === 1)
    return next()
  })
  await push(t, 'Careless', 1000)
  await t.work()
  await t.settled()
  const jid = await push(t, 'Add', 1, 2)
  await until(async () => (await t.set('retry')).length === 1)
  expect(await t.set('retry')).toMatchObject([
    { jid, error_class: 'HighkiqError', error_message: expect.stringContaining('left behind') },
  ])
})

test('a thread stays busy when middleware returns before its handler does', async () => {
  const t = bench()
  t.hq.server.use(async (ctx, next) => {
    if (ctx.payload.class !== 'Endless') return next()
    void Promise.resolve(next()).catch(() => {})
    await logged(t, 'began')
    return 'early'
  })
  const early = await push(t, 'Endless', 2000)
  await t.work()
  expect(await t.hq.result(early)).toBe('early')
  expect(await t.hq.result(await push(t, 'Add', 1, 2))).toMatchObject({ sum: 3 })
})

test('middleware that calls next() late or twice gets an error, and its thread serves other jobs', async () => {
  const t = bench()
  let late: (() => unknown) | undefined
  let twice: unknown
  t.hq.server.use(async (ctx, next) => {
    const [how] = ctx.payload.args as string[]
    if (how === 'late') {
      late = next
      return 'early'
    }
    const first = next()
    if (how === 'twice') twice = await Promise.resolve(next()).catch((thrown: unknown) => thrown)
    return first
  })
  await t.work()
  expect(await t.hq.result(await push(t, 'Add', 'late', 1))).toBe('early')
  await expect(late?.()).rejects.toMatchObject({ code: 'INVALID_OPTION' })
  expect(await t.hq.result(await push(t, 'Add', 'twice', 2))).toMatchObject({ sum: 'twice2' })
  expect(twice).toMatchObject({ code: 'INVALID_OPTION' })
  expect(await t.hq.result(await push(t, 'Add', 1, 2))).toMatchObject({ sum: 3 })
})

// ------------------------------------------------------------------------------------------------------------ files

test('the timeout of a job starts when its thread has loaded; an abort before that does not end the thread', async () => {
  const t = plain()
  process.env.HIGHKIQ_TEST_THREADS = t.url
  const slow = new URL('./threads/slow-to-load.js', import.meta.url)
  const J = t.hq.job('J', { thread: slow, timeout: 0.3, keepResult: 60 }, () => {})
  const jid = (await J.performAsync()) as string
  await t.work()
  expect(await t.hq.result(jid)).toBe('loaded')
})

test('a worker that is stopped while a thread loads requeues the job', async () => {
  const t = plain()
  process.env.HIGHKIQ_TEST_THREADS = t.url
  const J = t.hq.job('J', { thread: new URL('./threads/slow-to-load.js', import.meta.url) }, () => {})
  const jid = await J.performAsync()
  const worker = await t.work({ timeout: 0.01 })
  await until(() => worker.busy === 1)
  await worker.stop()
  expect(await t.queue()).toMatchObject([{ jid }])
  expect(await t.hq.store.metrics.totals()).toMatchObject({ processed: 0, fetched: 0 })
})

test('a handler in a thread pushes through the app of its thread', async () => {
  const t = bench()
  await push(t, 'Pushes')
  await t.work()
  await until(async () => (await t.queue('other')).length === 1)
  expect(await t.queue('other')).toMatchObject([{ class: 'Other', args: [false] }])
})

test("a thread can't reach a database in memory, and says so", async () => {
  const t = bench({ url: 'sqlite::memory:' })
  await push(t, 'Pushes')
  await t.work()
  await until(() => t.errors.length === 1)
  expect(t.errors).toMatchObject([{ error: { code: 'STORE_UNUSABLE', message: expect.stringMatching(/in memory/) } }])
})

test('a queue that is bound to a handler may have it in a thread', async () => {
  const t = bench()
  await t.hq.push({ class: 'Ruby', args: [1, 2], queue: 'bound' })
  await t.work()
  expect(await logged(t, 'bound')).toMatchObject([{ args: [1, 2], class: 'Ruby' }])
})

test('the file may be TypeScript, and the app may name it', async () => {
  const { hq, Typed } = await import('./threads/typed.ts')
  onTestFinished(() => hq.close())
  const jid = (await Typed.performAsync(5)) as string
  await hq.worker().start()
  const [kind, n, threadId] = (await hq.result(jid)) as unknown[]
  expect([kind, n]).toEqual(['thread', 5])
  expect(threadId).not.toBe(here)
})

test('performInline runs the handler in the calling thread', async () => {
  const { hq, Typed } = await import('./threads/typed.ts')
  onTestFinished(() => hq.close())
  expect(await Typed.performInline(5)).toEqual(['thread', 5, here])
})

test('a job without a file is refused before a worker starts', () => {
  const { hq } = plain({ url: 'sqlite::memory:' })
  hq.job('J', { thread: true }, () => {})
  expect(() => hq.worker()).toThrow(/J: .*import\.meta\.url/)
})

test.each([null, 5, '', { path: 'x' }])('thread: %o is refused', (thread) => {
  const { hq } = plain({ url: 'sqlite::memory:' })
  const options = { thread: thread as never }
  expect(() => hq.job('J', options, () => {})).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }))
})

test("a file that can't be loaded, does not know the job, or starts a worker, fails the job with the reason", async () => {
  const t = plain()
  t.hq.job('Missing', { thread: new URL('./threads/nowhere.js', import.meta.url) }, () => {})
  t.hq.job('Unknown', { thread: new URL('./threads/jobs.js', import.meta.url) }, () => {})
  process.env.HIGHKIQ_TEST_THREADS = t.url
  await push(t, 'Missing')
  await push(t, 'Unknown')
  await t.work({ concurrency: 1 })
  await until(() => t.errors.length === 2)
  expect(t.errors).toMatchObject([
    { error: { message: expect.stringMatching(/nowhere\.js/) } },
    { error: { code: 'UNKNOWN_JOB', message: expect.stringMatching(/jobs\.js defines no job "Unknown"/) } },
  ])
  const { hq, J, worker } = await import('./threads/starts-worker.js')
  onTestFinished(() => hq.close())
  hq.onError(() => {})
  const jid = (await J.performAsync()) as string
  await worker.start()
  await expect(hq.result(jid)).rejects.toMatchObject({
    details: { message: expect.stringMatching(/file of their own/) },
  })
})

// ------------------------------------------------------------------------------------------------------------ seeing

test('SIGTTIN shows the stack and the job of a busy thread', async () => {
  const t = bench()
  const jid = await push(t, 'Endless')
  const worker = await t.work({ timeout: 0.01 })
  const [{ threadId } = {}] = await logged(t, 'began')
  await t.hq.store.workers.signal(worker.identity, 'TTIN')
  const file = join(tmpdir(), `highkiq_ttin_${process.pid}.txt`)
  onTestFinished(() => rmSync(file, { force: true }))
  // A beat comes at once with this.
  await worker.quiet()
  const name = `thread ${threadId} (${jid} Endless)`
  const [told] = await logged(t, '1 job is running')
  expect(told?.stacks).toMatchObject({ [name]: expect.arrayContaining([expect.stringMatching(/at spin .*jobs\.js/)]) })
  await until(() => readFileSync(file, 'utf8').includes(name))
})

test('a thread that is ended while it writes to the file does not block other writers', async () => {
  const t = bench()
  const log = recorder()
  const hq = new Highkiq({ url: t.url, logger: log })
  onTestFinished(() => hq.close())
  await push(t, 'Floods')
  const worker = await t.work({ concurrency: 1, timeout: 0.2 })
  await until(async () => (await t.hq.store.metrics.totals()).scheduled > 50)
  await worker.stop()
  await hq.push({ class: 'X', args: [] })
  expect(await t.queue()).toMatchObject([{ class: 'Floods' }, { class: 'X' }])
})
