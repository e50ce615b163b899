import { fileURLToPath } from 'node:url'
import { HighkiqError } from '../job/errors.ts'
import type { Store } from './contract.ts'
import { type RedisSettings, readRedisUrl, withoutPassword } from './redis/server/url.ts'
import { RedisStore } from './redis/store.ts'
import { SqliteStore } from './sqlite/store.ts'

export type { RedisSettings } from './redis/server/url.ts'

/**
 * Returns a store for a URL, without opening it.
 *
 * - `redis://host:port/database`, `rediss://…`, `redis+sentinel://…`: see readRedisUrl
 * - `sqlite:PATH`, `sqlite::memory:` – options: `?synchronous=full|normal` (full), `driver=node|libsql`, `maxMegabytes=N`
 *
 * `warn` gets one line for the operator when another program keeps the store from answering.
 *
 * @throws UNKNOWN_STORE, INVALID_OPTION
 */
export function openStore(url: string, options: RedisSettings = {}, warn?: (message: string) => void): Store {
  const scheme = /^([a-z][a-z+]*):/i.exec(url)?.[1]?.toLowerCase()
  if (scheme === 'sqlite') {
    if (options.namespace) throw invalid('namespace is for Redis: with SQLite use a file of its own for each app')
    return openSqlite(url, warn)
  }
  if (scheme && /^rediss?(\+sentinel)?$/.test(scheme)) return new RedisStore(readRedisUrl(url, options))
  throw new HighkiqError(
    'UNKNOWN_STORE',
    `${JSON.stringify(withoutPassword(url))} is not a store URL: use redis://host:6379, sqlite:PATH (for instance sqlite:highkiq.db) or sqlite::memory:`,
  )
}

function openSqlite(url: string, warn: ((message: string) => void) | undefined): Store {
  const [location = '', query = ''] = url.slice('sqlite:'.length).split(/\?(.*)/s)
  const path = location.startsWith('//') ? fileURLToPath(`file:${location}`) : location
  if (!path) throw invalid('sqlite: needs a path, for instance sqlite:highkiq.db or sqlite::memory:')
  const options = new URLSearchParams(query)
  for (const name of options.keys()) {
    if (!['synchronous', 'driver', 'maxMegabytes'].includes(name)) {
      throw invalid(`${url}: unknown option ${JSON.stringify(name)}; there are synchronous, driver, maxMegabytes`)
    }
  }
  const synchronous = (options.get('synchronous') ?? 'full').toUpperCase()
  if (synchronous !== 'FULL' && synchronous !== 'NORMAL')
    throw invalid(`${url}: synchronous must be full or normal (got ${JSON.stringify(options.get('synchronous'))})`)
  const driver = options.get('driver') ?? process.env.HIGHKIQ_SQLITE_DRIVER
  if (driver && driver !== 'node' && driver !== 'libsql')
    throw invalid(`${url}: driver must be node or libsql (got ${JSON.stringify(driver)})`)
  const maxMegabytes = Number(options.get('maxMegabytes') ?? 0)
  if (!(maxMegabytes >= 0))
    throw invalid(
      `${url}: maxMegabytes must be a number of megabytes (got ${JSON.stringify(options.get('maxMegabytes'))})`,
    )
  return new SqliteStore(
    {
      path,
      synchronous,
      ...(driver ? { driver: driver as 'node' | 'libsql' } : {}),
      ...(maxMegabytes ? { maxMegabytes } : {}),
    },
    warn,
  )
}

function invalid(message: string): HighkiqError {
  return new HighkiqError('INVALID_OPTION', message)
}
