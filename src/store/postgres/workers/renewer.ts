/** The lease thread's own connection, which only renews leases. */

import { Statements } from '../server/database.ts'
import { enderOf } from '../server/ending.ts'
import { loadPg } from '../server/pg.ts'
import type { PostgresOptions } from '../server/url.ts'
import { sql } from '../sql.generated.ts'

export async function openRenewer({ connectionString, schema }: PostgresOptions) {
  const pg = await loadPg()
  // A pool of one connects again after the connection was lost.
  const config = { connectionString, application_name: 'highkiq lease', max: 1, connectionTimeoutMillis: 5000 }
  const pool = new pg.Pool({ ...config, query_timeout: 5000, keepAlive: true })
  pool.on('error', () => {
    // The next renewal connects again.
  })
  const { text } = new Statements(schema, false).of(sql.owner.renew)
  return {
    renew: async (owner: string, seconds: number): Promise<boolean> =>
      (await pool.query(text, [owner, seconds])).rowCount === 1,
    close: enderOf(pool),
  }
}
