import { fileURLToPath } from 'node:url'
import { HighkiqError, invalidOption } from '../job/errors.ts'
import { checkOptions, type OptionKind } from '../job/options.ts'
import { withoutPassword } from './contract/without-password.ts'
import type { Store } from './contract.ts'
import { readPostgresUrl } from './postgres/server/url.ts'
import { PostgresStore } from './postgres/store.ts'
import type { RedisSettings } from './redis/server/settings.ts'
import { readRedisUrl } from './redis/server/url.ts'
import { RedisStore } from './redis/store.ts'
import { ShardedStore } from './sharded/store.ts'
import { SqliteStore } from './sqlite/store.ts'

export type { RedisClientOptions, RedisSettings } from './redis/server/settings.ts'

/** Settings of a store beside its URL. */
export interface StoreSettings extends RedisSettings {
  /** Logs a warning for the operator, for instance that another program blocks the store. */
  warn?: (message: string) => void
}

/** Returns a store for a URL, without opening it. */
export type OpenStore = (url: string, settings: StoreSettings) => Store

const openRedis: OpenStore = (url, settings) => new RedisStore(readRedisUrl(url, settings), settings.warn)
const openPostgres: OpenStore = (url, { namespace, warn }) => {
  if (namespace)
    throw invalidOption('namespace is for Redis: with PostgreSQL use a schema of its own for each app (?schema=name)')
  return new PostgresStore(readPostgresUrl(url), warn)
}
const OWN: Readonly<Record<string, OpenStore>> = {
  postgres: openPostgres,
  postgresql: openPostgres,
  redis: openRedis,
  rediss: openRedis,
  'redis+sentinel': openRedis,
  'rediss+sentinel': openRedis,
  'redis+cluster': openRedis,
  'rediss+cluster': openRedis,
  sqlite: openSqlite,
}
const registered = new Map(Object.entries(OWN))

/**
 * Makes URLs that begin with `scheme:` open this store. Call it in the file that creates the app, before the app uses
 * its store. A second call for the same scheme replaces the first.
 *
 * @throws INVALID_OPTION when `scheme` is not a URL scheme, or is one of Highkiq's own
 * @example registerStore('mysql', (url, { namespace }) => new MysqlStore(url, namespace))
 */
export function registerStore(scheme: string, open: OpenStore): void {
  const name = JSON.stringify(scheme)
  if (!/^[a-z][a-z0-9+.-]+$/.test(scheme))
    throw invalidOption(`scheme must be a URL scheme in small letters (got ${name})`)
  if (Object.hasOwn(OWN, scheme))
    throw invalidOption(`scheme must not be one of ${Object.keys(OWN).join(', ')} (got ${name})`)
  registered.set(scheme, open)
}

/**
 * Returns a store for a URL, without opening it.
 *
 * - `postgres://user:password@host:port/database`: see readPostgresUrl
 * - `redis://host:port/database`, `rediss://…`, `redis+sentinel://…`, `redis+cluster://…`: see readRedisUrl
 * - `sqlite:PATH`, `sqlite::memory:` – options: `?synchronous=full|normal` (full), `driver=node|libsql`, `maxMegabytes=N`
 * - the schemes of `registerStore`
 * - several URLs, as an array or separated by spaces: the shards of one store
 *
 * @throws UNKNOWN_STORE, INVALID_OPTION
 */
export function openStore(url: string | readonly string[], settings: StoreSettings = {}): Store {
  if (typeof url !== 'string') return openShards(url, settings)
  const urls = shardUrls(url)
  return urls.length > 1 ? openShards(urls, settings) : openOne(url, settings)
}

function openOne(url: string, settings: StoreSettings): Store {
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(url)?.[1]?.toLowerCase()
  const open = scheme === undefined ? undefined : registered.get(scheme)
  if (open) return open(url, settings)
  const known = [...registered.keys()].join(', ')
  const message = `${JSON.stringify(withoutPassword(url))} is not a store URL: use redis://host:6379, postgres://host/database, sqlite:PATH (for instance sqlite:highkiq.db) or sqlite::memory: (known schemes: ${known})`
  throw new HighkiqError('UNKNOWN_STORE', message)
}

/** Returns the URLs in a text. A space is between two URLs when a known scheme follows it: file names have spaces too. */
function shardUrls(text: string): string[] {
  const schemes = [...registered.keys()].map((scheme) => scheme.replace(/[.+]/g, '\\$&'))
  return text.trim().split(new RegExp(`\\s+(?=(?:${schemes.join('|')}):)`, 'i'))
}

function openShards(urls: readonly string[], settings: StoreSettings): Store {
  const stores = urls.map((url) => openOne(url, settings))
  const twice = stores.find(({ url }, i) => stores.findIndex((other) => other.url === url) !== i)
  if (!twice) return new ShardedStore(stores, settings.warn)
  throw invalidOption(`each shard must be another store, and ${twice.url} is named twice: remove one of them`)
}

/** The options in the URL of a SQLite store. */
const SQLITE_OPTIONS: Readonly<Record<string, OptionKind>> = {
  synchronous: ['full', 'normal'],
  driver: ['node', 'libsql'],
  maxMegabytes: [(value) => Number(value) >= 0, 'a number of megabytes'],
}

/** Returns the path of the file that a SQLite URL names. @throws INVALID_OPTION */
function pathOf(location: string): string {
  if (!location.startsWith('//')) return location
  try {
    return fileURLToPath(`file:${location}`)
  } catch {
    const got = JSON.stringify(`sqlite:${location}`)
    throw invalidOption(
      `a SQLite URL must look like sqlite:jobs.db, sqlite:/data/jobs.db or sqlite:///data/jobs.db (got ${got})`,
    )
  }
}

function openSqlite(url: string, { namespace, warn }: StoreSettings): Store {
  if (namespace) throw invalidOption('namespace is for Redis: with SQLite use a file of its own for each app')
  const [location = '', query = ''] = url.slice('sqlite:'.length).split(/\?(.*)/s)
  const path = pathOf(location)
  if (!path) throw invalidOption('sqlite: needs a path, for instance sqlite:highkiq.db or sqlite::memory:')
  const options = Object.fromEntries(new URLSearchParams(query))
  const { maxMegabytes = 0, driver = process.env.HIGHKIQ_SQLITE_DRIVER || undefined } = options
  const synchronous = (options.synchronous ?? 'full').toLowerCase()
  checkOptions(url, { ...options, synchronous, driver }, SQLITE_OPTIONS)
  return new SqliteStore(
    {
      path,
      synchronous: synchronous === 'full' ? 'FULL' : 'NORMAL',
      ...(driver ? { driver: driver as 'node' | 'libsql' } : {}),
      ...(Number(maxMegabytes) ? { maxMegabytes: Number(maxMegabytes) } : {}),
    },
    warn,
  )
}
