/** Databases that have Highkiq's schema and no jobs, for one test after the other. */

import pg from 'pg'
import { openStore } from '#dist/store/open.js'
import { type PostgresServer, sharedPostgres } from './server.ts'

const TEMPLATE = 'empty'
/** A larger table is truncated: a new file for it takes less time than to delete its rows. */
const LARGE_BYTES = 128 * 1024

/** The contents of a new database, with which a used one is compared. */
interface Template {
  /** The rows of its tables, as JSON by table. */
  rows: Record<string, string>
  definitions: string
}

let template: Promise<Template> | undefined
let databases = 0
const free: string[] = []

/**
 * Returns the name of a database with an empty store in the schema `highkiq`. Another test may have used it, and left no
 * trace. `returnDatabase` makes it free.
 */
export async function emptyDatabase(): Promise<string> {
  const server = await sharedPostgres()
  template ??= makeTemplate(server)
  await template
  const known = free.pop()
  if (known) return known
  const name = `test${process.pid}_${++databases}`
  await server.query(`CREATE DATABASE ${name} TEMPLATE ${TEMPLATE}`)
  return name
}

/**
 * Ends all connections to a database, and makes it like a new one. If something was created or changed in it, it is dropped:
 * a reset takes a tenth of the time that a new database needs.
 */
export async function returnDatabase(name: string): Promise<void> {
  const server = await sharedPostgres()
  const likeNew = await (template as Promise<Template>)
  const client = await server.connect(name)
  try {
    await endOthers(client)
    if ((await definitionsOf(client)) === likeNew.definitions) {
      await reset(client, likeNew.rows)
      free.push(name)
      return
    }
  } finally {
    await client.end()
  }
  await server.query(`DROP DATABASE ${name} WITH (FORCE)`)
}

/** Returns the number of rows of each table of the store in a database. */
export async function rowsOf(name: string): Promise<Record<string, number>> {
  const client = await (await sharedPostgres()).connect(name)
  try {
    const tables = (await tablesOf(client)).filter(({ bytes }) => bytes > 0)
    const counts = tables.map(({ name }) => `SELECT '${name}' AS name, count(*)::int AS rows FROM highkiq.${name}`)
    const { rows } = await client.query(counts.join(' UNION ALL '))
    return Object.fromEntries(rows.map((row) => [row.name, row.rows]))
  } finally {
    await client.end()
  }
}

async function makeTemplate(server: PostgresServer): Promise<Template> {
  await server.query(`CREATE DATABASE ${TEMPLATE}`)
  const store = openStore(server.url('', TEMPLATE))
  await store.open()
  await store.close()
  const client = await server.connect(TEMPLATE)
  try {
    const rows: Template['rows'] = {}
    for (const { name } of await tablesOf(client)) {
      const { rows: found } = await client.query(`SELECT json_agg(one)::text AS rows FROM highkiq.${name} AS one`)
      if (found[0].rows !== null) rows[name] = found[0].rows
    }
    return { rows, definitions: await definitionsOf(client) }
  } finally {
    await client.end()
  }
}

/** Ends the other connections of its database, such as those of a process that was killed. */
async function endOthers(client: pg.Client): Promise<void> {
  const others = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'`
  while (((await client.query(others)).rowCount ?? 0) > 0) await client.query('SELECT pg_sleep(0.002)')
}

/**
 * Returns another text once a schema, relation, column, function, trigger, constraint or setting of its database was created,
 * changed or dropped. (To truncate a table changes its row of pg_class.)
 */
async function definitionsOf(client: pg.Client): Promise<string> {
  const catalogs = [
    'namespace',
    'attribute',
    'attrdef',
    'index',
    'proc',
    'type',
    'trigger',
    'constraint',
    'rewrite',
    'sequence',
  ]
  const counts = catalogs.map((name) => `SELECT count(*) AS rows, max(xmin::text::bigint) AS newest FROM pg_${name}`)
  const { rows } = await client.query(`${counts.join(' UNION ALL ')}
    UNION ALL SELECT count(*), max(oid::bigint) FROM pg_class
    UNION ALL SELECT count(*), 0 FROM pg_db_role_setting JOIN pg_database ON oid = setdatabase WHERE datname = current_database()`)
  return JSON.stringify(rows)
}

async function tablesOf(client: pg.Client): Promise<{ name: string; bytes: number }[]> {
  const { rows } = await client.query(`SELECT quote_ident(relname) AS name, pg_relation_size(oid)::int AS bytes
    FROM pg_class WHERE relnamespace = 'highkiq'::regnamespace AND relkind = 'r'`)
  return rows
}

/** Leaves in its tables only the rows of a new database, and in its sequences their first values. */
async function reset(client: pg.Client, likeNew: Template['rows']): Promise<void> {
  const tables = await tablesOf(client)
  const large = tables.filter(({ bytes }) => bytes > LARGE_BYTES)
  const statements = [
    // No trigger of a foreign key: each table is emptied by itself.
    'SET session_replication_role = replica',
    ...(large.length > 0 ? [`TRUNCATE ${large.map(({ name }) => `highkiq.${name}`).join(', ')} CASCADE`] : []),
    ...tables.filter(({ bytes }) => bytes > 0).map(({ name }) => `DELETE FROM highkiq.${name}`),
    ...Object.entries(likeNew).map(([name, rows]) => {
      const records = `json_populate_recordset(NULL::highkiq.${name}, ${pg.escapeLiteral(rows)})`
      return `INSERT INTO highkiq.${name} SELECT * FROM ${records}`
    }),
    `SELECT setval(format('%I.%I', schemaname, sequencename)::regclass, start_value, false)
      FROM pg_sequences WHERE last_value IS NOT NULL`,
  ]
  await client.query(statements.join('; '))
}
