/** Examines a PostgreSQL server. To add a check, add a function to `CHECKS`. */

import type { ClientBase } from 'pg'
import { plural } from '../../../job/plural.ts'
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
  if ((await settingOf('fsync')) === 'off') {
    found.push({
      severity: 'error',
      text: 'fsync is off, so a crash of the machine may damage the whole database',
      advice: 'Set fsync = on in postgresql.conf, and restart the server',
    })
  }
  if ((await settingOf('synchronous_commit')) === 'off') {
    found.push({
      severity: 'warning',
      text: 'synchronous_commit is off, so a crash of the server loses the last moments of acknowledged pushes',
      advice: "Set synchronous_commit = on for this user: ALTER USER … SET synchronous_commit = 'on'",
    })
  }
  return found
}

const CHECKS: Record<string, Check<View>> = {
  async server({ client }) {
    const number = Number(await readSetting(client, 'server_version_num'))
    const text = `PostgreSQL ${await readSetting(client, 'server_version')}`
    if (number >= OLDEST_VERSION * 10_000) return { severity: 'ok', text }
    return { severity: 'error', text: `${text} is too old`, advice: `Update it to ${OLDEST_VERSION} or newer` }
  },

  async schema({ client, options: { schema } }) {
    const version = await versionOf(client, schema)
    if (version === 0) return { severity: 'ok', text: `the schema ${schema} will be created` }
    if (version >= SCHEMA_VERSION) return undefined
    return {
      severity: 'warning',
      text: `the schema ${schema} was written by an older Highkiq (version ${version}, this one needs ${SCHEMA_VERSION}), so its jobs were not examined`,
      advice: 'Stop the processes of the older version: the next worker or command migrates it',
    }
  },

  async standby({ client }) {
    const { rows } = await client.query('SELECT pg_is_in_recovery() AS standby')
    if (!rows[0].standby) return undefined
    return {
      severity: 'error',
      text: 'the server is a standby, which only reads',
      advice: 'Name the primary in the URL',
    }
  },

  async durability({ client }) {
    const found = await durability((name) => readSetting(client, name))
    return found.length > 0 ? found : { severity: 'ok', text: 'each commit is on the disk before it is answered' }
  },

  async connections({ client }) {
    const { rows } = await client.query('SELECT count(*)::int AS used FROM pg_stat_activity WHERE backend_type = $1', [
      'client backend',
    ])
    const most = Number(await readSetting(client, 'max_connections'))
    const text = `${rows[0].used} of ${most} connections are in use`
    if (rows[0].used < most * ALMOST_ALL) return { severity: 'ok', text }
    return {
      severity: 'warning',
      text,
      advice: 'Raise max_connections, lower connections=N in the URL, or put PgBouncer in front',
    }
  },

  async transactions({ client }) {
    const { rows } = await client.query(
      `SELECT pid, application_name AS name, extract(epoch FROM now() - xact_start)::int AS seconds FROM pg_stat_activity
      WHERE xact_start < now() - make_interval(secs => $1) AND datname = current_database() ORDER BY xact_start LIMIT 1`,
      [OLD_TRANSACTION_SECONDS],
    )
    const [oldest] = rows
    if (!oldest) return undefined
    return {
      severity: 'warning',
      text: `the process ${oldest.pid} (${oldest.name || 'no application_name'}) has had a transaction open for ${oldest.seconds} s, so rows of ended jobs can't be removed, and queues get slower`,
      advice: 'End that transaction; idle_in_transaction_session_timeout does so by itself',
    }
  },

  async vacuum({ client, options: { schema } }) {
    const { rows } = await client.query(
      `SELECT relname AS name, n_dead_tup AS dead FROM pg_stat_user_tables
      WHERE schemaname = $1 AND n_dead_tup > $2 AND n_dead_tup > n_live_tup * $3 ORDER BY n_dead_tup DESC`,
      [schema, DEAD_ROWS.least, DEAD_ROWS.share],
    )
    return rows.map(({ name, dead }) => ({
      severity: 'warning' as const,
      text: `the table ${name} has ${plural(Number(dead), 'dead row')}, so vacuum does not keep up`,
      advice: `Run VACUUM ${schema}.${name}, and see that autovacuum is on and no transaction stays open`,
    }))
  },
}

/**
 * A check fails when the server does not answer one of its statements within `seconds`.
 * @throws STORE_UNREACHABLE, STORE_UNUSABLE when the server can't be examined at all
 */
export function diagnose(options: PostgresOptions, seconds = 10): Promise<Finding[]> {
  const examine = async (client: ClientBase) => {
    const advice = 'Give the user the right to read it, or connect as another user'
    const findings: Finding[] = []
    // One connection answers one question at a time.
    for (const [name, check] of Object.entries(CHECKS)) {
      findings.push(...(await runChecks({ [name]: check }, { options, client }, { severity: 'warning', advice })))
    }
    return findings
  }
  return onConnection(options, examine, seconds)
}
