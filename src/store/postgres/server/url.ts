import { invalidOption } from '../../../job/errors.ts'
import { withoutPassword } from '../../contract/without-password.ts'

/** All options of a PostgreSQL store. They can be posted to a thread. */
export interface PostgresOptions {
  /** The URL as `pg` takes it, with its password. */
  connectionString: string
  /** The schema that has Highkiq's tables. */
  schema: string
  /** The most connections of this process, beside the one that listens. */
  connections: number
  /**
   * `session`: a connection is this process's own. `transaction`: PgBouncer lends one for each transaction, so nothing is
   * prepared, and workers ask for jobs at intervals instead of listening.
   */
  pooling: 'session' | 'transaction'
  /** The URL without its password, for display. */
  url: string
}

/** Options that are `pg`'s own. */
const PG_OPTIONS = ['application_name', 'host', 'sslmode', 'sslcert', 'sslkey', 'sslrootcert']
const OPTIONS = ['schema', 'connections', 'pooling', ...PG_OPTIONS]
const MAX_CONNECTIONS = 100
/** PostgreSQL cuts names of more than 63 bytes, and the channel of notifications has the schema's and eight more. */
const MAX_NAME_BYTES = 55

/**
 * Reads `postgres://[user[:password]@]host[:port]/database`. Options: `?schema=name` (highkiq), `connections=N` (5),
 * `pooling=session|transaction` (session), and those of PG_OPTIONS.
 * @throws INVALID_OPTION
 */
export function readPostgresUrl(url: string): PostgresOptions {
  const parsed = parse(url)
  if (!parsed) {
    const rule = 'postgres://user:password@host:5432/database, and / ? # @ % in a password like %2F %3F %23 %40 %25'
    throw invalidOption(`a PostgreSQL URL must look like ${rule} (got ${hiddenIn(url)})`)
  }
  const shown = hidden(url)
  const { searchParams } = parsed
  for (const name of searchParams.keys()) {
    if (OPTIONS.includes(name)) continue
    // Text that can't be the name of an option may be a part of a password.
    const unknown = /^\w+$/.test(name) ? JSON.stringify(name) : 'that is not a name'
    throw invalidOption(`${hiddenIn(url)}: unknown option ${unknown}; there are ${OPTIONS.join(', ')}`)
  }
  const schema = searchParams.get('schema') ?? 'highkiq'
  if (
    schema === '' ||
    Buffer.byteLength(schema) > MAX_NAME_BYTES ||
    !/^[\p{L}\p{N}_-]+$/u.test(schema) ||
    schema.startsWith('pg_')
  ) {
    const rule = `a name of letters, digits, - and _ of at most ${MAX_NAME_BYTES} bytes that does not begin with pg_`
    throw invalidOption(`${shown}: schema must be ${rule} (got ${JSON.stringify(schema)})`)
  }
  const connections = Number(searchParams.get('connections') ?? 5)
  if (!(Number.isInteger(connections) && connections >= 2 && connections <= MAX_CONNECTIONS)) {
    const got = JSON.stringify(searchParams.get('connections'))
    throw invalidOption(`${shown}: connections must be a whole number from 2 to ${MAX_CONNECTIONS} (got ${got})`)
  }
  const pooling = searchParams.get('pooling') ?? 'session'
  if (pooling !== 'session' && pooling !== 'transaction') {
    throw invalidOption(`${shown}: pooling must be session or transaction (got ${JSON.stringify(pooling)})`)
  }
  for (const name of ['schema', 'connections', 'pooling']) searchParams.delete(name)
  return { connectionString: parsed.href, schema, connections, pooling, url: shown }
}

/** Returns undefined for a malformed URL, and for one whose login the parser reads as host, path or query. */
function parse(url: string): URL | undefined {
  // With fewer slashes, or more, the login is a part of the path.
  if (!/^[a-z]+:\/\/(?!\/\/)/i.test(url)) return undefined
  try {
    const parsed = new URL(url)
    // `pg` decodes them later.
    decodeURIComponent(parsed.username + parsed.password + parsed.hostname + parsed.pathname)
    const isMistaken = parsed.pathname.includes('@') || parsed.hash !== ''
    return isMistaken ? undefined : parsed
  } catch {
    return undefined
  }
}

/** Returns a valid URL without its password. Values of unknown options may be passwords, too. */
function hidden(url: string): string {
  return withoutValues(url.replace(/^([a-z]+:\/\/[^:/?#]*):[^/?#]*@/i, '$1:***@'))
}

/** The same for a malformed URL, in which a part of the login may be anywhere. */
function hiddenIn(url: string): string {
  return withoutValues(withoutPassword(url))
}

function withoutValues(url: string): string {
  return url.replace(/([?&])([^=&#]*)=[^&#]*/g, (option, before, name) =>
    OPTIONS.includes(name) ? option : `${before}${name}=***`,
  )
}
