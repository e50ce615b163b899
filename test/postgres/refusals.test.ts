import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chownSync, mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { HighkiqError } from 'highkiq'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import type { Store } from '#dist/store/contract.js'
import { openStore } from '#dist/store/open.js'
import { writerLockOf } from '#dist/store/postgres/server/lock.js'
import { job, NOW, retry, toQueue, withBench } from '../conformance/bench.ts'
import { postgres } from '../conformance/postgres.ts'
import { type Bench, bench, Collector, gate, until } from '../engine/bench.ts'
import { kindsOfPushes } from './kinds-of-pushes.ts'
import { type PostgresServer, startPostgres } from './server.ts'
import { onPostgres } from './suite.ts'

/** Sets a setting of the whole server; null: its default. Resolves when new sessions have it. */
async function configure(server: PostgresServer, name: string, value: string | null): Promise<void> {
  await server.query(value === null ? `ALTER SYSTEM RESET ${name}` : `ALTER SYSTEM SET ${name} = '${value}'`)
  await server.query('SELECT pg_reload_conf()')
}

/** Starts a job that ends when `open` is called. */
async function withHeldJob(t: Bench) {
  const ran = new Collector<number>()
  const { opened, open } = gate()
  const job = t.hq.job('J', (_ctx, n: number, _ballast: string) => ran.add(n))
  const held = t.hq.job('Held', async () => {
    ran.add(-1)
    await opened
  })
  await t.work()
  await held.performAsync()
  await ran.atLeast(1)
  return { job, ran, open }
}

onPostgres('a server that takes no writes', () => {
  test('because it is read-only refuses pushes; an ended job is settled later, and does not run again', async () => {
    const server = await startPostgres()
    onTestFinished(() => server.remove())
    const t = bench({ url: server.url() })
    const { job, ran, open } = await withHeldJob(t)
    await configure(server, 'default_transaction_read_only', 'on')
    let stored = 0
    const refused = await (async () => {
      for (; ; stored++) await job.performAsync(100 + stored, '')
    })().catch((thrown: unknown) => thrown)
    expect(refused).toMatchObject({ maybePushed: false, cause: { code: 'STORE_UNUSABLE' } })
    open()
    // The thread that renews the lease reports the error of PostgreSQL itself.
    const others = () => t.errors.filter(({ about }) => about.during !== 'renewing the lease')
    await until(() => others().length > 0)
    expect(new Set(others().map(({ error }) => (error as HighkiqError).code))).toEqual(new Set(['STORE_UNUSABLE']))
    await configure(server, 'default_transaction_read_only', null)
    await until(() => job.performAsync(1, '').catch(() => null))
    await until(() => ran.all.includes(1))
    await t.settled()
    expect(ran.all.filter((n) => n === -1)).toHaveLength(1)
    expect(await t.hq.stats()).toMatchObject({ processed: stored + 2, failed: 0, retries: 0, dead: 0 })
  })
})

/** Expects that a push of any kind stores nothing, and throws a PushError whose cause has this code. */
async function expectRefused(store: Store, code: string, ballast?: string): Promise<void> {
  for (const [kind, push] of Object.entries(kindsOfPushes(store, ballast))) {
    const thrown = await push().catch((error: unknown) => error)
    expect(thrown, kind).toMatchObject({ code: 'PUSH_FAILED', maybePushed: false, cause: { code } })
  }
}

onPostgres('pushes of each kind', () => {
  /** A server that only this test uses, and a store on it. */
  async function serverOfItsOwn(): Promise<{ server: PostgresServer; store: Store }> {
    const server = await startPostgres()
    onTestFinished(() => server.remove())
    const store = openStore(server.url())
    onTestFinished(() => store.close())
    await store.open()
    return { server, store }
  }

  const refused = (store: Store) =>
    kindsOfPushes(store)
      ['a job']?.()
      .then(
        () => false,
        ({ maybePushed }) => maybePushed === false,
      )

  test('throw STORE_UNUSABLE while the server is read-only, and STORE_UNREACHABLE while it is away', async () => {
    const { server, store } = await serverOfItsOwn()
    await configure(server, 'default_transaction_read_only', 'on')
    await until(() => refused(store))
    // All of its connections are new.
    const late = openStore(server.url())
    onTestFinished(() => late.close())
    await expectRefused(late, 'STORE_UNUSABLE')
    await server.kill()
    await until(() => refused(late))
    await expectRefused(late, 'STORE_UNREACHABLE')
  })

  test('go to another shard while the server is read-only, also from a process that has not written there before', async () => {
    const { server, store } = await serverOfItsOwn()
    const shards = () => {
      const all = openStore([server.url(), 'sqlite::memory:'])
      onTestFinished(() => all.close())
      return all
    }
    const before = shards()
    const push = (all: Store) =>
      all.jobs.push(
        Array.from({ length: 20 }, (_, n) => toQueue('own', job(n))),
        NOW,
      )
    await push(before)
    await configure(server, 'default_transaction_read_only', 'on')
    await until(() => refused(store))
    const size = async (all: Store) => (await all.jobs.queues(['own']))[0]?.size
    expect(await push(before)).toEqual([])
    expect(await size(before)).toBe(40)
    const after = shards()
    expect(await push(after)).toEqual([])
  })

  test('throw STORE_UNUSABLE when the server does not accept what they store, as does the tick of a cron entry', async () => {
    const { server, store } = await serverOfItsOwn()
    for (const table of ['ready', 'pack', 'ordered_waiting'])
      await server.query(`ALTER TABLE highkiq.${table} ADD CHECK (text NOT LIKE '%unwelcome%')`)
    await expectRefused(store, 'STORE_UNUSABLE', 'unwelcome')
    await store.crons.define('a', { old: null, text: '{}', tick: 1 }, 60)
    const jid = '1'.repeat(24)
    const tick = { text: '{}', from: 1, to: 2, push: { jid, item: toQueue('q', job('unwelcome')) } }
    const refusal = { code: 'PUSH_FAILED', jids: [jid], maybePushed: false, cause: { code: 'STORE_UNUSABLE' } }
    await expect(store.crons.tick('a', tick, NOW)).rejects.toMatchObject(refusal)
  })
})

onPostgres('a table that another program has locked', () => {
  test('ends pushes and reads after 5 seconds, with each pooling', () =>
    withBench(postgres, async (t) => {
      await t.store.jobs.push([toQueue('q', job(1))], NOW)
      const client = await t.connect()
      const [session, transaction] = (await Promise.all(
        ['session', 'transaction'].map(async (pooling) => {
          const store = await t.another(`${t.url}?pooling=${pooling}`)
          await store.open()
          return store
        }),
      )) as [Store, Store]
      await client.query('BEGIN')
      await client.query('LOCK TABLE highkiq.ready, highkiq.pack, highkiq.fetched')
      const timedOut = { code: 'STORE_TIMEOUT', message: expect.stringContaining('keeps a lock') }
      const refused = { maybePushed: false, cause: timedOut }
      await Promise.all([
        ...[session, transaction].flatMap((store) => [
          expect(store.jobs.push([toQueue('q', job(2))], NOW)).rejects.toMatchObject(refused),
          expect(store.jobs.peek('q', 0, 9)).rejects.toMatchObject(timedOut),
        ]),
        expect(session.metrics.totals()).rejects.toMatchObject(timedOut),
      ])
      await client.query('ROLLBACK')
      for (const store of [session, transaction]) expect(await store.jobs.peek('q', 0, 9)).toEqual([job(1)])
    }))
})

onPostgres('a schema of a newer version', () => {
  test('refuses writes with effects of an older process, which still pushes and runs plain jobs', async () => {
    const server = await startPostgres()
    onTestFinished(() => server.remove())
    const t = bench({ url: server.url() })
    const { job, ran, open } = await withHeldJob(t)
    await server.query('UPDATE highkiq.schema_version SET version = 1000')
    const unusable = { code: 'STORE_UNUSABLE', message: expect.stringMatching(/newer Highkiq/) }
    await expect(job.performIn(60, 1, '')).rejects.toMatchObject({ maybePushed: false, cause: unusable })
    const { store } = t.hq
    await expect(store.workers.join('late', { queues: [], seconds: 60, host: 'h' })).rejects.toMatchObject(unusable)
    await job.performAsync(2, '')
    open()
    expect(await ran.atLeast(2)).toEqual([-1, 2])
    await t.settled()
  })
})

onPostgres('a transaction that keeps the lock of Highkiq', () => {
  test('holds up fetching and settling, but no push of a plain job; when it ends each job has run once', async () => {
    const server = await startPostgres()
    onTestFinished(() => server.remove())
    const t = bench({ url: server.url() })
    const { job, ran, open } = await withHeldJob(t)
    const client = new pg.Client(server.url())
    await client.connect()
    onTestFinished(() => client.end())
    await client.query('BEGIN')
    await client.query('SELECT pg_advisory_xact_lock($1)', [writerLockOf('highkiq')])
    await job.performAsync(1, '')
    open()
    await until(async () => {
      const [{ n } = {}] = await server.query(
        "SELECT count(*)::int AS n FROM pg_locks WHERE locktype = 'advisory' AND NOT granted",
      )
      return Number(n) > 0
    })
    expect(ran.all).toEqual([-1])
    await client.query('COMMIT')
    expect(await ran.atLeast(2)).toEqual([-1, 1])
    await t.settled()
    expect(await t.hq.stats()).toMatchObject({ processed: 2, failed: 0 })
    expect(t.errors).toEqual([])
  })
})

/** Lets the server refuse the first and the third job that leaves its owner; the third because the disk is full. */
async function refuseSome(url: string): Promise<void> {
  const client = new pg.Client(url)
  await client.connect()
  try {
    // A rollback does not set a sequence back.
    await client.query(`
      CREATE SEQUENCE highkiq.departures;
      CREATE FUNCTION highkiq.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        CASE nextval('highkiq.departures')
          WHEN 1 THEN RAISE EXCEPTION 'odd';
          WHEN 3 THEN RAISE EXCEPTION 'no space' USING ERRCODE = 'disk_full';
          ELSE RETURN OLD;
        END CASE;
      END $$;
      CREATE TRIGGER refuse BEFORE DELETE ON highkiq.fetched FOR EACH ROW EXECUTE FUNCTION highkiq.refuse()`)
  } finally {
    await client.end()
  }
}

onPostgres('a server that fails while it settles jobs one by one', () => {
  test('answers which settlements are stored; the others are stored when they are sent again', () =>
    withBench(postgres, async (t) => {
      const owner = await t.owner()
      await t.push('q', job(1), job(2))
      const settlements = (await t.fetch(owner, 'q', 2)).map((fetched) => retry(fetched, 1))
      await refuseSome(t.url)
      expect(await t.settleAndFetch(owner, { settlements })).toMatchObject({
        fenced: false,
        settled: ['ok', 'unknown'],
        problem: expect.stringContaining('no space'),
      })
      expect(await t.settleAndFetch(owner, { settlements: settlements.slice(1) })).toMatchObject({ settled: ['ok'] })
      expect(await t.store.jobSets.size('retry')).toBe(2)
    }))
})

/** A disk of so many megabytes in a folder of the server. */
function mountDisk({ folder }: PostgresServer, megabytes: number) {
  const disk = join(folder, 'disk')
  mkdirSync(disk)
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', disk])
  onTestFinished(() => void execFileSync('umount', ['-l', disk]))
  const { uid, gid } = statSync(folder)
  chownSync(disk, uid, gid)
  return { disk, resize: (size: number) => void execFileSync('mount', ['-o', `remount,size=${size}m`, disk]) }
}

const canMount = process.getuid?.() === 0 && process.platform === 'linux'

if (canMount) {
  onPostgres('a disk that is full', () => {
    test('refuses pushes of each kind and stores nothing of them; with more space all stored jobs run', async () => {
      const server = await startPostgres()
      onTestFinished(() => server.remove())
      const { disk, resize } = mountDisk(server, 24)
      await server.query(`CREATE TABLESPACE small LOCATION '${disk}'`)
      await server.query('CREATE DATABASE small TABLESPACE small')
      const t = bench({ url: server.url('', 'small') })
      const ran = new Collector<number>()
      const job = t.hq.job('J', (_ctx, n: number, _ballast: string) => ran.add(n))
      const ballast = randomBytes(1500).toString('hex')
      let stored = 0
      const refused = await (async () => {
        for (; stored < 50_000; stored++) await job.performAsync(stored, ballast)
      })().catch((thrown: unknown) => thrown)
      expect(refused).toMatchObject({ code: 'PUSH_FAILED', maybePushed: false, cause: { code: 'STORE_FULL' } })
      await expectRefused(t.hq.store, 'STORE_FULL', randomBytes(2_000_000).toString('hex'))
      expect(await t.hq.stats()).toMatchObject({ enqueued: stored })
      resize(200)
      await t.work()
      await ran.atLeast(stored)
      await t.settled()
      await job.performAsync(stored, ballast)
      await ran.atLeast(stored + 1)
      expect(ran.all).toEqual(Array.from({ length: stored + 1 }, (_, n) => n))
    })
  })
}
