import { readFileSync } from 'node:fs'
import pg from 'pg'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { openStore } from '#dist/store/open.js'
import { Statements } from '#dist/store/postgres/server/database.js'
import { sql } from '#dist/store/postgres/sql.generated.js'
import { bench, Collector, until } from '../engine/bench.ts'
import { type PostgresServer, startPostgres } from './server.ts'
import { onPostgres } from './suite.ts'

/** The statements of the page, which an administrator runs. */
const grants = (() => {
  const page = readFileSync(new URL('../../docs/postgres.md', import.meta.url), 'utf8')
  const [, text = ''] = /## Give the app roles of its own\n.*?```sql\n(.*?)```/s.exec(page) ?? []
  return text
})()

/** Makes the roles of the page, the tables of Highkiq, and one that is not its own. Returns the URL of the app. */
async function setUp(server: PostgresServer): Promise<string> {
  await server.query('CREATE TABLE public.secret (text text)')
  await server.query(grants)
  const as = (role: string) => server.url().replace(/\/\/[^@]*@/, `//${role}@`)
  const store = openStore(as('jobs_owner'))
  await store.open()
  await store.close()
  return as('jobs')
}

/** Yields all statements of a tree that read or change tables. */
function* statementsIn(tree: object): Generator<string> {
  for (const value of Object.values(tree)) {
    if (typeof value !== 'string') yield* statementsIn(value)
    else if (!/^(SAVEPOINT|RELEASE|ROLLBACK)/.test(value)) yield value
  }
}

onPostgres('the roles of docs/postgres.md', () => {
  let server: PostgresServer
  let url: string
  beforeAll(async () => {
    server = await startPostgres()
    url = await setUp(server)
  })
  afterAll(() => server.remove())

  test('the app pushes and runs jobs of all kinds with the rights of its role', async () => {
    const t = bench({ url })
    const ran = new Collector<unknown>()
    const job = t.hq.job('Do', { keepResult: 60, keepFinished: true }, async (_ctx, n: number) => {
      ran.add(n)
      return n
    })
    const once = t.hq.job('Once', { unique: { for: '1h' } }, (_ctx, n: number) => ran.add(n))
    const failing = t.hq.job('Fail', { retryIn: () => 0.1 }, ({ attempt }) => {
      if (attempt === 1) throw new Error('once')
      ran.add('failed once')
    })
    const limited = t.hq.job('Limited', { limit: { concurrency: 1 } }, (_ctx, n: number) => ran.add(n))
    const sync = t.hq.ordered('Sync', { shards: 1 }, async (_ctx, batch) => void ran.add([...batch.keys()]))
    const worker = await t.work({ leaseSeconds: 1 })
    const jid = await job.performAsync(1)
    await job.performIn(0.1, 2)
    await once.performAsync(3)
    await failing.performAsync()
    await limited.performBulk([[4], [5]])
    await sync.performAsync({ id: 'a', payload: 1 })
    await t.hq.batch({}, () => job.performAsync(6))
    const task = await t.hq.tasks.create(job, [[7], [8]])
    await task.wait()
    await ran.atLeast(10)
    expect(await t.hq.result(String(jid))).toBe(1)
    await t.hq.queue('default').pause()
    await t.hq.queue('default').resume()
    expect(await t.hq.cancel('unknown')).toBe('not-found')
    await until(async () => (await t.hq.processes().size()) === 1)
    await t.settled()
    await worker.stop()
    expect(t.errors.map(({ error }) => error.message)).toEqual(['once'])
  })

  test('the role of the app may run every statement of the store', async () => {
    const client = new pg.Client(url)
    await client.connect()
    onTestFinished(() => client.end())
    const statements = new Statements('highkiq', false)
    const refused: string[] = []
    let tried = 0
    for (const statement of statementsIn(sql)) {
      const { text } = statements.of(statement)
      await client.query(`PREPARE tried AS ${text}`)
      const { rows } = await client.query(
        "SELECT cardinality(parameter_types) AS n FROM pg_prepared_statements WHERE name = 'tried'",
      )
      const nothing = Array(rows[0].n).fill('NULL').join(', ')
      // EXPLAIN plans the statement and checks its rights, but does not run it.
      await client.query(`EXPLAIN EXECUTE tried ${nothing && `(${nothing})`}`).catch((thrown) => {
        refused.push(`${thrown.message}: ${text}`)
      })
      await client.query('DEALLOCATE tried')
      tried++
    }
    expect(tried).toBeGreaterThan(300)
    expect(refused).toEqual([])
  })

  test('the role of the app may neither change the schema nor read the tables of others', async () => {
    const client = new pg.Client(url)
    await client.connect()
    onTestFinished(() => client.end())
    for (const statement of [
      'CREATE TABLE highkiq.mine (text text)',
      'DROP TABLE highkiq.ready',
      'TRUNCATE highkiq.ready',
      'ALTER TABLE highkiq.ready ADD COLUMN mine text',
      'SELECT * FROM public.secret',
      'CREATE SCHEMA mine',
      'CREATE ROLE mine',
    ]) {
      await expect(client.query(statement), statement).rejects.toMatchObject({ code: '42501' })
    }
  })
})
