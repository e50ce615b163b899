import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import type { OrphanedJob, Settlement, Store } from '#dist/store/contract.js'
import { openStore } from '#dist/store/open.js'
import { writerLockOf } from '#dist/store/postgres/server/lock.js'
import { SCHEMA_VERSION } from '#dist/store/postgres/server/schema-version.js'
import { readPostgresUrl } from '#dist/store/postgres/server/url.js'
import { NOW, toQueue } from '../conformance/bench.ts'
import { newSchema, sharedPostgres } from './server.ts'
import { onPostgres } from './suite.ts'

const MIGRATOR = fileURLToPath(new URL('migrator.js', import.meta.url))
/** The advisory lock with which a test holds a migration up. */
const GATE = 424242
const HELD_UP = `SET LOCAL lock_timeout = 0; SELECT pg_advisory_xact_lock(${GATE});`

interface More {
  functions?: string
  migrations: string[]
}

/** An empty schema of the shared server, or one of the shipped version. */
async function newStore(isOpened = true) {
  const server = await sharedPostgres()
  const schema = newSchema()
  const url = server.url(`?schema=${schema}`)
  const query = async <Row = Record<string, unknown>>(sql: string) =>
    (await server.query(sql.replaceAll('hk.', `"${schema}".`))) as Row[]
  const store = openStore(url)
  onTestFinished(async () => {
    await store.close()
    await query(`DROP SCHEMA IF EXISTS "${schema}" CASCADE`)
  })
  if (isOpened) await store.open()
  const version = async () => (await query<{ version: number }>('SELECT version FROM hk.schema_version'))[0]?.version
  const connect = async () => {
    const client = new pg.Client(server.url())
    client.on('error', () => {})
    await client.connect()
    onTestFinished(() => client.end())
    return (sql: string) => client.query(sql.replaceAll('hk.', `"${schema}".`))
  }
  return { store, url, query, version, connect }
}

/** Opens a store as the next version does. */
function openNext(url: string): Store {
  const store = openStore(url)
  onTestFinished(() => store.close())
  return store
}

function startMigrator(url: string, { functions = '', migrations }: More) {
  const child = spawn(process.execPath, [MIGRATOR, url, JSON.stringify({ functions, migrations })])
  const output = text(child.stderr)
  const ended = new Promise<{ code: number | null; output: string }>((resolve) => {
    child.once('close', async (code) => resolve({ code, output: await output }))
  })
  return { ended, kill: () => void child.kill('SIGKILL') }
}

/** Resolves to the number of the server's process that waits for a lock in a statement like this. */
async function waiting(query: Awaited<ReturnType<typeof newStore>>['query'], like: string): Promise<number> {
  let pid: number | undefined
  const sql = `SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%${like}%' AND pid <> pg_backend_pid()`
  await expect
    .poll(async () => {
      ;[pid] = (await query<{ pid: number }>(sql)).map((row) => row.pid)
      return pid
    })
    .toBeDefined()
  return pid as number
}

onPostgres('migrations', () => {
  test('four processes that open a new store at once create its schema once', async () => {
    const { url, version, store } = await newStore(false)
    const migrators = [1, 2, 3, 4].map(() => startMigrator(url, { migrations: [] }))
    for (const { ended } of migrators) expect(await ended).toEqual({ code: 0, output: '' })
    expect(await version()).toBe(SCHEMA_VERSION)
    await store.jobs.push([toQueue('q', '{}')], NOW)
    expect(await store.jobs.peek('q', 0, 9)).toEqual(['{}'])
  })

  test('a process that waits while another one creates the schema does not create it again', async () => {
    const { url, query, connect } = await newStore(false)
    const { schema } = readPostgresUrl(url)
    const other = await connect()
    await other(`BEGIN; SELECT pg_advisory_xact_lock(${writerLockOf(schema)})`)
    const migrator = startMigrator(url, { migrations: [] })
    await waiting(query, 'SELECT pg_advisory_xact_lock')
    // The schema alone is so small a change that the server does not refresh what the waiting process has cached.
    await other(
      `CREATE SCHEMA ${schema}; CREATE TABLE hk.schema_version AS SELECT ${SCHEMA_VERSION} AS version; COMMIT`,
    )
    expect(await migrator.ended).toEqual({ code: 0, output: '' })
  })

  test('four processes that migrate at once run each migration once, and the functions are those of the last version', async () => {
    const { url, query, version, store } = await newStore()
    await store.jobs.push([toQueue('q', '{}')], NOW)
    const more = {
      functions:
        'CREATE OR REPLACE FUNCTION hk.probe() RETURNS integer LANGUAGE sql AS $$ SELECT max(n) FROM hk.probed $$;',
      migrations: [
        'CREATE TABLE hk.probed (n integer);',
        '-- A change of a function.\nINSERT INTO hk.probed VALUES (2);',
        '-- Outside of a transaction.\nDROP INDEX CONCURRENTLY IF EXISTS hk.probed_by_n;\nCREATE INDEX CONCURRENTLY probed_by_n ON hk.probed (n);\nINSERT INTO hk.probed VALUES (3);',
        'INSERT INTO hk.probed VALUES (4);',
      ],
    }
    expect(await startMigrator(url, { migrations: more.migrations.slice(0, 1) }).ended).toEqual({ code: 0, output: '' })
    expect(await version()).toBe(SCHEMA_VERSION + 1)
    const migrators = [1, 2, 3, 4].map(() => startMigrator(url, more))
    for (const { ended } of migrators) expect(await ended).toEqual({ code: 0, output: '' })
    expect(await version()).toBe(SCHEMA_VERSION + 4)
    expect(await query('SELECT n FROM hk.probed ORDER BY n')).toEqual([{ n: 2 }, { n: 3 }, { n: 4 }])
    expect(await query('SELECT hk.probe() AS n')).toEqual([{ n: 4 }])
    expect(await query(`SELECT indisvalid FROM pg_index WHERE indexrelid = 'hk.probed_by_n'::regclass`)).toEqual([
      { indisvalid: true },
    ])
    // This process knows only the shipped version.
    await expect(store.jobs.pauseQueue('q', true)).rejects.toMatchObject({
      code: 'STORE_UNUSABLE',
      message: expect.stringContaining('newer Highkiq'),
    })
    expect(await store.jobs.peek('q', 0, 9)).toEqual(['{}'])
  })

  test('a migration that is killed half-way has changed nothing, and the next process runs it', async () => {
    const { url, query, version, connect } = await newStore()
    const gate = await connect()
    await gate(`SELECT pg_advisory_lock(${GATE})`)
    const more = { migrations: [`CREATE TABLE hk.probed (n integer);\n${HELD_UP}`] }
    const killed = startMigrator(url, more)
    const pid = await waiting(query, 'CREATE TABLE %probed')
    killed.kill()
    await killed.ended
    const next = startMigrator(url, more)
    await waiting(query, 'pg_advisory_xact_lock(%')
    await gate(`SELECT pg_advisory_unlock(${GATE})`)
    expect(await next.ended).toEqual({ code: 0, output: '' })
    expect(await version()).toBe(SCHEMA_VERSION + 1)
    expect(await query('SELECT * FROM hk.probed')).toEqual([])
    expect(await query(`SELECT 1 FROM pg_stat_activity WHERE pid = ${pid}`)).toEqual([])
  })

  test('an index whose creation was cut off is created again, and writes go on meanwhile', async () => {
    const { url, query, version, connect, store } = await newStore()
    await store.jobs.push([toQueue('q', '{}')], NOW)
    const app = await connect()
    await app(`BEGIN; INSERT INTO hk.ready VALUES (99, 1, '{}')`)
    const index =
      '-- Outside of a transaction.\nDROP INDEX CONCURRENTLY IF EXISTS hk.probed;\nCREATE INDEX CONCURRENTLY probed ON hk.ready (text);'
    const cut = startMigrator(url, { migrations: [index] })
    const pid = await waiting(query, 'CREATE INDEX CONCURRENTLY probed')
    await store.jobs.pauseQueue('q', true)
    await store.jobs.push([toQueue('q', '{}')], NOW)
    await query(`SELECT pg_terminate_backend(${pid})`)
    expect(await cut.ended).toMatchObject({ code: 1, output: expect.stringContaining('terminating connection') })
    const isValid = () => query(`SELECT indisvalid FROM pg_index WHERE indexrelid = 'hk.probed'::regclass`)
    expect(await isValid()).toEqual([{ indisvalid: false }])
    expect(await version()).toBe(SCHEMA_VERSION)
    await app('COMMIT')
    expect(await startMigrator(url, { migrations: [index] }).ended).toEqual({ code: 0, output: '' })
    expect(await isValid()).toEqual([{ indisvalid: true }])
    expect(await version()).toBe(SCHEMA_VERSION + 1)
  })

  test('a migration waits for the statement of a process that was killed while it created an index', async () => {
    const { url, query, version, connect } = await newStore()
    const app = await connect()
    await app(`BEGIN; INSERT INTO hk.ready VALUES (99, 1, '{}')`)
    const more = {
      migrations: ['-- Outside of a transaction.\nCREATE INDEX CONCURRENTLY IF NOT EXISTS probed ON hk.ready (text);'],
    }
    const killed = startMigrator(url, more)
    await waiting(query, 'CREATE INDEX CONCURRENTLY IF NOT EXISTS probed')
    killed.kill()
    await killed.ended
    const next = startMigrator(url, more)
    await app('COMMIT')
    expect(await next.ended).toEqual({ code: 0, output: '' })
    expect(await query(`SELECT indisvalid FROM pg_index WHERE indexrelid = 'hk.probed'::regclass`)).toEqual([
      { indisvalid: true },
    ])
    expect(await version()).toBe(SCHEMA_VERSION + 1)
  })

  test('a migration gives way to a transaction of the app that has pushed, so that others can push', async () => {
    const { url, query, version, connect, store } = await newStore()
    await store.jobs.push([toQueue('q', '{}')], NOW)
    const app = await connect()
    await app(`BEGIN; INSERT INTO hk.ready VALUES (99, 1, '{}')`)
    const migrator = startMigrator(url, { migrations: ['ALTER TABLE hk.ready ADD COLUMN probed integer;'] })
    await waiting(query, 'ALTER TABLE %ADD COLUMN probed')
    await store.jobs.push([toQueue('q', '{}')], NOW)
    expect(await version()).toBe(SCHEMA_VERSION)
    await app('COMMIT')
    expect(await migrator.ended).toEqual({ code: 0, output: '' })
    expect(await version()).toBe(SCHEMA_VERSION + 1)
  })

  test('a store of version 1 keeps its jobs, also those that a dead worker had fetched', async () => {
    const { url, query, version } = await newStore()
    await query(`
      ALTER TABLE hk.fetched DROP COLUMN fetch_number;
      DROP TABLE hk.pack, hk.queue_sizes;
      DROP FUNCTION hk.step_plain;
      DROP FUNCTION hk.step_rows;
      CREATE FUNCTION hk.step_plain(bigint, text, bigint[], bigint[], text, text[], bigint) RETURNS void LANGUAGE sql AS 'SELECT';
      CREATE FUNCTION hk.step_rows(
        bigint, text, bigint[], bigint[], text, text[], bigint, bigint, bigint, text[],
        text[], bigint[], integer[], integer[], bigint[],
        text[], bigint[], integer[], integer[], bigint[], bigint[], smallint[], text[], text[],
        text[], bigint[], bigint[], text[], text[], bigint, bigint
      ) RETURNS void LANGUAGE sql AS 'SELECT';
      INSERT INTO hk.owner (id, name, host, seconds, stamp, renewed_at, claimed) VALUES (7, 'dead', 'h', 1, 1, 1, 1);
      INSERT INTO hk.queue (id, name, size) VALUES (7, 'q', 1);
      INSERT INTO hk.fetched VALUES (7, 7, 1, '{"jid":"1"}');
      INSERT INTO hk.ready VALUES (7, 2, '{"jid":"2"}');
      UPDATE hk.schema_version SET version = 1`)
    const { workers } = openNext(url)
    const [orphaned] = await workers.orphaned(9)
    const { owner, ticket, text } = orphaned as OrphanedJob
    expect([await version(), owner, text]).toEqual([SCHEMA_VERSION, 'dead', '{"jid":"1"}'])
    expect(
      await workers.rescue([{ owner, ticket, queue: 'q', to: { to: 'queue', queue: 'q', text, end: 'front' } }], NOW),
    ).toEqual(['ok'])
    await workers.join('w', { queues: ['q'], seconds: 60, host: 'h' })
    const step = (settlements: Settlement[]) =>
      workers.settleAndFetch('w', { now: NOW, started: [], settlements, fetch: { queues: ['q'], n: 9 } })
    const { fetched } = await step([])
    expect(fetched.map((one) => one.text)).toEqual(['{"jid":"1"}', '{"jid":"2"}'])
    const ends = fetched.map(
      (one) => ({ queue: 'q', ticket: one.ticket, move: null, processed: 1, failed: 0 }) as const,
    )
    expect((await step(ends)).settled).toEqual(['ok', 'ok'])
    expect(
      await query(
        `SELECT count(*)::int AS n FROM pg_proc WHERE pronamespace = '"${readPostgresUrl(url).schema}"'::regnamespace AND proname LIKE 'step%'`,
      ),
    ).toEqual([{ n: 3 }])
  })

  test('the size of the set of finished jobs stays, and older processes go on running plain jobs', async () => {
    const { store, url, query } = await newStore()
    await query(`
      INSERT INTO hk.finished_pack (size, oldest, newest, scores, texts) VALUES (2, 5, 6, '{5,6}', '{"{\\"jid\\":1}","{\\"jid\\":2}"}');
      INSERT INTO hk.entry (set_id, score, text) VALUES (-1, 4, '{"jid":0}');
      UPDATE hk.job_set SET size = 3 WHERE id = -1;
      DROP FUNCTION hk.step_plain_2;
      UPDATE hk.schema_version SET version = 7`)
    const next = openNext(url)
    expect(await next.jobSets.size('finished')).toBe(3)
    await next.jobSets.prune('finished', 2, 0)
    expect((await next.jobSets.page('finished', { limit: 9 })).map(({ score }) => score)).toEqual([5, 6])
    expect(await next.jobSets.size('finished')).toBe(2)
    await store.workers.join('w', { queues: ['q'], seconds: 60, host: 'h' })
    await store.jobs.push([toQueue('q', '{}')], NOW)
    const rows = await query(`SELECT kind FROM hk.step_plain(1, 'w', '{}', '{}', '{}', '2026-01-01', '{q}', 9, 7)`)
    expect(rows.map(({ kind }) => kind)).toEqual(['owner', 'fetched'])
  })

  test('a migration that fails changes nothing, and its error names the cause', async () => {
    const { url, version, query } = await newStore()
    const more = { migrations: ['CREATE TABLE hk.probed (n integer);\nCREATE TABLE hk.ready (n integer);'] }
    expect(await startMigrator(url, more).ended).toMatchObject({
      code: 1,
      output: expect.stringContaining('relation "ready" already exists'),
    })
    expect(await version()).toBe(SCHEMA_VERSION)
    expect(await query(`SELECT to_regclass('hk.probed') AS there`)).toEqual([{ there: null }])
  })

  test('with transaction pooling a migration outside of a transaction is refused with advice', async () => {
    const { url, version } = await newStore()
    const more = { migrations: ['-- Outside of a transaction.\nVACUUM hk.ready;'] }
    expect(await startMigrator(`${url}&pooling=transaction`, more).ended).toMatchObject({
      code: 1,
      output: expect.stringContaining('run "highkiq migrate" once with the URL of the server itself'),
    })
    expect(await version()).toBe(SCHEMA_VERSION)
    expect(await startMigrator(url, more).ended).toEqual({ code: 0, output: '' })
  })

  test('the script of a plan makes the schema that opening the store would make', async () => {
    const { store, query, version } = await newStore(false)
    const plan = await store.planMigration?.()
    expect(plan).toMatchObject({ version: 0, target: SCHEMA_VERSION, steps: [expect.stringMatching(/^BEGIN;/)] })
    await expect(version()).rejects.toThrow('does not exist')
    for (const step of plan?.steps ?? []) await query(step)
    expect(await store.planMigration?.()).toEqual({ version: SCHEMA_VERSION, target: SCHEMA_VERSION, steps: [] })
    await store.jobs.push([toQueue('q', '{}')], NOW)
    expect(await store.jobs.peek('q', 0, 9)).toEqual(['{}'])
  })
})
