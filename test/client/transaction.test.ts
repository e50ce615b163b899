import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Highkiq } from 'highkiq'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { SqlConnection } from '#dist/store/contract.js'
import { openDriver } from '#dist/store/sqlite/file/open-driver.js'
import { type Bench, bench, Collector, storeOfSuite, until } from '../engine/bench.ts'

/** PostgreSQL has another form: test/postgres/transaction.test.ts. */
const onSqlite = storeOfSuite() === 'SQLite'
const noop = async () => {}

test.runIf(storeOfSuite() === 'Redis')('on Redis a transaction is refused, with the reason', async () => {
  const { hq } = bench()
  let ran = false
  await expect(
    hq.transaction(() => {
      ran = true
    }),
  ).rejects.toMatchObject({ code: 'NO_TRANSACTION', message: expect.stringMatching(/^redis:.*commit them first/) })
  expect(ran).toBe(false)
})

/** An app with a table of its own in the same file. */
async function shop(): Promise<Bench & { orders: () => Promise<number[]>; jobs: () => Promise<unknown[]> }> {
  const t = bench()
  await t.hq.transaction((db) => {
    db.exec('CREATE TABLE "order" (id INTEGER PRIMARY KEY)')
  })
  return {
    ...t,
    orders: () =>
      t.hq.transaction((db) =>
        db
          .prepare('SELECT id FROM "order" ORDER BY id')
          .all()
          .map((row) => (row as { id: number }).id),
      ),
    jobs: async () => (await t.queue()).map(({ args }) => args[0]),
  }
}

/** A statement of either driver, with the method that `SqlConnection` lacks. */
type AppStatement = ReturnType<SqlConnection['prepare']> & { iterate(): Iterable<unknown> }

function leave(statement: AppStatement): void {
  for (const _row of statement.iterate()) break
}

function leaveByError(statement: AppStatement): void {
  const no = new Error('no')
  expect(() => {
    for (const _row of statement.iterate()) throw no
  }).toThrow(no)
}

describe.runIf(onSqlite)('a transaction', () => {
  test('a tracked job of a transaction has its event, also when its middleware waits for something', async () => {
    const { hq } = await shop()
    const Tracked = hq.job('Tracked', { track: true }, async (_ctx, _n: number) => {})
    const trackedIn = async (n: number) => {
      let pushed: Promise<string | null> | undefined
      await hq.transaction(() => {
        pushed = Tracked.performAsync(n)
      })
      return (await pushed) as string
    }
    expect(await hq.tasks.event(await trackedIn(1))).toMatchObject({ status: 'enqueued', args: [1] })
    hq.client.use(async (payload, next) => {
      if (payload.class === 'Tracked') await sleep(1)
      return next()
    })
    expect(await hq.tasks.event(await trackedIn(2))).toMatchObject({ status: 'enqueued', args: [2] })
  })

  test("rows and jobs are committed together; pushes resolve after the commit, and the function's value is returned", async () => {
    const { hq, orders, jobs, set } = await shop()
    const J = hq.job('J', async (_ctx, _n: number) => {})
    const order: string[] = []
    const pushes: Promise<unknown>[] = []
    const answer = await hq
      .transaction((db) => {
        db.prepare('INSERT INTO "order" VALUES (?)').run(1)
        pushes.push(
          J.performAsync(1).then((jid) => {
            order.push('pushed')
            return jid
          }),
          hq.push({ class: 'Other', args: [2] }),
          J.performIn(60, 3),
          J.performAt(new Date(Date.now() + 60_000), 4),
          J.performBulk([[5], [6]]),
          hq.pushBulk({ class: 'J', args: new Set([[7]]) }),
          J.set({ tags: ['x'], idempotent: true }).performAsync(8),
        )
        order.push('ran')
        return 'answer'
      })
      .finally(() => order.push('committed'))
    expect(answer).toBe('answer')
    const jids = await Promise.all(pushes)
    expect(order).toEqual(['ran', 'pushed', 'committed'])
    expect(await orders()).toEqual([1])
    expect(await jobs()).toEqual([1, 2, 5, 6, 7, 8])
    expect((await set('schedule')).map(({ args }) => args[0])).toEqual([3, 4])
    expect(jids.flat()).toHaveLength(8)
    for (const jid of jids.flat()) expect(jid).toMatch(/^[0-9a-f]{24}$/)
  })

  test('when the function throws, nothing is stored, its error is thrown, and no rejection is unhandled', async () => {
    const { hq, orders, jobs } = await shop()
    const unheard: unknown[] = []
    const listen = (thrown: unknown) => unheard.push(thrown)
    process.on('unhandledRejection', listen)
    onTestFinished(() => void process.off('unhandledRejection', listen))
    const no = new Error('no')
    let push: Promise<unknown> | undefined
    const failing = hq.transaction((db) => {
      db.prepare('INSERT INTO "order" VALUES (?)').run(1)
      push = hq.push({ class: 'J', args: [1] })
      void hq.pushBulk({ class: 'J', args: [[2]] })
      throw no
    })
    await expect(failing).rejects.toBe(no)
    await sleep(10)
    expect(unheard).toEqual([])
    await expect(push).rejects.toMatchObject({ code: 'PUSH_FAILED', maybePushed: false, jids: [expect.any(String)] })
    expect(await orders()).toEqual([])
    expect(await jobs()).toEqual([])
  })

  test('ordered jobs are committed with rows, or not at all', async () => {
    const { hq, orders } = await shop()
    const Sync = hq.ordered('Sync', { prepare: async (item) => ({ ...item, score: 7 }) }, noop)
    const waiting = async () => {
      const { items } = await Sync.waiting.list({ by: 'id' })
      return items.map(({ id, payloads }) => [id, payloads.map(({ score }) => score)])
    }
    const told: unknown[] = []
    await hq.transaction((db) => {
      db.prepare('INSERT INTO "order" VALUES (1)').run()
      void Sync.performAsync([{ id: 1 }, { id: 2, payload: { v: 1 } }]).then((n) => told.push(n))
    })
    expect(told).toEqual([2])
    expect(await waiting()).toEqual([
      ['1', [7]],
      ['2', [7]],
    ])
    const rejected: unknown[] = []
    const failing = hq.transaction((db) => {
      db.prepare('INSERT INTO "order" VALUES (2)').run()
      Sync.performAsync([{ id: 3 }]).catch((thrown) => rejected.push(thrown))
      throw new Error('no')
    })
    await expect(failing).rejects.toThrow('no')
    const wrong = hq.transaction((db) => {
      db.prepare('INSERT INTO "order" VALUES (3)').run()
      Sync.performAsync([{ id: 4 }, { id: '' }]).catch((thrown) => rejected.push(thrown))
    })
    await expect(wrong).rejects.toMatchObject({ code: 'INVALID_JOB' })
    const Slow = hq.ordered('Slow', { prepare: (item) => sleep(1, item) }, noop)
    const late = hq.transaction(() => {
      Slow.performAsync([{ id: 5 }]).catch((thrown) => rejected.push(thrown))
    })
    await expect(late).rejects.toMatchObject({ code: 'INVALID_OPTION', message: expect.stringContaining('prepare') })
    expect(rejected).toMatchObject([1, 2, 3].map(() => ({ code: 'PUSH_FAILED', maybePushed: false })))
    expect(await orders()).toEqual([1])
    expect(await waiting()).toHaveLength(2)
  })

  test('an error of a statement rolls the transaction back and is thrown unchanged', async () => {
    const { hq, orders, jobs } = await shop()
    const insert = () =>
      hq.transaction((db) => {
        void hq.push({ class: 'J', args: [1] })
        db.prepare('INSERT INTO "order" VALUES (?)').run(1)
      })
    await insert()
    await expect(insert()).rejects.toThrow(/UNIQUE constraint failed/)
    expect(await orders()).toEqual([1])
    expect(await jobs()).toEqual([1])
  })

  test('a refused push rolls the transaction back, even if its promise is ignored', async () => {
    const { hq, orders } = await shop()
    const J = hq.job('J', async (_ctx, _a: unknown) => {})
    const refused: [() => unknown, string][] = [
      [() => J.performAsync(new Date()), 'INVALID_ARGS'],
      [() => J.performIn('soon', 1), 'INVALID_OPTION'],
      [() => hq.push({ class: '', args: [] }), 'INVALID_JOB'],
      [() => J.performBulk([[1], 5 as never]), 'INVALID_JOB'],
      [() => J.performBulk([[1]], { at: [] }), 'INVALID_JOB'],
      [() => J.performBulk(lazily()), 'INVALID_JOB'],
      [() => hq.transaction(() => {}), 'INVALID_OPTION'],
      [() => hq.tasks.create(J, [[1]]), 'INVALID_OPTION'],
      [() => hq.tasks.import(J as never, 'rows.csv'), 'INVALID_OPTION'],
    ]
    for (const [push, code] of refused) {
      const failing = hq.transaction((db) => {
        db.prepare('INSERT INTO "order" VALUES (?)').run(1)
        push()
      })
      await expect(failing).rejects.toMatchObject({ code })
    }
    expect(await orders()).toEqual([])
    expect((await hq.stats()).enqueued).toBe(0)
    async function* lazily(): AsyncGenerator<[number]> {
      yield [1]
    }
  })

  test('an async function is not run; a function that returns a promise is rolled back', async () => {
    const { hq, orders, jobs } = await shop()
    const words = { code: 'INVALID_OPTION', message: expect.stringContaining('must not return a promise') }
    let ran = 0
    await expect(
      hq.transaction(async () => {
        ran++
      }),
    ).rejects.toMatchObject(words)
    expect(ran).toBe(0)
    const failing = hq.transaction((db) => {
      db.prepare('INSERT INTO "order" VALUES (?)').run(1)
      return hq.push({ class: 'J', args: [1] })
    })
    await expect(failing).rejects.toMatchObject(words)
    await expect(hq.transaction(5 as never)).rejects.toMatchObject(words)
    expect(await orders()).toEqual([])
    expect(await jobs()).toEqual([])
  })

  test('a function that ends the transaction itself is an error', async () => {
    const { hq, jobs } = await shop()
    for (const end of ['COMMIT', 'ROLLBACK', 'ROLLBACK; BEGIN']) {
      const failing = hq.transaction((db) => {
        void hq.push({ class: 'J', args: [1] })
        db.exec(end)
      })
      await expect(failing).rejects.toThrow(/leave BEGIN, COMMIT and ROLLBACK out/)
    }
    expect(await jobs()).toEqual([])
    await hq.push({ class: 'J', args: [2] })
    expect(await jobs()).toEqual([2])
  })

  test('other pushes are not part of the transaction: they stay when it is rolled back', async () => {
    const { hq, jobs } = await shop()
    const before = hq.push({ class: 'J', args: ['before'] })
    const failing = hq.transaction(() => {
      throw new Error('no')
    })
    const after = hq.push({ class: 'J', args: ['after'] })
    const working = hq.store.workers.join('host:1:a.0', { queues: ['default'], seconds: 60, host: '' })
    await expect(failing).rejects.toThrow('no')
    await Promise.all([before, after, working])
    expect((await jobs()).sort()).toEqual(['after', 'before'])
    expect(await hq.store.workers.renew('host:1:a.0', 60)).toBe(true)
  })

  test('the transaction waits while another program writes, and runs once; a lasting lock is an error that says so', async () => {
    const { hq, url, orders } = await shop()
    const other = await openDriver(url.slice('sqlite:'.length))
    onTestFinished(() => other.close())
    let ran = 0
    const insert = () =>
      hq.transaction((db) => {
        db.prepare('INSERT INTO "order" VALUES (?)').run(++ran)
      })
    other.exec('BEGIN IMMEDIATE')
    const waiting = insert()
    await sleep(50)
    expect(ran).toBe(0)
    other.exec('COMMIT')
    await waiting
    expect(ran).toBe(1)
    other.exec('BEGIN IMMEDIATE')
    await expect(insert()).rejects.toMatchObject({ code: 'STORE_TIMEOUT' })
    other.exec('ROLLBACK')
    expect(ran).toBe(1)
    expect(await orders()).toEqual([1])
  })

  test.each<[name: string, sql: string, use: (statement: AppStatement) => unknown, inserted: number]>([
    ['iterate, left by break', 'SELECT id FROM "order"', leave, 0],
    ['iterate, left by an error', 'SELECT id FROM "order"', leaveByError, 0],
    [
      'iterate, left before a row that is an error',
      'SELECT abs(CASE id WHEN 101 THEN -9223372036854775808 END) FROM "order" ORDER BY id',
      leave,
      0,
    ],
    [
      'iterate without an end',
      'WITH RECURSIVE n (id) AS (SELECT id FROM "order" UNION ALL SELECT 0 FROM n) SELECT id FROM n',
      leave,
      0,
    ],
    ['iterate of 100 rows', 'INSERT INTO "order" SELECT id + 200 FROM "order" LIMIT 100 RETURNING id', leave, 100],
    ['iterate of 101 rows', 'INSERT INTO "order" SELECT id + 200 FROM "order" LIMIT 101 RETURNING id', leave, 101],
    ['iterate of rows that it inserts', 'INSERT INTO "order" SELECT id + 200 FROM "order" RETURNING id', leave, 200],
    ['run of a SELECT', 'SELECT id FROM "order"', (statement) => statement.run(), 0],
    [
      'run of INSERT … RETURNING',
      'INSERT INTO "order" VALUES (201), (202) RETURNING id',
      (statement) => expect(statement.run()).toMatchObject({ changes: 2, lastInsertRowid: 202 }),
      2,
    ],
  ])('a statement whose rows the app does not read does not outlast it: %s', async (_, sql, use, inserted) => {
    const { hq, url, orders, jobs } = await shop()
    const other = await openDriver(url.slice('sqlite:'.length))
    onTestFinished(() => other.close())
    other.exec(
      'INSERT INTO "order" WITH RECURSIVE n (id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n LIMIT 200) SELECT id FROM n',
    )
    // Kept, because a statement that is garbage ends at some time.
    const statement = await hq.transaction((db) => {
      const prepared = db.prepare(sql) as AppStatement
      use(prepared)
      return { prepared }
    })
    other.exec('INSERT INTO "order" VALUES (1000)')
    await hq.push({ class: 'J', args: [1] })
    expect(await jobs()).toEqual([1])
    const ids = await orders()
    expect([ids.length, ids.at(-1)]).toEqual([201 + inserted, 1000])
    expect(statement.prepared).toBeDefined()
  })

  test('workers fetch its jobs at once', async () => {
    const { hq, work } = await shop()
    const ran = new Collector<number>()
    const J = hq.job('J', async (_ctx, n: number) => ran.add(n))
    await work()
    await hq.transaction(() => {
      void J.performAsync(1)
    })
    expect(await ran.atLeast(1)).toEqual([1])
  })

  test('a full file stores nothing of the transaction', async () => {
    const { hq } = bench({ query: '?maxMegabytes=1' })
    await hq.transaction((db) => {
      db.exec('CREATE TABLE note (text TEXT)')
    })
    const failing = hq.transaction((db) => {
      db.prepare('INSERT INTO note VALUES (?)').run('x'.repeat(2_000_000))
      void hq.push({ class: 'J', args: [] })
    })
    await expect(failing).rejects.toMatchObject({ code: 'STORE_FULL' })
    expect(await hq.transaction((db) => db.prepare('SELECT count(*) AS n FROM note').get())).toMatchObject({ n: 0 })
  })
})

describe.runIf(onSqlite)('a transaction beside client middleware', () => {
  test('synchronous middleware runs at the push, in its async context, and its payload is stored', async () => {
    const { hq, queue, orders } = await shop()
    let user = ''
    hq.client.use(async (payload, next) => {
      payload.user = user
      const after = await next()
      await Promise.resolve()
      return after && { ...after, signed: true }
    })
    hq.client.use((payload, next) => (payload.args[0] === 'stop' ? null : next()))
    const pushes: Promise<string | null>[] = []
    await hq.transaction((db) => {
      db.prepare('INSERT INTO "order" VALUES (?)').run(1)
      user = 'ann'
      pushes.push(hq.push({ class: 'J', args: [1] }))
      user = 'bob'
      pushes.push(hq.push({ class: 'J', args: ['stop'] }))
      user = ''
    })
    expect(await queue()).toMatchObject([{ user: 'ann', signed: true, args: [1] }])
    expect(await Promise.all(pushes)).toEqual([expect.any(String), null])
    expect(await orders()).toEqual([1])
  })

  test('with asynchronous middleware the job is stored as due now, and passes the chain at its promotion', async () => {
    const { hq, queue, set, work, orders } = await shop()
    let calls = 0
    hq.client.use(async (payload, next) => {
      payload.seen = ++calls
      await sleep(20)
      payload.waited = true
      return next()
    })
    let jid: Promise<string | null> | undefined
    await hq.transaction((db) => {
      db.prepare('INSERT INTO "order" VALUES (?)').run(1)
      jid = hq.push({ class: 'J', args: [1] })
    })
    const [stored] = await set('schedule')
    expect(stored).toMatchObject({ args: [1], jid: await jid, seen: 1 })
    expect(stored).not.toHaveProperty('waited')
    expect(stored).not.toHaveProperty('enqueued_at')
    expect(stored?.score).toBeLessThanOrEqual(Date.now() / 1000)
    expect(await orders()).toEqual([1])
    await work({ queues: ['idle'] })
    await until(async () => (await queue()).length === 1)
    expect(await queue()).toMatchObject([{ jid: await jid, seen: 2, waited: true }])
  })

  test('with asynchronous middleware a new job with the jid of a dead one has neither its result nor its cursor', async () => {
    const { hq } = await shop()
    const { store } = hq
    await store.results.keep('again', '{"result":1}', 60)
    await store.jobs.saveIteration('again', { executions: 1, runtime: 1, cursor: '5' }, Date.now())
    hq.client.use(async (_payload, next) => {
      await sleep(1)
      return next()
    })
    await hq.transaction(() => {
      hq.push({ class: 'J', args: [1], jid: 'again' })
    })
    expect([await store.results.find('again'), await hq.iteration('again')]).toEqual([null, null])
  })

  test('middleware that throws rolls the transaction back', async () => {
    const { hq, orders } = await shop()
    const broken = new Error('no tenant')
    hq.client.use(async () => {
      await Promise.resolve()
      throw broken
    })
    const failing = hq.transaction((db) => {
      db.prepare('INSERT INTO "order" VALUES (?)').run(1)
      void hq.push({ class: 'J', args: [1] })
    })
    await expect(failing).rejects.toBe(broken)
    expect(await orders()).toEqual([])
    expect(await hq.store.metrics.totals()).toMatchObject({ enqueued: 0, scheduled: 0 })
  })
})

describe.runIf(onSqlite)('a process that is killed', () => {
  /** What it says, line by line, until it is gone. */
  async function lived(mode: string, url: string, end?: (child: ChildProcess) => void): Promise<string[]> {
    const program = fileURLToPath(new URL('buyer.js', import.meta.url))
    const child = spawn(process.execPath, [program, mode, url], { stdio: ['ignore', 'pipe', 'inherit'] })
    onTestFinished(() => void child.kill('SIGKILL'))
    const said: string[] = []
    createInterface({ input: child.stdout as NodeJS.ReadableStream }).on('line', (line) => {
      said.push(line)
      end?.(child)
    })
    await once(child, 'close')
    return said
  }

  async function both(url: string): Promise<{ orders: number[]; jobs: unknown[] }> {
    const hq = new Highkiq({ url })
    const rows = await hq.transaction((db) => db.prepare('SELECT id FROM "order" ORDER BY id').all())
    const texts = await hq.store.jobs.peek('default', 0, 100_000)
    await hq.close()
    return {
      orders: rows.map((row) => (row as { id: number }).id),
      jobs: texts.map((text) => JSON.parse(text).args[0]),
    }
  }

  test.each([
    ['inside the function', 'inside', []],
    ['while middleware runs', 'middleware', []],
    ['after the commit', 'after', [1]],
  ])('%s leaves both or nothing', async (_, mode, left) => {
    const { url } = await shop()
    await lived(mode, url)
    expect(await both(url)).toEqual({ orders: left, jobs: left })
  })

  test('a kill at any moment leaves rows and jobs, or neither', async () => {
    const { url } = await shop()
    const said = await lived('loop', url, (child) => setTimeout(() => child.kill('SIGKILL'), 150 + Math.random() * 150))
    const { orders, jobs } = await both(url)
    expect(jobs).toEqual(orders)
    // What it was told is committed is there.
    expect(orders.length).toBeGreaterThanOrEqual(said.length)
    expect(said.length).toBeGreaterThan(2)
  })
})

test.runIf(onSqlite)('a job may use a transaction, too', async () => {
  const { hq, work, orders, jobs, settled } = await shop()
  const Next = hq.job('Next', { queue: 'next' }, noop)
  const Order = hq.job('Order', async (_ctx, id: number) => {
    await hq.transaction((db) => {
      db.prepare('INSERT INTO "order" VALUES (?)').run(id)
      void Next.performAsync()
    })
  })
  await Order.performBulk([[1], [2], [3]])
  await work()
  await until(async () => (await orders()).length === 3)
  expect(await jobs()).toEqual([])
  expect(await hq.store.jobs.peek('next', 0, 9)).toHaveLength(3)
  await hq.worker({ queues: ['next'] }).start()
  await settled()
})

test.runIf(onSqlite)(
  'a unique job in a transaction answers the jid of the holder, or rolls everything back',
  async () => {
    const t = await shop()
    const Unique = t.hq.job('Unique', { unique: true }, noop)
    const held = await Unique.performAsync()
    const pushed: Promise<string | null>[] = []
    await t.hq.transaction((db) => {
      db.exec('INSERT INTO "order" VALUES (1)')
      pushed.push(Unique.performAsync(), Unique.set({ unique: { by: () => 1 } }).performAsync())
      pushed.push(Unique.set({ unique: { by: () => 1 } }).performAsync())
    })
    const [first, second, third] = await Promise.all(pushed)
    expect(first).toBe(held)
    expect(third).toBe(second)
    expect(await t.orders()).toEqual([1])
    expect((await t.queue()).map(({ jid }) => jid)).toEqual([held, second])
    const raising = (onConflict: 'raise' | 'replace') =>
      t.hq.transaction((db) => {
        db.exec('INSERT INTO "order" VALUES (2)')
        void Unique.set({ unique: { onConflict } }).performAsync()
      })
    await expect(raising('raise')).rejects.toMatchObject({ code: 'UNIQUE_CONFLICT', details: { jid: held } })
    await expect(raising('replace')).rejects.toThrow(/onConflict: 'replace' does not work inside hq.transaction/)
    expect(await t.orders()).toEqual([1])
    await t.hq.queue('default').clear()
    expect(await Unique.performAsync()).not.toBe(held)
  },
)
