import type pg from 'pg'
import { expect, test } from 'vitest'
import { withBench } from '../conformance/bench.ts'
import { postgres } from '../conformance/postgres.ts'
import { bench } from '../engine/bench.ts'
import { onPostgres } from './suite.ts'

/** Functions of an app with names of PostgreSQL's, which fit some calls better than those. */
const TRAPS = [
  'cardinality(text[])',
  'cardinality(bigint[])',
  'unnest(text[])',
  'unnest(bigint[])',
  'nextval(text)',
  'random()',
]
  .concat('string_to_array(text, text)', 'count(bigint)', 'pg_notify(text, text)', 'json_array_elements_text(json)')
  .map(
    (name) =>
      `CREATE FUNCTION trap.${name} RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'trapped'; END $$;`,
  )
const PATH = 'trap, pg_catalog'

onPostgres('functions of the app with the names of functions of PostgreSQL', () => {
  test('are not called by Highkiq, in its own sessions and in a transaction of the app', () =>
    withBench(postgres, async (t) => {
      const app = (await t.connect()) as pg.Client
      await app.query(`CREATE SCHEMA trap; ${TRAPS.join('')}`)
      await app.query(`ALTER DATABASE "${app.database}" SET search_path = ${PATH}`)
      await app.query(`SET search_path = ${PATH}`)
      await expect(app.query("SELECT nextval('x')")).rejects.toThrow('trapped')
      const { hq, work, settled } = bench({ url: t.url })
      const J = hq.job('J', async (_ctx, _n: number) => {})
      const U = hq.job('U', { unique: true }, async (_ctx, _n: number) => {})
      const T = hq.job('T', { track: true }, async (_ctx, _n: number) => {})
      await J.performBulk([[1], [2]])
      await T.performAsync(1)
      await app.query('BEGIN')
      await hq.transaction(app, () => J.performAsync(3))
      await hq.transaction(app, async () => {
        await U.performAsync(4)
        await T.performAsync(5)
      })
      await app.query('COMMIT')
      await work()
      await settled()
      expect(await hq.stats()).toMatchObject({ processed: 6, failed: 0, retries: 0 })
      await hq.close()
    }))

  test('are not called by the hottest functions in a session with another search_path, as PgBouncer may give', () =>
    withBench(postgres, async (t) => {
      await t.push('q', t.job(1))
      const owner = await t.owner()
      const app = (await t.connect()) as pg.Client
      await app.query(`CREATE SCHEMA trap; ${TRAPS.join('')} SET search_path = ${PATH}`)
      const rows = async (sql: string) => (await app.query({ text: sql, rowMode: 'array' })).rows
      expect(await rows(`SELECT highkiq.push_packs(1, 'q', E'{}\\n[]', 2, 0)`)).toEqual([[true]])
      const step = (ended: string, n: number) =>
        rows(`SELECT kind FROM highkiq.step_plain(1, '${owner}', ${ended}, '2026-01-01', '{q}', ${n}, 7)`)
      expect(await step(`'{}', '{}', '{}'`, 3)).toEqual([['owner'], ['fetched'], ['fetched'], ['fetched']])
      const [[queue, position]] = (await rows('SELECT queue, position FROM highkiq.fetched')) as [[string, string]]
      const ended = `'{${queue}, ${queue}}', '{${position}, 99}', '{7, 7}'`
      expect(await step(ended, 0)).toEqual([['owner'], ['settled']])
      await rows('SELECT highkiq.sum_changes(1)')
      expect(await t.store.metrics.totals()).toMatchObject({ fetched: 2, enqueued: 0, processed: 1 })
    }))
})
