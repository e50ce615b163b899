/** Makes the schema, and brings that of an older version up to date, one process at a time. */

import type { ClientBase, Pool, PoolClient } from 'pg'
import { schema as firstSchema, migrations } from '../sql.generated.ts'
import { Statements } from './database.ts'
import { tooNew } from './errors.ts'
import { lockOf } from './lock.ts'
import { SCHEMA_VERSION } from './schema-version.ts'

/** @throws STORE_UNUSABLE when a newer Highkiq has made the schema */
export async function migrate(pool: Pool, schema: string, url: string): Promise<void> {
  if ((await versionOf(pool, schema)) === SCHEMA_VERSION) return
  const client = await pool.connect()
  const statements = new Statements(schema, false)
  try {
    await client.query(
      `BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL lock_timeout = '30s'; SELECT pg_advisory_xact_lock(${lockOf(schema)})`,
    )
    const version = await versionOf(client, schema)
    if (version > SCHEMA_VERSION) throw tooNew(url, schema, version)
    if (version === 0) await createSchema(client, schema)
    const steps = version === 0 ? [firstSchema] : migrations.slice(version - 1)
    for (const step of steps) await client.query(statements.of(step).text)
    await client.query(`UPDATE "${schema}".schema_version SET version = $1`, [SCHEMA_VERSION])
    await client.query('COMMIT')
  } catch (thrown) {
    await client.query('ROLLBACK').catch(() => undefined)
    throw thrown
  } finally {
    client.release()
  }
}

/** Creates the schema if it is not there: a user without the right to create schemas may have an empty one. */
async function createSchema(client: PoolClient, schema: string): Promise<void> {
  const { rows } = await client.query('SELECT to_regnamespace($1) IS NOT NULL AS there', [`"${schema}"`])
  if (!rows[0].there) await client.query(`CREATE SCHEMA "${schema}"`)
}

/** Returns the version of the schema; 0: there is none. */
export async function versionOf(on: Pick<ClientBase, 'query'>, schema: string): Promise<number> {
  const { rows } = await on.query('SELECT to_regclass($1) IS NOT NULL AS there', [`"${schema}".schema_version`])
  if (!rows[0]?.there) return 0
  const { rows: versions } = await on.query(`SELECT version FROM "${schema}".schema_version`)
  return versions[0]?.version ?? 0
}
