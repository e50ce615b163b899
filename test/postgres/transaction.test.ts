import { setTimeout as sleep } from 'node:timers/promises'
import { type OpenBatch, PushError, type SqlFunction, type SqlPool } from 'highkiq'
import { fake } from 'highkiq/testing'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { type Bench, bench, Collector, promptly } from '../engine/bench.ts'
import { startAnswerProxy } from './answer-proxy.ts'
import { newSchema, sharedPostgres } from './server.ts'
import { onPostgres } from './suite.ts'

interface Shop extends Bench {
  pool: pg.Pool
  schema: string
  /** Opens one more connection of the app. */
  connect(): Promise<pg.Client>
  /** Inserts a row of the app. */
  insert(client: pg.ClientBase, id: number): Promise<unknown>
  orders(): Promise<number[]>
  /** The first arguments of the jobs in a queue. */
  jobs(queue?: string): Promise<unknown[]>
}

/** An app with a table of its own in the same database. */
async function shop(options: Parameters<typeof bench>[0] = {}): Promise<Shop> {
  const server = await sharedPostgres()
  const schema = newSchema()
  const t = bench({ ...options, url: server.url(`?schema=${schema}`) })
  const pool = new pg.Pool({ connectionString: server.url() })
  onTestFinished(() => pool.end())
  const table = `order_of_${schema}`
  await pool.query(`CREATE TABLE ${table} (id integer PRIMARY KEY)`)
  return {
    ...t,
    pool,
    schema,
    async connect() {
      const client = new pg.Client({ connectionString: server.url() })
      client.on('error', () => {})
      await client.connect()
      onTestFinished(() => client.end().catch(() => {}))
      return client
    },
    insert: (client, id) => client.query(`INSERT INTO ${table} VALUES ($1)`, [id]),
    orders: async () => (await pool.query(`SELECT id FROM ${table} ORDER BY id`)).rows.map(({ id }) => id),
    jobs: async (queue) => (await t.queue(queue)).map(({ args }) => args[0]),
  }
}

/** Jobs of all kinds. */
function jobsOf({ hq }: Bench) {
  return {
    J: hq.job('J', async (_ctx, _n: unknown) => {}),
    Unique: hq.job('Unique', { unique: true }, async (_ctx, _n: number) => {}),
    Tracked: hq.job('Tracked', { track: true }, async (_ctx, _n: number) => {}),
    Sync: hq.ordered('Sync', async () => {}),
  }
}

/** Texts that SQL, JSON and formats must not read as their own. */
const ODD = ['%', "%1$L '", '$1 \\ "', '{a,"b"}', '\0', '\x01', '𝕏 ?', null, '\\u0000']

onPostgres('a transaction of the app', () => {
  test('with a pool, rows and jobs of all kinds are committed together, and the value of the function is returned', async () => {
    const t = await shop()
    const { J, Unique, Tracked, Sync } = jobsOf(t)
    const other = await t.connect()
    const answer = await t.hq.transaction(t.pool, async (client) => {
      const { rows } = await client.query<{ two: number }>('SELECT 2 AS two')
      await t.insert(client, rows[0]?.two ?? 0)
      const pushed = [
        await J.performAsync('a'),
        await J.performIn(100, 'b'),
        await Unique.performAsync(1),
        await Tracked.performAsync(2),
        ...(await J.performBulk([['c'], ['d']])),
        await t.hq.push({ class: 'Other', args: ['e'], queue: 'others', priority: 3 }),
        await J.set({ idempotent: true, jid: 'f'.repeat(24) }).performAsync('f'),
      ]
      expect(await Sync.performAsync([{ id: 7, payload: ODD }, { id: '\0"{},' }])).toBe(2)
      expect(await t.jobs()).toEqual([])
      return pushed
    })
    for (const jid of answer) expect(jid).toMatch(/^[0-9a-f]{24}$/)
    expect(await t.orders()).toEqual([2])
    expect(await t.jobs()).toEqual(['a', 1, 'c', 'd', 'f', 2])
    expect(await t.jobs('others')).toEqual(['e'])
    expect((await t.set('schedule')).map(({ args }) => args)).toEqual([['b']])
    expect(await t.hq.tasks.event(answer[3] as string)).toMatchObject({ status: 'enqueued', args: [2] })
    const { items } = await Sync.waiting.list({ by: 'id' })
    expect(items.map(({ id, payloads }) => [id, payloads[0]?.payload])).toEqual([
      ['\0"{},', ''],
      ['7', ODD],
    ])
    expect(await t.hq.stats()).toMatchObject({ enqueued: 7, scheduled: 1 })
    expect((await other.query("SELECT count(*)::int AS n FROM pg_locks WHERE locktype = 'advisory'")).rows).toEqual([
      { n: 0 },
    ])
  })

  test('with a client, jobs are stored when the app commits, in their order, and workers are notified then', async () => {
    const t = await shop()
    const { J, Unique } = jobsOf(t)
    const [client, listener] = [await t.connect(), await t.connect()]
    const received = new Collector<string>()
    listener.on('notification', ({ payload = '' }) => received.add(payload))
    await t.hq.store.open()
    await listener.query(`LISTEN "highkiq ${t.schema}"`)
    for (const unique of [false, true]) {
      await client.query('BEGIN')
      await t.insert(client, Number(unique))
      const value = await t.hq.transaction(client, async () => {
        await Promise.all([1, 2, 3].map((n) => J.performAsync(n)))
        if (unique) await Unique.performAsync(4)
        await J.performAsync(5)
        return 'value'
      })
      expect(value).toBe('value')
      expect([await t.jobs(), await t.orders(), received.all]).toEqual([[], unique ? [0] : [], []])
      await client.query('COMMIT')
      expect(await t.jobs()).toEqual(unique ? [1, 2, 3, 4, 5] : [1, 2, 3, 5])
      expect(JSON.parse((await received.atLeast(1))[0] as string)).toEqual(['', 'default'])
      received.all.length = 0
      await t.hq.queue('default').clear()
      await listener.query('SELECT 1')
      received.all.length = 0
    }
    expect(await t.orders()).toEqual([0, 1])
  })

  test('what is not committed is not stored: a rollback, a function that throws, and a lost connection', async () => {
    const t = await shop()
    const { J, Unique, Tracked } = jobsOf(t)
    const pushAll = async () => {
      await J.performAsync(1)
      await Unique.performAsync(1)
      await Tracked.performAsync(1)
      await J.performIn(60, 1)
    }
    const no = new Error('no')
    const pushes: (() => Promise<unknown>)[] = [() => J.performAsync(1), pushAll]
    for (const push of pushes) {
      const client = await t.connect()
      await client.query('BEGIN')
      await t.insert(client, 1)
      await t.hq.transaction(client, push)
      await client.query('ROLLBACK')

      await client.query('BEGIN')
      const throwing = t.hq.transaction(client, async () => {
        await push()
        throw no
      })
      await expect(throwing).rejects.toBe(no)
      await client.query('COMMIT')

      const failing = t.hq.transaction(t.pool, async (own) => {
        await t.insert(own, 1)
        await push()
        throw no
      })
      await expect(failing).rejects.toBe(no)

      await client.query('BEGIN')
      await t.insert(client, 1)
      await t.hq.transaction(client, push)
      const [{ pid }] = (await client.query('SELECT pg_backend_pid() AS pid')).rows
      await t.pool.query('SELECT pg_terminate_backend($1)', [pid])
      await expect(client.query('COMMIT')).rejects.toThrow()

      const lost = t.hq.transaction(t.pool, async (own) => {
        await t.insert(own, 1)
        await push()
        const [{ pid: ownPid }] = (await own.query('SELECT pg_backend_pid() AS pid')).rows
        await t.pool.query('SELECT pg_terminate_backend($1)', [ownPid])
        // The connection is lost while no statement runs.
        await sleep(50)
      })
      await expect(lost).rejects.toThrow()
    }
    expect([await t.orders(), await t.jobs(), await t.set('schedule')]).toEqual([[], [], []])
    expect((await t.hq.tasks.list()).items).toEqual([])
    // Nothing is left that keeps others waiting, or the lock of a job that is not there.
    await t.hq.transaction(t.pool, pushAll)
    expect(await t.jobs()).toEqual([1, 1, 1])
  })

  test('a COMMIT of a pool whose answer is lost throws a PushError: rows and jobs may be stored', async () => {
    const t = await shop()
    const { J, Sync } = jobsOf(t)
    const proxy = await startAnswerProxy(t.pool.options.connectionString as string)
    const pool = new pg.Pool({ connectionString: proxy.url })
    pool.on('error', () => {})
    onTestFinished(() => pool.end())
    const jids: (string | null)[] = []
    const committed = t.hq.transaction(pool, async (client) => {
      await t.insert(client, 1)
      jids.push(await J.performAsync('a'))
      await t.hq.batch({}, async () => jids.push(await J.performAsync('b')))
      await Sync.performAsync({ id: 7 })
      proxy.lose('COMMIT')
    })
    const thrown = await committed.catch((error) => error)
    expect(thrown).toBeInstanceOf(PushError)
    expect(thrown).toMatchObject({ maybePushed: true, notPushed: [], cause: expect.any(Error) })
    expect(thrown.jids.toSorted()).toEqual([...jids, '7'].toSorted())
    expect(pool.totalCount).toBe(0)
    expect(await t.orders()).toEqual([1])
    expect((await t.jobs()).toSorted()).toEqual(['a', 'b'])
  })

  test('a COMMIT that the server refuses throws its error, and stores nothing', async () => {
    const t = await shop()
    const { J } = jobsOf(t)
    const table = `once_of_${t.schema}`
    await t.pool.query(`CREATE TABLE ${table} (id integer UNIQUE DEFERRABLE INITIALLY DEFERRED)`)
    const refused = t.hq.transaction(t.pool, async (client) => {
      await client.query(`INSERT INTO ${table} VALUES (1), (1)`)
      await J.performAsync('a')
    })
    await expect(refused).rejects.toMatchObject({ code: '23505' })
    expect(await t.jobs()).toEqual([])
  })

  test('a long transaction with plain jobs keeps nobody waiting', async () => {
    const t = await shop()
    const ran = new Collector<unknown>()
    const J = t.hq.job('J', async (_ctx, n: unknown) => ran.add(n))
    const { Unique, Tracked } = jobsOf({ ...t, hq: t.another().hq })
    await J.performAsync('before')
    const client = await t.connect()
    await client.query('BEGIN')
    await t.hq.transaction(client, async () => {
      await J.performAsync('long')
      await J.set({ queue: 'new' }).performAsync('new')
    })
    await t.work({ queues: ['default', 'new'] })
    const others = async () => {
      await J.performAsync('after')
      await J.set({ queue: 'new' }).performAsync('also new')
      await Unique.set({ queue: 'new' }).performAsync(1)
      await Tracked.performAsync(1)
      await J.performIn(60, 1)
      await ran.atLeast(3)
      await t.pool.query(`SELECT "${t.schema}".sum_changes(1)`)
      const another = await t.connect()
      await another.query('BEGIN')
      await t.hq.transaction(another, () => J.set({ queue: 'new' }).performAsync('another'))
      await another.query('COMMIT')
      await ran.atLeast(4)
      await t.hq.queue('new').clear()
    }
    await promptly(2, others())
    expect(ran.all).not.toContain('long')
    await client.query('COMMIT')
    const runs = await ran.atLeast(6)
    expect(runs.slice(4).sort()).toEqual(['long', 'new'])
  })

  test('a unique job takes its lock with the commit; raise throws, and the app can go on and commit', async () => {
    const t = await shop()
    const { J, Unique } = jobsOf(t)
    const holder = await Unique.performAsync(1)
    const client = await t.connect()
    await client.query('BEGIN')
    await t.insert(client, 1)
    const raising = t.hq.transaction(client, async () => {
      await J.performAsync('lost')
      await Unique.set({ unique: { onConflict: 'raise' } }).performAsync(1)
    })
    await expect(raising).rejects.toMatchObject({ code: 'UNIQUE_CONFLICT', details: { jid: holder } })
    for (const onConflict of ['replace', 'debounce'] as const) {
      const changing = t.hq.transaction(client, () => Unique.set({ unique: { onConflict } }).performIn(60, 1))
      await expect(changing).rejects.toMatchObject({
        code: 'INVALID_OPTION',
        message: expect.stringContaining(onConflict),
      })
    }
    // A job that is dropped has no effect.
    await t.hq.transaction(client, async () => {
      await Unique.performAsync(1)
      await Unique.performAsync(2)
    })
    await t.insert(client, 2)
    await client.query('COMMIT')
    expect([await t.orders(), await t.jobs()]).toEqual([
      [1, 2],
      [1, 2],
    ])
  })

  test('a repeated push of the same jid stores nothing, and is no conflict', async () => {
    const t = await shop()
    const { J, Unique } = jobsOf(t)
    const Own = Unique.set({ jid: 'own', unique: { onConflict: 'raise' } })
    await Own.performAsync(1)
    const client = await t.connect()
    await client.query('BEGIN')
    const jids = await t.hq.transaction(client, async () => [await Own.performAsync(1), await J.performAsync('a')])
    await client.query('COMMIT')
    expect(jids[0]).toBe('own')
    expect(await t.jobs()).toEqual([1, 'a'])
  })

  test('a full queue and a lasting lock throw, and the app can go on and commit', async () => {
    const t = await shop({ queues: { mail: { maxLength: 1 } } })
    const { J, Unique } = jobsOf(t)
    await J.performAsync(0)
    const [client, other] = [await t.connect(), await t.connect()]
    await other.query('BEGIN')
    await t.hq.transaction(other, () => Unique.performAsync(1))
    await client.query('BEGIN')
    await t.insert(client, 1)
    const late = t.hq.transaction(client, () => Unique.performAsync(2))
    await expect(late).rejects.toMatchObject({ code: 'STORE_TIMEOUT' })
    await other.query('COMMIT')
    const full = t.hq.transaction(client, async () => {
      await J.set({ queue: 'mail' }).performAsync(1)
      await J.set({ queue: 'mail' }).performAsync(2)
    })
    await expect(full).rejects.toMatchObject({ code: 'QUEUE_FULL' })
    await t.insert(client, 2)
    await t.hq.transaction(client, () => J.set({ queue: 'mail' }).performAsync(3))
    await client.query('COMMIT')
    expect([await t.orders(), await t.jobs(), await t.jobs('mail')]).toEqual([[1, 2], [0, 1], [3]])
  })

  test('workers are notified after the commit of a pool, and not when it is rolled back', async () => {
    const t = await shop()
    const { J, Unique } = jobsOf(t)
    const listener = await t.connect()
    const received = new Collector<string>()
    listener.on('notification', ({ payload = '' }) => received.add(payload))
    await t.hq.store.open()
    await listener.query(`LISTEN "highkiq ${t.schema}"`)
    const failing = t.hq.transaction(t.pool, async () => {
      await J.set({ queue: 'lost' }).performAsync(1)
      throw new Error('no')
    })
    await expect(failing).rejects.toThrow('no')
    await t.hq.transaction(t.pool, () => J.performAsync(1))
    expect(JSON.parse((await received.atLeast(1))[0] as string)).toEqual([expect.any(String), 'default'])
    await t.hq.transaction(t.pool, () => Unique.set({ queue: 'other' }).performAsync(1))
    expect(JSON.parse((await received.atLeast(2))[1] as string)).toEqual([expect.any(String), 'other'])
  })

  test('a process that is frozen before the commit of a pool loses its transaction, and the others go on', async () => {
    const t = await shop()
    const { Unique } = jobsOf(t)
    const client = await t.connect()
    const stored = new Collector<void>()
    const frozen: SqlPool = {
      totalCount: 1,
      connect: async () => ({
        release: () => {},
        async query(text, values) {
          if (text === 'COMMIT') {
            stored.add()
            await new Promise((resolve) => client.once('end', resolve))
          }
          return client.query(text, values)
        },
      }),
    }
    const lost = t.hq.transaction(frozen, () => Unique.performAsync(1))
    lost.catch(() => {})
    await stored.atLeast(1)
    const pushed = Unique.performAsync(1)
    await expect(lost).rejects.toThrow()
    const jid = await pushed
    expect((await t.queue()).map((job) => job.jid)).toEqual([jid])
  })

  test('several calls in one transaction are stored together, also in queues that are new or were cleared', async () => {
    const t = await shop()
    const { J, Unique } = jobsOf(t)
    await J.set({ queue: 'cleared' }).performAsync(0)
    await t.hq.queue('cleared').clear()
    const client = await t.connect()
    await client.query('BEGIN')
    for (const queue of ['first', 'cleared', 'second']) {
      await t.hq.transaction(client, () => Unique.set({ queue }).performAsync(queue.length))
      await t.hq.transaction(client, () => J.set({ queue }).performAsync(queue))
      await t.hq.transaction(client, () => J.set({ queue: `${queue}-plain` }).performAsync(queue))
    }
    await client.query('COMMIT')
    for (const queue of ['first', 'cleared', 'second']) {
      expect([await t.jobs(queue), await t.jobs(`${queue}-plain`)]).toEqual([[queue.length, queue], [queue]])
    }
    expect((await t.hq.store.jobs.queues()).map(({ size }) => size)).toEqual([2, 1, 2, 1, 2, 1])
  })

  test('batches and flows are stored with the commit, or not at all', async () => {
    const t = await shop()
    const { J, Unique } = jobsOf(t)
    const holder = (await Unique.performAsync(1)) as string
    const client = await t.connect()
    const push = async () => {
      const open: OpenBatch[] = []
      const bid = await t.hq.batch({ onSuccess: J }, async (batch) => {
        open.push(batch)
        await J.performAsync('in a batch')
        await Unique.performAsync(1)
      })
      await J.performAsync('plain')
      const flow = await t.hq.flow({ job: J, args: ['parent'], children: [{ job: J, args: ['child'] }] })
      return { bid, flow, batch: open[0] as OpenBatch }
    }
    await client.query('BEGIN')
    const none = await t.hq.transaction(client, push)
    await client.query('ROLLBACK')
    expect(await t.hq.batches.get(none.bid)).toBe(null)
    await client.query('BEGIN')
    const { bid, flow, batch } = await t.hq.transaction(client, push)
    expect(await t.hq.batches.get(bid)).toBe(null)
    const raising = t.hq.transaction(client, async () => {
      await J.performAsync('lost')
      await t.hq.batch({}, () => Unique.set({ unique: { onConflict: 'raise' } }).performAsync(1))
    })
    await expect(raising).rejects.toMatchObject({ code: 'UNIQUE_CONFLICT' })
    await client.query('COMMIT')
    expect(await t.hq.batches.get(bid)).toMatchObject({ total: 1, pending: 1 })
    expect([...batch.dropped.values()]).toEqual([holder])
    expect(await t.hq.batches.get(flow?.bid as string)).toMatchObject({ total: 1, pending: 1 })
    expect((await t.jobs()).sort()).toEqual([1, 'child', 'in a batch', 'plain'])
  })

  test('a push that fails is the error of the transaction, also when the function has caught it', async () => {
    const t = await shop()
    const { J } = jobsOf(t)
    const wrong: [work: () => unknown, code: string][] = [
      [() => J.performAsync(new Date()).catch(() => {}), 'INVALID_ARGS'],
      [() => void J.performIn('soon', 1), 'INVALID_OPTION'],
      [() => t.hq.transaction(t.pool, () => {}), 'INVALID_OPTION'],
      [() => t.hq.tasks.create(J, [[1]]), 'INVALID_OPTION'],
    ]
    for (const [work, code] of wrong) {
      const failing = t.hq.transaction(t.pool, async (client) => {
        await t.insert(client, 1)
        await J.performAsync(1)
        await work()
      })
      await expect(failing).rejects.toMatchObject({ code })
    }
    let late: Promise<unknown> | undefined
    await t.hq.transaction(t.pool, () => {
      late = sleep(20).then(() => J.performAsync('late'))
      late.catch(() => {})
    })
    await expect(late).rejects.toMatchObject({ code: 'INVALID_OPTION', message: expect.stringContaining('await each') })
    expect([await t.orders(), await t.jobs()]).toEqual([[], []])
  })

  test('middleware may wait, and what is pushed to other stores and outside of the function is not part of it', async () => {
    const t = await shop()
    const { J } = jobsOf(t)
    const other = bench()
    t.hq.client.use(async (payload, next) => {
      await sleep(payload.args[0] === 1 ? 20 : 1)
      return payload.args[0] === 'stop' ? null : next()
    })
    const failing = t.hq.transaction(t.pool, async () => {
      await t.hq.via(other.hq).push({ class: 'J', args: ['elsewhere'] })
      await J.performAsync('no')
      throw new Error('no')
    })
    const outside = J.performAsync('outside')
    await expect(failing).rejects.toThrow('no')
    await t.hq.via(other.hq, () => t.hq.transaction(t.pool, () => J.performAsync('elsewhere, too')))
    await outside
    const jids = await t.hq.transaction(t.pool, () => Promise.all([1, 'stop', 2].map((n) => J.performAsync(n))))
    expect(jids).toEqual([expect.any(String), null, expect.any(String)])
    expect(await t.jobs()).toEqual(['outside', 1, 2])
    expect((await other.queue()).map(({ args }) => args)).toEqual([['elsewhere'], ['elsewhere, too']])
  })

  test('at other isolation levels plain jobs are stored, and others are refused before anything is changed', async () => {
    const t = await shop()
    const { J, Unique } = jobsOf(t)
    const client = await t.connect()
    for (const [n, level] of ['REPEATABLE READ', 'SERIALIZABLE'].entries()) {
      await client.query(`BEGIN ISOLATION LEVEL ${level}`)
      await t.insert(client, n)
      await t.hq.transaction(client, () => J.set({ queue: `new-${n}` }).performAsync(n))
      const others = t.hq.transaction(client, () => Unique.performAsync(1))
      await expect(others).rejects.toMatchObject({
        code: 'NO_TRANSACTION',
        message: expect.stringContaining('READ COMMITTED'),
      })
      await client.query('COMMIT')
      expect([await t.orders(), await t.jobs(`new-${n}`)]).toEqual([n === 0 ? [0] : [0, 1], [n]])
    }
  })

  test('without an open transaction, and in a failed one, nothing is stored', async () => {
    const t = await shop()
    const { J, Unique } = jobsOf(t)
    const client = await t.connect()
    for (const push of [() => J.performAsync(1), () => Unique.performAsync(1)]) {
      await expect(t.hq.transaction(client, push)).rejects.toMatchObject({ code: 'NO_TRANSACTION' })
      await client.query('BEGIN')
      await expect(client.query('SELECT 1 / 0')).rejects.toThrow()
      await expect(t.hq.transaction(client, push)).rejects.toMatchObject({ code: '25P02' })
      await client.query('ROLLBACK')
    }
    const caught = t.hq.transaction(t.pool, async (own) => {
      await t.insert(own, 1)
      await own.query('SELECT 1 / 0').catch(() => {})
    })
    await expect(caught).rejects.toMatchObject({ code: 'NO_TRANSACTION', message: expect.stringContaining('rolled') })
    expect([await t.orders(), await t.jobs()]).toEqual([[], []])
  })

  test('a function that runs statements will do, whatever types it returns', async () => {
    const t = await shop()
    const { J, Unique, Tracked, Sync } = jobsOf(t)
    const client = await t.connect()
    const run: SqlFunction = async (text, values) => {
      for (const value of values) expect(value).toBeTypeOf('string')
      const { rows } = await client.query(text, values)
      for (const row of rows) expect(Object.values(row).map((value) => typeof value)).toEqual(['string'])
      return rows
    }
    await client.query('BEGIN')
    await t.hq.transaction(run, async () => {
      await J.performAsync(1)
      await J.performIn(60, 1)
      await Unique.performAsync(2)
      await Tracked.performAsync(3)
      await Sync.performAsync([{ id: 1 }])
    })
    await client.query('COMMIT')
    expect(await t.jobs()).toEqual([1, 2, 3])
    for (const nothing of [null, 5, {}]) {
      const failing = t.hq.transaction(nothing as never, () => J.performAsync(1))
      await expect(failing).rejects.toMatchObject({ code: 'INVALID_OPTION' })
    }
    await expect(t.hq.transaction(client, 5 as never)).rejects.toMatchObject({ code: 'INVALID_OPTION' })
  })

  test('the form of another store is refused, with the right one', async () => {
    const t = await shop()
    let ran = false
    const work = () => {
      ran = true
    }
    const refusal = (text: string) => ({ code: 'NO_TRANSACTION', message: expect.stringContaining(text) })
    await expect(t.hq.transaction(work)).rejects.toMatchObject(refusal('hq.transaction(client, work)'))
    await expect(bench().hq.transaction(t.pool, work)).rejects.toMatchObject(refusal('hq.transaction((db) =>'))
    expect(ran).toBe(false)
    const without = t.hq.transaction as (pool: unknown) => Promise<void>
    await expect(without.call(t.hq, t.pool)).rejects.toThrow('the second argument must be a function')
  })

  test('a connection to another database is refused with the schema that is missing there', async () => {
    const t = await shop()
    const { J } = jobsOf(t)
    const url = new URL((await sharedPostgres()).url())
    url.pathname = '/template1'
    const pool = new pg.Pool({ connectionString: url.href })
    onTestFinished(() => pool.end())
    await expect(t.hq.transaction(pool, () => J.performAsync(1))).rejects.toMatchObject({
      code: 'NO_TRANSACTION',
      message: expect.stringContaining(`the database of this connection has no schema ${t.schema} of Highkiq`),
    })
  })

  test('its pushes are events once they are committed', async () => {
    const t = await shop()
    const { J } = jobsOf(t)
    const events = t.hq.events()
    await events.position()
    const client = await t.connect()
    await client.query('BEGIN')
    const jid = await t.hq.transaction(client, () => J.performAsync(1))
    await client.query('COMMIT')
    for await (const event of events) {
      expect(event).toMatchObject({ kind: 'pushed', jid })
      break
    }
  })

  test('a fake collects its jobs when the function has ended, and needs no server', async () => {
    const t = bench({ url: 'postgres://nobody@127.0.0.1:1/nowhere' })
    const { J } = jobsOf(t)
    using _mode = fake(t.hq)
    const client: SqlFunction = async () => []
    await t.hq.transaction(client, async () => {
      await J.performAsync(1)
      expect(J.jobs).toHaveLength(0)
    })
    const no = t.hq.transaction(client, async () => {
      await J.performAsync(2)
      throw new Error('no')
    })
    await expect(no).rejects.toThrow('no')
    expect(J.jobs.map(({ args }) => args)).toEqual([[1]])
  })
})
