/** Makes the schema, and brings that of an older version up to date, one process at a time. */

import { setTimeout as sleep } from 'node:timers/promises'
import type { ClientBase } from 'pg'
import { HighkiqError } from '../../../job/errors.ts'
import type { MigrationPlan } from '../../contract.ts'
import { explain, isRepeatable, tooNew } from './errors.ts'
import { migrationLockOf, writerLockOf } from './lock.ts'
import { type MigrationStep, newestOf, scriptOf, stepsFrom, VERSIONS, type Versions } from './migration-plan.ts'
import type { PostgresOptions } from './url.ts'

/** For this long a process waits for another one that migrates, or for transactions that use the tables. */
const WAIT_MS = 60_000
/** The longest wait for the lock of the writers in one attempt. */
const LOCK_SECONDS = 5
/**
 * The longest wait for a table. Meanwhile all later statements on that table wait behind the migration. The time
 * is below the server's deadlock_timeout, so that the migration gives way, and not the app's transaction.
 */
const TABLE_LOCK_MS = 500
const PAUSE_MS = 200
/** The server ends the transaction of a process that is frozen for this long. */
const IDLE_SECONDS = 30

type On = Pick<ClientBase, 'query'>
type Options = Pick<PostgresOptions, 'schema' | 'url' | 'pooling'>

/**
 * Migrates on a connection that no one else uses, and whose statements have no time limit.
 * @throws STORE_UNUSABLE when a newer Highkiq has made the schema; STORE_TIMEOUT when others keep a lock
 */
export async function migrate(on: On, options: Options, all: Versions = VERSIONS): Promise<void> {
  for (;;) {
    const [step] = await nextSteps(on, options, all)
    if (!step) return
    const run = step.outside.length > 0 ? runOutside : runInside
    await untilFree(options.url, () => run(on, options, step))
  }
}

/** Returns what `migrate` would do. */
export async function planMigration(on: On, options: Options): Promise<MigrationPlan> {
  const steps = await nextSteps(on, options, VERSIONS)
  const target = newestOf(VERSIONS)
  return { version: steps[0]?.from ?? target, target, steps: steps.map((step) => scriptOf(step, options.schema)) }
}

async function nextSteps(on: On, { schema, url }: Options, all: Versions): Promise<MigrationStep[]> {
  const version = await versionOf(on, schema)
  if (version > newestOf(all)) throw tooNew(url, schema, version)
  if (version > 0) return stepsFrom(version, schema, true, all)
  // A user without the right to create schemas may have an empty one.
  const { rows } = await on.query('SELECT to_regnamespace($1) IS NOT NULL AS there', [`"${schema}"`])
  return stepsFrom(0, schema, rows[0].there, all)
}

/** Repeats an attempt while it returns false, or a lock was not free in time. */
async function untilFree(url: string, attempt: () => Promise<boolean>): Promise<void> {
  for (const end = performance.now() + WAIT_MS; ; await sleep(PAUSE_MS)) {
    try {
      if (await attempt()) return
    } catch (thrown) {
      if (!isRepeatable(thrown)) throw explain(url, thrown)
    }
    if (performance.now() > end) {
      const message = `${url}: another process migrates the schema, or a transaction keeps one of its tables: see pg_stat_activity, and start this process again`
      throw new HighkiqError('STORE_TIMEOUT', message)
    }
  }
}

async function runInside(on: On, { schema }: Options, { from, inside }: MigrationStep): Promise<true> {
  try {
    const limits = `SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = '${IDLE_SECONDS}s'`
    await on.query(
      `BEGIN ISOLATION LEVEL READ COMMITTED; ${limits}; SET LOCAL lock_timeout = '${LOCK_SECONDS}s'; SELECT pg_advisory_xact_lock(${writerLockOf(schema)})`,
    )
    // Another process may have migrated while this one waited for the lock.
    if ((await versionOf(on, schema)) === from)
      await on.query(`SET LOCAL lock_timeout = '${TABLE_LOCK_MS}ms';\n${inside.join('\n')}`)
    await on.query('COMMIT')
    return true
  } catch (thrown) {
    await on.query('ROLLBACK').catch(() => undefined)
    throw thrown
  }
}

/**
 * Runs statements that can't be in a transaction; returns false while another process does. No process waits in a transaction
 * for the lock of these steps, because CREATE INDEX CONCURRENTLY waits for all transactions. If the migrating process is
 * killed, the server keeps the lock until the running statement ends.
 */
async function runOutside(on: On, options: Options, step: MigrationStep): Promise<boolean> {
  const { schema, url, pooling } = options
  if (pooling === 'transaction') {
    const message = `${url}: this migration runs statements outside of a transaction, which PgBouncer does not allow in transaction mode: run "highkiq migrate" once with the URL of the server itself`
    throw new HighkiqError('STORE_UNUSABLE', message)
  }
  const lock = migrationLockOf(schema)
  const { rows } = await on.query(`SELECT pg_try_advisory_lock(${lock}) AS free`)
  if (!rows[0].free) return false
  try {
    if ((await versionOf(on, schema)) !== step.from) return true
    await on.query('SET statement_timeout = 0')
    for (const statement of step.outside) await on.query(statement)
    await untilFree(url, () => runInside(on, options, step))
    return true
  } finally {
    await on.query(`SELECT pg_advisory_unlock(${lock})`).catch(() => undefined)
  }
}

/**
 * Returns the version of the schema; 0: there is none. `to_regclass` would not do: in the transaction that waited for the
 * lock, it may still remember that there was no schema.
 */
export async function versionOf(on: On, schema: string): Promise<number> {
  const { rows } = await on.query(
    "SELECT EXISTS (SELECT FROM pg_tables WHERE schemaname = $1 AND tablename = 'schema_version') AS there",
    [schema],
  )
  if (!rows[0]?.there) return 0
  const { rows: versions } = await on.query(`SELECT version FROM "${schema}".schema_version`)
  return versions[0]?.version ?? 0
}
