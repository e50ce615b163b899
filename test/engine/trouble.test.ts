import { existsSync } from 'node:fs'
import type { PushError } from 'highkiq'
import { expect, onTestFinished, test } from 'vitest'
import type { PushItem, Renewer } from '#dist/store/contract.js'
import type { Driver } from '#dist/store/sqlite/file/driver.js'
import { openDriver } from '#dist/store/sqlite/file/open-driver.js'
import { type Bench, bench, Child, Collector, gate, until } from './bench.ts'

/** Uses the file as another program would. */
async function beside<T>({ url }: Bench, use: (db: Driver) => Promise<T> | T): Promise<T> {
  const db = await openDriver(url.slice('sqlite:'.length))
  try {
    return await use(db)
  } finally {
    db.close()
  }
}

/** Runs it as soon as nobody else writes. */
async function exec(db: Driver, sql: string): Promise<void> {
  await until(() => {
    try {
      db.exec(sql)
      return true
    } catch (thrown) {
      if (db.resultCode(thrown) === 5) return false
      throw thrown
    }
  })
}

test('while another program locks the file, pushes and settlements wait; then all are stored, and no job runs twice', async () => {
  const t = bench()
  const { opened, open } = gate()
  const ran = new Collector<number>()
  const J = t.hq.job('J', async (_ctx, n: number) => {
    ran.add(n)
    if (n < 5) await opened
  })
  await J.performBulk([[0], [1], [2], [3], [4]])
  await t.work({ leaseSeconds: 1 })
  await ran.atLeast(5)
  const pushed: (string | null)[] = []
  await beside(t, async (db) => {
    await exec(db, 'BEGIN IMMEDIATE')
    open()
    for (let n = 5; n < 15; n++) void J.performAsync(n).then((jid) => pushed.push(jid))
    // As long as the lock is, past the end of the lease.
    await new Promise((resolve) => setTimeout(resolve, 1500))
    expect(pushed).toEqual([])
    db.exec('COMMIT')
  })
  await ran.atLeast(15)
  await t.settled()
  expect([...ran.all].sort((a, b) => a - b)).toEqual(Array.from({ length: 15 }, (_, n) => n))
  expect(pushed).toHaveLength(15 - 5)
  expect(await t.hq.store.metrics.totals()).toMatchObject({ processed: 15, failed: 0, retries: 0, fetched: 0 })
})

test('a push of more jobs than one step takes says what is stored when the file refuses a later step', async () => {
  const t = bench()
  await t.hq.store.open()
  const items = Array.from({ length: 1500 }, (_, n): PushItem => {
    return { to: 'queue', queue: 'q', text: `{"class":"J","args":[${n}]}`, end: 'back' }
  })
  const refusal = "WHEN instr(NEW.text, '[1200]') BEGIN SELECT RAISE(ABORT, 'odd'); END"
  await beside(t, (db) => exec(db, `CREATE TRIGGER refuse BEFORE INSERT ON hk_ready ${refusal}`))
  const thrown = (await t.hq.store.jobs.push(items, t.clock.now()).catch((error) => error)) as PushError
  expect(thrown).toMatchObject({ code: 'PUSH_FAILED', message: expect.stringContaining('odd') })
  expect(thrown.parts?.stored).toEqual(new Set(items.slice(0, 1000)))
  expect(thrown.parts?.notStored).toEqual(new Set(items.slice(1000)))
  expect(await t.queue('q')).toHaveLength(1000)
})

test('a job that ended counts as settled while the file refuses to fetch the next one', async () => {
  const t = bench()
  const { opened, open } = gate()
  const ran = new Collector<string>()
  const J = t.hq.job('J', async (_ctx, name: string) => {
    ran.add(name)
    if (name === 'first') await opened
  })
  await J.performAsync('first')
  await t.work({ concurrency: 1 })
  await ran.atLeast(1)
  await beside(t, async (db) => {
    const refusal = "WHEN instr(NEW.text, 'second') BEGIN SELECT RAISE(ABORT, 'odd'); END"
    await exec(db, `CREATE TRIGGER odd BEFORE INSERT ON hk_fetched ${refusal}`)
    await J.performAsync('second')
    open()
    await until(async () => (await t.hq.stats()).processed === 1)
    await exec(db, 'DROP TRIGGER odd')
  })
  await ran.atLeast(2)
  await t.settled()
  expect(t.errors.map(({ error }) => error.code)).not.toContain('LEASE_LOST')
})

test('a worker that stops while another program locks the file ends in time, names that program, and loses nothing', async () => {
  const t = bench()
  const ran = new Collector<number>()
  t.hq.job('Deaf', async (_ctx, n: number) => ran.add(n))
  await t.hq.push({ class: 'Deaf', args: [1, 200] })
  const child = new Child(t.url, { timeout: 3 })
  await child.waitFor('began')
  await beside(t, async (db) => {
    await exec(db, 'BEGIN IMMEDIATE')
    // The store can't write the end of the job, and the file stays locked until the process has ended.
    await child.waitFor('ended')
    child.kill('SIGTERM')
    expect(await child.exited).toEqual({ code: 0, signal: null })
    db.exec('ROLLBACK')
  })
  const warned = child.all('warned').map(({ message }) => message)
  expect(warned).toEqual([expect.stringMatching(`process ${process.pid} \\(.*\\) keeps the file locked for 5 s now`)])
  await t.work({ leaseSeconds: 1 })
  expect(await ran.atLeast(1)).toEqual([1])
  await t.settled()
})

test('an app closes while another program holds the file locked, and reports what it could not store', async () => {
  const t = bench()
  await t.work({ timeout: 0.1 })
  await beside(t, async (db) => {
    await exec(db, 'BEGIN IMMEDIATE')
    const pushed = t.hq.push({ class: 'J', args: [] })
    const refused = expect(pushed).rejects.toMatchObject({ code: 'PUSH_FAILED', message: /keeps the file locked/ })
    // The file stays locked until the app has closed.
    await t.hq.close()
    await refused
    db.exec('ROLLBACK')
  })
})

test('on a full disk pushes are refused with their jids and not stored; workers free space, and pushes work again', async () => {
  const t = bench({ query: '?maxMegabytes=1' })
  const ran = new Collector<number>()
  const J = t.hq.job('J', async (_ctx, n: number, _text: string) => ran.add(n))
  const accepted = new Map<string | null, number>()
  let refusal: unknown
  for (let n = 0; !refusal; n++) {
    const jid = `jid-${n}`
    try {
      accepted.set(await J.set({ jid }).performAsync(n, 'x'.repeat(5000)), n)
    } catch (thrown) {
      refusal = thrown
      expect(thrown).toMatchObject({
        name: 'PushError',
        code: 'PUSH_FAILED',
        jids: [jid],
        maybePushed: false,
        message: expect.stringMatching(/has reached its limit/),
      })
    }
  }
  expect(accepted.size).toBeGreaterThan(50)
  expect((await t.hq.stats()).enqueued).toBe(accepted.size)
  await t.work()
  await ran.atLeast(accepted.size)
  await t.settled()
  expect(ran.all).toEqual([...accepted.values()])
  expect(await t.hq.store.metrics.totals()).toMatchObject({ processed: accepted.size, failed: 0, fetched: 0 })
  await J.performAsync(-1, 'x'.repeat(5000))
  await ran.atLeast(accepted.size + 1)
})

test('2,500 pushes at once on a disk that becomes full: each error says whether its job is stored', async () => {
  const t = bench({ query: '?maxMegabytes=1' })
  const J = t.hq.job('J', async (_ctx, _text: string) => {})
  const answers = await Promise.allSettled(Array.from({ length: 2500 }, () => J.performAsync('x'.repeat(400))))
  const stored = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []))
  const refused = answers.flatMap((answer) => (answer.status === 'rejected' ? [answer.reason] : []))
  expect(refused.length).toBeGreaterThan(0)
  for (const reason of refused) expect(reason).toMatchObject({ code: 'PUSH_FAILED', maybePushed: false })
  const queue = (await t.hq.store.jobs.peek('default', 0, 5000)).map((text) => JSON.parse(text).jid)
  expect(queue).toEqual(stored)
})

test('performBulk on a full disk names the jids of the batch that is not stored', async () => {
  const t = bench({ query: '?maxMegabytes=1' })
  const J = t.hq.job('J', async (_ctx, _text: string) => {})
  const rows = Array.from({ length: 1000 }, () => ['x'.repeat(2000)] as [string])
  const refusal = await J.performBulk(rows, { batchSize: 100 }).catch((thrown) => thrown)
  expect(refusal).toMatchObject({ code: 'PUSH_FAILED', maybePushed: false })
  expect(refusal.jids).toHaveLength(100)
  const queue = new Set((await t.hq.store.jobs.peek('default', 0, 5000)).map((text) => JSON.parse(text).jid))
  expect(queue.size % 100).toBe(0)
  expect(refusal.notPushed).toEqual(refusal.jids)
  const refused = refusal.jids.map((_: string, i: number) => queue.size + i)
  expect(refusal.details).toMatchObject({ rows: refused, next: queue.size + 100 })
  expect(new Set(refusal.pushed)).toEqual(queue)
  for (const jid of refusal.jids) expect(queue.has(jid)).toBe(false)
})

/** Retries can't be stored meanwhile. */
const REFUSE = `CREATE TRIGGER refuse BEFORE INSERT ON hk_entry WHEN NEW."set" = 1 BEGIN SELECT raise(ABORT, 'not now'); END`

test("a settlement that can't be stored is sent again until it can, and the handler does not run again", async () => {
  const t = bench()
  const ran = new Collector<number>()
  const J = t.hq.job('J', async () => {
    ran.add(1)
    throw new Error('broken')
  })
  const jid = await J.performAsync()
  await beside(t, (db) => exec(db, REFUSE))
  await t.work()
  await until(() => t.errors.length === 3)
  expect(t.errors.map(({ about }) => about.during)).toEqual([undefined, 'fetching jobs', 'fetching jobs'])
  expect(t.errors.slice(1).map(({ error }) => error.message)).toEqual([
    expect.stringMatching(/not now/),
    expect.stringMatching(/could not settle a job.*not now/),
  ])
  expect(await t.hq.store.metrics.totals()).toMatchObject({ processed: 0, retries: 0, fetched: 1 })
  await beside(t, (db) => exec(db, 'DROP TRIGGER refuse'))
  await t.settled()
  expect(ran.all).toHaveLength(1)
  expect(await t.set('retry')).toMatchObject([{ jid, retry_count: 0 }])
  expect(await t.hq.store.metrics.totals()).toMatchObject({ processed: 1, failed: 1, fetched: 0 })
})

test("deferred rows whose end can't be stored do not keep those behind them from their deadline", async () => {
  const t = bench()
  const Pay = t.hq.job('Pay', async (ctx) => {
    await ctx.defer({ within: 0.05 })
  })
  const refuse = `CREATE TRIGGER refuse BEFORE UPDATE ON hk_deferral WHEN NEW.state = 2 AND NEW.idx < 150
    BEGIN SELECT raise(ABORT, 'not now'); END`
  const rows = Array.from({ length: 155 }, (): [] => [])
  const task = await t.hq.tasks.create(Pay, rows, { window: 155 })
  await beside(t, (db) => exec(db, refuse))
  await t.work({ concurrency: 10 })
  await until(async () => (await task.status())?.counts.error === 5)
  const failed = t.errors.filter(({ about }) => about.during === 'ending a deferred row')
  expect(new Set(failed.map(({ about }) => about.jid)).size).toBe(failed.length)
  expect(await task.status()).toMatchObject({ state: 'running', deferred: 150 })
  await beside(t, (db) => exec(db, 'DROP TRIGGER refuse'))
  for await (const { jid, index } of task.events()) if (index < 150) await t.hq.tasks.finish(jid)
  expect(await task.wait()).toMatchObject({ counts: { finished: 150, error: 5 } })
})

test("a settlement that can't be stored does not block the others", async () => {
  const t = bench()
  const { store } = t.hq
  await t.raw('{"n":1}')
  await t.raw('{"n":2}')
  await store.workers.join('me', { queues: ['default'], seconds: 15, host: '' })
  const nothing = { now: Date.now(), started: [], settlements: [], fetch: { queues: ['default'], n: 0 } }
  const { fetched: taken } = await store.workers.settleAndFetch('me', {
    ...nothing,
    fetch: { queues: ['default'], n: 2 },
  })
  await beside(t, (db) => exec(db, REFUSE))
  const retry = { to: 'retry', text: '{}', score: 1 } as const
  const settlements = taken.map(({ queue, ticket }, i) => ({
    queue,
    ticket,
    move: i === 0 ? retry : null,
    processed: 1 as const,
    failed: 0 as const,
  }))
  const answer = await store.workers.settleAndFetch('me', { ...nothing, settlements })
  expect(answer).toMatchObject({ settled: ['error', 'ok'], problem: expect.stringMatching(/./) })
})

test('a worker that is quieted and stopped during a fetch requeues what it fetched and runs nothing twice', async () => {
  const t = bench()
  const runs: number[] = []
  const J = t.hq.job('J', async (_ctx, n: number) => {
    runs.push(n)
    await new Promise((resume) => setTimeout(resume, 5))
  })
  for (let round = 0; round < 8; round++) {
    const worker = t.hq.worker({ concurrency: 5, leaseSeconds: 1 })
    await worker.start()
    await beside(t, async (db) => {
      await exec(db, 'BEGIN IMMEDIATE')
      // The worker's next take waits for the lock when it is told to end.
      void J.performBulk([[round]])
      await new Promise((resume) => setTimeout(resume, 20))
      void worker.quiet()
      const stopped = worker.stop()
      await new Promise((resume) => setTimeout(resume, 20))
      db.exec('COMMIT')
      await stopped
    })
    expect(await t.hq.store.metrics.totals()).toMatchObject({ fetched: 0 })
  }
  await t.work({ leaseSeconds: 1 })
  await until(() => new Set(runs).size === 8)
  await until(async () => (await t.hq.store.metrics.totals()).processed === 8)
  expect(runs).toHaveLength(8)
})

test('an idle worker seldom tries to acquire the leader lock of due jobs, however much others write', async () => {
  const t = bench()
  let asked = 0
  const { store } = t.hq
  const hold = store.workers.acquireLock.bind(store.workers)
  store.workers.acquireLock = (name, ...about) => {
    if (name === 'due-jobs') asked++
    return hold(name, ...about)
  }
  await t.work({ queues: ['nothing'] })
  const other = t.another()
  const began = performance.now()
  for (let n = 0; n < 300; n++) await other.hq.push({ class: 'A', args: [n], queue: 'heap' })
  const seconds = (performance.now() - began) / 1000
  expect(asked).toBeLessThanOrEqual(2 + Math.ceil(seconds * 2))
})

test('half a surrogate pair in a text is replaced, and no job fails of it', async () => {
  const t = bench()
  const ran = new Collector<unknown>()
  t.hq.job('J', async (_ctx, text: string) => ran.add(text))
  await t.raw('{"class":"J","jid":"a","args":["\ud800!"]}')
  await t.raw('{"class":"J","jid":"b","args":["\\udc00?"]}')
  await t.work()
  expect(await ran.atLeast(2)).toEqual(['\ufffd!', '\udc00?'])
})

test('jobs of the largest allowed size are fetched a few at a time', async () => {
  const t = bench()
  const sizes = new Collector<number>()
  const J = t.hq.job('J', async (_ctx, text: string) => sizes.add(text.length))
  for (let n = 0; n < 8; n++) await J.performAsync('x'.repeat(9_000_000))
  await t.work({ concurrency: 100 })
  expect(await sizes.atLeast(8)).toEqual(Array(8).fill(9_000_000))
})

test("a job with a task but without a row's jid goes to the dead set, and the other jobs run", async () => {
  const t = bench()
  const ran = new Collector<number>()
  const J = t.hq.job('J', async (_ctx, n: number) => ran.add(n))
  await t.raw('{"class":"J","args":[],"hk_task":"0000000000000000"}')
  await J.performBulk([[1], [2], [3]])
  await t.work()
  expect(await ran.atLeast(3)).toEqual([1, 2, 3])
  await until(async () => (await t.hq.store.metrics.totals()).dead === 1)
})

test('a settlement that the store refuses again and again ends after some attempts', async () => {
  const t = bench()
  const ran = new Collector<number>()
  const J = t.hq.job('J', { retryIn: () => 1e-9 }, async (_ctx, n: number) => {
    ran.add(n)
    if (n === 0) throw new Error('x')
  })
  await J.performBulk([[0], [1], [2]])
  await beside(t, (db) => exec(db, REFUSE))
  await t.work({ concurrency: 1 })
  await ran.atLeast(3)
  await until(async () => (await t.hq.store.metrics.totals()).dead === 1)
  expect(ran.all).toEqual([0, 1, 2])
})

test('a renewal that waits while the file is locked changes nothing when it is no longer wanted', async () => {
  const { hq, url } = bench()
  const { workers } = hq.store
  await workers.join('busy', { queues: ['q'], seconds: 60, host: 'here' })
  const before = await workers.leases()
  const { module, options } = workers.renewer() as Renewer
  const { renew, close } = await (await import(module)).openRenewer(options)
  onTestFinished(close)
  const db = await openDriver(url.slice('sqlite:'.length))
  onTestFinished(() => db.close())
  let isWanted = true
  await exec(db, 'BEGIN IMMEDIATE')
  const renewed = renew('busy', 60, () => isWanted)
  // The renewal has found the file locked by then.
  await until(() => existsSync(`${url.slice('sqlite:'.length)}-queue`))
  isWanted = false
  db.exec('COMMIT')
  expect(await renewed).toBe(false)
  expect(await workers.leases()).toEqual(before)
  isWanted = true
  expect(await renew('busy', 60, () => isWanted)).toBe(true)
  expect(await workers.leases()).not.toEqual(before)
})

test('a lease thread that fails is started again, and a stop meanwhile does not wait for it', async () => {
  const t = bench()
  t.hq.store.workers.renewer = () => ({ module: 'file:///nowhere/renewer.js', options: {} })
  const worker = await t.work({ leaseSeconds: 5 })
  await until(() => t.errors.length >= 2)
  expect(t.errors[0]?.about.during).toMatch(/lease thread; it is started again/)
  await worker.stop()
  expect(await t.hq.store.workers.leases()).toEqual([])
})
