/** Where `highkiq bench` works: in a namespace, schema or folder of its own, beside the data of the user. */

import { createHash, randomBytes } from 'node:crypto'
import { mkdirSync, readdirSync, rmSync } from 'node:fs'
import { hostname } from 'node:os'
import { dirname, join } from 'node:path'
import { Highkiq } from '../index.ts'
import { messageOf } from '../job/errors.ts'
import { megabytes } from '../job/plural.ts'
import { onConnection } from '../store/postgres/server/pg.ts'
import { readPostgresUrl } from '../store/postgres/server/url.ts'
import { Connection } from '../store/redis/server/connection.ts'
import { escapePattern } from '../store/redis/server/keys.ts'
import { readRedisUrl } from '../store/redis/server/url.ts'
import { CliError } from './usage.ts'

/** The memory of a job in Redis without its arguments. */
const BYTES_PER_JOB = 2000
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** Short, because the name of a schema may have 55 bytes. */
const HOST = createHash('sha256').update(hostname()).digest('hex').slice(0, 8)

export interface BenchStore {
  hq: Highkiq
  /** The user's store, without the password. */
  url: string
  server: string | null
  /** Returns the microseconds of CPU that the server has used; null when it does not say. */
  serverCpu(): Promise<number | null>
  /** Removes all that this run and killed runs have stored. Returns the names of the killed runs. */
  clean(): Promise<string[]>
}

/** @throws UNKNOWN_STORE, INVALID_OPTION; CliError when the store lacks room */
export function openBenchStore(url: string, jobs: number, bytes = 0): Promise<BenchStore> | BenchStore {
  const name = `highkiq-bench-${HOST}-${process.pid}-${Date.now()}-${randomBytes(3).toString('hex')}`
  if (new Highkiq({ url }).store.shardUrls) throw new CliError('bench measures one store: name one of the shards', 2)
  if (/^redis/i.test(url)) return openRedis(url, name, 2 * jobs * (BYTES_PER_JOB + bytes))
  return /^postgres/i.test(url) ? openPostgres(url, name) : openSqlite(url, name)
}

/**
 * Whether a name belongs to this run or to a killed one. A run on another machine counts as killed after a day. Containers
 * may share a host name but not their pids, so a run on this machine also counts as killed only after an hour.
 */
function isOurs(other: string, name: string): boolean {
  const [, host, pid, startedAt] = /^highkiq-bench-(\w*)-(\d+)-(\d+)-\w+$/.exec(other) ?? []
  if (startedAt === undefined || other === name) return other === name
  const isGone = Number(pid) === process.pid || !isAlive(Number(pid))
  const age = Date.now() - Number(startedAt)
  return age > DAY_MS || (host === HOST && isGone && age > HOUR_MS)
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code === 'EPERM'
  }
}

async function openRedis(url: string, name: string, wanted: number): Promise<BenchStore> {
  const options = readRedisUrl(url)
  // Keys in a namespace of their own may be on another node.
  if (options.cluster)
    throw new CliError('bench does not work on a Redis Cluster: try it on a single server of the same size', 2)
  const prefix = options.namespace === '' ? '' : `${options.namespace}:`
  const connection = new Connection(options)
  try {
    await connection.ready()
  } catch (thrown) {
    connection.close()
    throw thrown
  }
  // A Redis user may lack the right to INFO.
  const info = await connection.call((client) => client.info()).catch(() => '')
  const figure = (key: string, text = info) => new RegExp(`^${key}:([^\r\n]+)`, 'm').exec(text)?.[1]
  const most = Number(figure('maxmemory'))
  const free = most - Number(figure('used_memory'))
  // A full server refuses the jobs of others, or evicts their keys.
  if (most > 0 && free < wanted) {
    connection.close()
    const left = `has ${megabytes(free)} left (maxmemory), and bench wants ${megabytes(wanted)}`
    throw new CliError(`${options.url} ${left}: use fewer --jobs`)
  }
  return {
    hq: new Highkiq({ url, namespace: prefix + name }),
    url: options.url,
    server: `Redis ${figure('redis_version') ?? ''}`.trim(),
    async serverCpu() {
      const text = await connection.call((client) => client.info('cpu')).catch(() => '')
      return (text && (Number(figure('used_cpu_user', text)) + Number(figure('used_cpu_sys', text))) * 1e6) || null
    },
    async clean() {
      const killed = new Set<string>()
      const match = `${escapePattern(prefix)}highkiq-bench-*`
      const nameIn = (key: string) => key.slice(prefix.length).split(':', 1)[0] as string
      let cursor = '0'
      try {
        do {
          const [next, found] = await connection.call((client) => client.scan(cursor, 'MATCH', match, 'COUNT', 1000))
          const keys = found.filter((key) => isOurs(nameIn(key), name))
          if (keys.length > 0) await connection.call((client) => client.unlink(...keys))
          for (const key of keys) killed.add(nameIn(key))
          cursor = next
        } while (cursor !== '0')
      } finally {
        connection.close()
      }
      killed.delete(name)
      return [...killed]
    },
  }
}

async function openPostgres(url: string, name: string): Promise<BenchStore> {
  const options = readPostgresUrl(url)
  const schema = name.replaceAll('-', '_')
  const own = new URL(url)
  own.searchParams.set('schema', schema)
  const [{ version }] = await onConnection(options, async (client) => {
    const { rows } = await client.query("SELECT current_setting('server_version') AS version")
    return rows as [{ version: string }]
  })
  return {
    hq: new Highkiq({ url: own.href }),
    url: options.url,
    server: `PostgreSQL ${version}`,
    serverCpu: async () => null,
    clean: () =>
      onConnection(options, async (client) => {
        const { rows } = await client.query<{ name: string }>(
          "SELECT nspname AS name FROM pg_namespace WHERE nspname LIKE 'highkiq\\_bench\\_%' AND pg_get_userbyid(nspowner) = current_user",
        )
        const schemas = rows.map(({ name }) => name).filter((one) => isOurs(one.replaceAll('_', '-'), name))
        for (const one of schemas) await client.query(`DROP SCHEMA IF EXISTS "${one}" CASCADE`)
        return schemas.filter((one) => one !== schema)
      }),
  }
}

function openSqlite(url: string, name: string): BenchStore {
  const path = new Highkiq({ url }).store.url.slice('sqlite:'.length)
  const own = { url: `sqlite:${path}`, server: null, serverCpu: async () => null }
  if (path === ':memory:') return { ...own, hq: new Highkiq({ url }), clean: async () => [] }
  // A folder of its own, because workers on the user's file watch the folder of that file.
  const [folder, query] = [dirname(path), /\?.*$/s.exec(url)?.[0] ?? '']
  try {
    mkdirSync(join(folder, name))
  } catch (thrown) {
    const doing = `create ${folder}, or allow this user to write into it`
    throw new CliError(`bench can't create a folder beside ${path} (${messageOf(thrown)}): ${doing}`)
  }
  return {
    ...own,
    hq: new Highkiq({ url: `sqlite:${join(folder, name, 'bench.db')}${query}` }),
    async clean() {
      const names = readdirSync(folder).filter((other) => isOurs(other, name))
      for (const one of names) rmSync(join(folder, one), { recursive: true, force: true })
      return names.filter((one) => one !== name)
    },
  }
}
