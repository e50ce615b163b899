/** Examines a PostgreSQL server. To add a check, add a function to `CHECKS`. */

import type { ClientBase } from 'pg'
import { finding } from '../../contract/finding-texts.ts'
import { type Check, type CheckResult, type Finding, runChecks } from '../../contract.ts'
import { versionOf } from './migrate.ts'
import { onConnection } from './pg.ts'
import { SCHEMA_VERSION } from './schema-version.ts'
import type { PostgresOptions } from './url.ts'

interface View {
  options: PostgresOptions
  client: ClientBase
}

const OLDEST_VERSION = 13
/** The share of the connections from which on few are left. */
const ALMOST_ALL = 0.9
/** A transaction that is older keeps vacuum from removing the rows of ended jobs. */
const OLD_TRANSACTION_SECONDS = 300
/** A table with this many dead rows for each living one was not vacuumed. */
const DEAD_ROWS = { least: 100_000, share: 4 }

async function readSetting(client: ClientBase, name: string): Promise<string> {
  const { rows } = await client.query('SELECT current_setting($1) AS value', [name])
  return rows[0].value
}

/** Returns warnings about settings with which an acknowledged push may be lost. */
export async function durability(settingOf: (setting: string) => Promise<string>): Promise<CheckResult[]> {
  const found: CheckResult[] = []
  if ((await settingOf('fsync')) === 'off') found.push(finding('error', 'postgres-fsync-off'))
  if ((await settingOf('synchronous_commit')) === 'off') found.push(finding('warning', 'postgres-commits-late'))
  return found
}

const CHECKS: Record<string, Check<View>> = {
  async server({ client }) {
    const number = Number(await readSetting(client, 'server_version_num'))
    const version = await readSetting(client, 'server_version')
    if (number >= OLDEST_VERSION * 10_000) return finding('ok', 'postgres-version', { version })
    return finding('error', 'postgres-too-old', { version, oldest: OLDEST_VERSION })
  },

  async schema({ client, options: { schema } }) {
    const version = await versionOf(client, schema)
    if (version === 0) return finding('ok', 'postgres-schema-new', { schema })
    if (version >= SCHEMA_VERSION) return undefined
    return finding('warning', 'postgres-of-older', { schema, version, needed: SCHEMA_VERSION })
  },

  async standby({ client }) {
    const { rows } = await client.query('SELECT pg_is_in_recovery() AS standby')
    return rows[0].standby ? finding('error', 'postgres-standby') : undefined
  },

  async durability({ client }) {
    const found = await durability((name) => readSetting(client, name))
    return found.length > 0 ? found : finding('ok', 'postgres-commits-ok')
  },

  async connections({ client }) {
    const { rows } = await client.query('SELECT count(*)::int AS used FROM pg_stat_activity WHERE backend_type = $1', [
      'client backend',
    ])
    const { used } = rows[0]
    const most = Number(await readSetting(client, 'max_connections'))
    return finding(used < most * ALMOST_ALL ? 'ok' : 'warning', 'postgres-connections', { used, most })
  },

  async transactions({ client }) {
    const { rows } = await client.query(
      `SELECT pid, application_name AS name, extract(epoch FROM now() - xact_start)::int AS seconds FROM pg_stat_activity
      WHERE xact_start < now() - make_interval(secs => $1) AND datname = current_database() ORDER BY xact_start LIMIT 1`,
      [OLD_TRANSACTION_SECONDS],
    )
    const [oldest] = rows
    if (!oldest) return undefined
    const { pid, name, seconds } = oldest
    return finding('warning', 'postgres-transaction-open', { pid: String(pid), name: name ?? '', seconds })
  },

  async vacuum({ client, options: { schema } }) {
    const { rows } = await client.query(
      `SELECT relname AS name, n_dead_tup AS dead FROM pg_stat_user_tables
      WHERE schemaname = $1 AND n_dead_tup > $2 AND n_dead_tup > n_live_tup * $3 ORDER BY n_dead_tup DESC`,
      [schema, DEAD_ROWS.least, DEAD_ROWS.share],
    )
    return rows.map(({ name, dead }) =>
      finding('warning', 'postgres-dead-rows', { schema, table: name, n: Number(dead) }),
    )
  },
}

/**
 * A check fails when the server does not answer one of its statements within `seconds`.
 * @throws STORE_UNREACHABLE, STORE_UNUSABLE when the server can't be examined at all
 */
export function diagnose(options: PostgresOptions, seconds = 10): Promise<Finding[]> {
  const examine = async (client: ClientBase) => {
    const failed = (error: string) => finding('warning', 'postgres-check-failed', { error })
    const findings: Finding[] = []
    // One connection answers one question at a time.
    for (const [name, check] of Object.entries(CHECKS)) {
      findings.push(...(await runChecks({ [name]: check }, { options, client }, failed)))
    }
    return findings
  }
  return onConnection(options, examine, seconds)
}
