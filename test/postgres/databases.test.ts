import { Highkiq } from 'highkiq'
import { expect, test } from 'vitest'
import { recorder } from '../engine/bench.ts'
import { emptyDatabase, returnDatabase } from './databases.ts'
import { sharedPostgres } from './server.ts'
import { onPostgres } from './suite.ts'

/** All rows of a database and the values of its sequences. */
async function contentsOf(database: string): Promise<Record<string, unknown>> {
  const server = await sharedPostgres()
  const tables = await server.query(
    "SELECT relname FROM pg_class WHERE relnamespace = 'highkiq'::regnamespace AND relkind = 'r'",
    [],
    database,
  )
  const contents: Record<string, unknown> = {
    sequences: await server.query('SELECT * FROM pg_sequences ORDER BY sequencename', [], database),
  }
  for (const { relname } of tables)
    contents[String(relname)] = await server.query(`SELECT * FROM highkiq.${relname}`, [], database)
  return contents
}

onPostgres('the databases of the tests', () => {
  test('a returned database is used again and is like a new one, also after many rows', async () => {
    const server = await sharedPostgres()
    const database = await emptyDatabase()
    const fresh = await contentsOf(database)
    const hq = new Highkiq({ url: server.url('', database), logger: recorder() })
    const J = hq.job('J', { track: true }, async (_ctx, _n: number, _text: string) => {})
    await J.performBulk(Array.from({ length: 3000 }, (_, n) => [n, 'x'.repeat(200)]))
    await J.performIn(10, 1, '')
    await hq.ordered('O', async () => {}).performAsync([{ id: 1 }])
    await hq.close()
    const leftover = await server.connect(database)
    const ended = new Promise((resolve) => leftover.once('end', resolve))
    expect(await contentsOf(database)).not.toEqual(fresh)

    await returnDatabase(database)
    await ended
    expect(await emptyDatabase()).toBe(database)
    expect(await contentsOf(database)).toEqual(fresh)
    await returnDatabase(database)
  })

  test.for([
    'CREATE TABLE app (id integer)',
    'CREATE SCHEMA other',
    'ALTER TABLE highkiq.queue ALTER COLUMN size SET DEFAULT 1',
    'ALTER TABLE highkiq.running DISABLE TRIGGER ALL',
    'DROP INDEX highkiq.entry_by_order',
    "CREATE OR REPLACE FUNCTION highkiq.micros() RETURNS bigint LANGUAGE sql AS 'SELECT 1::bigint'",
    "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET jit = off', current_database()); END $$",
  ])('a database is not used again after %s', async (change) => {
    const server = await sharedPostgres()
    const database = await emptyDatabase()
    await server.query(change, [], database)
    await returnDatabase(database)
    const next = await emptyDatabase()
    expect(next).not.toBe(database)
    await returnDatabase(next)
  })
})
