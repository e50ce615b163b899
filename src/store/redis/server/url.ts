import type { RedisOptions } from 'ioredis'
import { invalidOption } from '../../../job/errors.ts'
import type { Sidekiq } from '../../../job/payload.ts'
import { withoutPassword } from '../../contract/without-password.ts'
import type { RedisClientOptions, RedisSettings } from './settings.ts'

export interface ClusterNode {
  host: string
  port: number
  /** Its id in the cluster; those of the URL have none. */
  id?: string
}

/** The nodes of a cluster that may be asked for the others. */
export interface ClusterNodes {
  /** The nodes that the URL names. */
  seeds: readonly ClusterNode[]
  /** The node that answered last, and the nodes that it named. They are asked before `seeds`. */
  known: readonly ClusterNode[]
}

/** All options of a Redis store. They can be posted to a thread. */
export interface RedisStoreOptions {
  /** Options for ioredis, without functions. */
  redis: RedisOptions
  /** The nodes, when the store is in a Redis Cluster. */
  cluster?: ClusterNodes
  /** The prefix of every key, without the colon; in a cluster in braces. */
  namespace: string
  /** Milliseconds after which a command without an answer rejects. */
  commandTimeout: number
  /** A push resolves once this many replicas have confirmed it. */
  waitForReplicas: number
  /** The URL without its password, for display. */
  url: string
  /** The version of Sidekiq whose keys are written. */
  wire?: Sidekiq
}

const OPTIONS = ['namespace', 'protocol', 'waitForReplicas']
/** In a cluster every app has a namespace. */
const CLUSTER_NAMESPACE = 'highkiq'
const TIMEOUT_SECONDS = 5
const MAX_TIMEOUT_SECONDS = 600
/** How long to wait for one Sentinel: a frozen one must not delay the question to the others. */
const SENTINEL_TIMEOUT_MS = 1000

/**
 * Reads `redis://[user:password@]host[:port][/database]`, `rediss://…` (TLS),
 * `redis+sentinel://[user:password@]host:port,host:port/name[/database]` (`rediss+sentinel`: TLS to the servers) or
 * `redis+cluster://[user:password@]host:port,host:port` (`rediss+cluster`: TLS to all nodes).
 * Options: `?namespace=app` (keys begin with `app:`, in a cluster with `{app}:`), `protocol=2|3` (RESP, 3),
 * `waitForReplicas=1` (0).
 * @throws INVALID_OPTION
 */
export function readRedisUrl(url: string, more: RedisSettings = {}): RedisStoreOptions {
  const match = /^(rediss?)(?:\+(sentinel|cluster))?:\/\/(?:([^@/]*)@)?([^@/?]*)(\/[^@?]*)?(?:\?(.*))?$/is.exec(url)
  if (!match) {
    const rule = 'redis://user:password@host:6379/0, and / ? # @ % in a password like %2F %3F %23 %40 %25'
    throw invalidOption(`a Redis URL must look like ${rule} (got ${withoutPassword(url)})`)
  }
  const [, scheme = '', form = '', login = '', hosts = '', path = '', query = ''] = match
  const sentinel = form.toLowerCase() === 'sentinel'
  const isCluster = form.toLowerCase() === 'cluster'
  const errorOf = (problem: string) => invalidOption(`${withoutPassword(url)}: ${problem}`)
  const decoded = (text: string) => {
    try {
      return decodeURIComponent(text)
    } catch {
      throw errorOf('a % must be written as %25')
    }
  }
  const options = new URLSearchParams(query)
  for (const name of options.keys()) {
    if (!OPTIONS.includes(name)) {
      // Text that can't be the name of an option may be a part of a password.
      const unknown = /^\w+$/.test(name) ? JSON.stringify(name) : 'that is not a name'
      throw errorOf(`unknown option ${unknown}; there are ${OPTIONS.join(', ')}`)
    }
  }
  const protocol = Number(options.get('protocol') ?? 3)
  if (protocol !== 2 && protocol !== 3) {
    throw errorOf(`protocol must be 2 or 3 (got ${JSON.stringify(options.get('protocol'))})`)
  }
  const namespace = more.namespace ?? options.get('namespace') ?? ''
  if (options.get('namespace') === '') throw errorOf('namespace must not be empty')
  if (/[{}\s]/.test(namespace)) {
    throw invalidOption(`namespace must be a string without spaces and braces (got ${JSON.stringify(namespace)})`)
  }

  checkOptions(more.redis)
  const redis: RedisOptions = { protocol, ...credentials(login, decoded) }
  const names = path.split('/').slice(1).map(decoded)
  const database = sentinel ? names[1] : names[0]
  if (database) {
    const number = Number(database)
    if (!(Number.isInteger(number) && number >= 0)) {
      throw errorOf(`the database must be a number, 0 or more (got ${JSON.stringify(database)})`)
    }
    redis.db = number
  }
  if (isCluster && (redis.db || more.redis?.db)) throw errorOf('a Redis Cluster has no database other than 0')
  if (names.length > (sentinel ? 2 : 1)) throw errorOf('the URL must end with the database')
  const addresses = hosts.split(',').map((host) => addressOf(host, sentinel ? 26379 : 6379, errorOf))
  if (sentinel) {
    if (!names[0]) throw errorOf('a Sentinel URL must name the master: …/mymaster')
    redis.sentinels = addresses
    redis.name = names[0]
    redis.sentinelCommandTimeout = SENTINEL_TIMEOUT_MS
    if (scheme === 'rediss') redis.enableTLSForSentinelMode = true
  } else if (!isCluster) {
    const [address] = addresses
    if (addresses.length !== 1 || !address) {
      throw errorOf('a URL with several hosts must begin with redis+sentinel:// or redis+cluster://')
    }
    Object.assign(redis, address)
  }
  if (scheme.toLowerCase() === 'rediss') redis.tls = {}
  return {
    redis: { ...redis, ...(more.redis as RedisOptions) },
    ...(isCluster && { cluster: { seeds: addresses, known: [] } }),
    namespace: isCluster ? `{${namespace || CLUSTER_NAMESPACE}}` : namespace,
    commandTimeout: checkTimeout(more.redisTimeout),
    waitForReplicas: checkReplicas(more.waitForReplicas ?? options.get('waitForReplicas') ?? 0),
    url: withoutPassword(url),
    wire: more.wire,
  }
}

/** Returns the timeout in milliseconds. */
function checkTimeout(seconds: unknown = TIMEOUT_SECONDS): number {
  if (typeof seconds === 'number' && seconds > 0 && seconds <= MAX_TIMEOUT_SECONDS) return seconds * 1000
  throw invalidOption(
    `redisTimeout must be a number of seconds above 0, at most ${MAX_TIMEOUT_SECONDS} (got ${JSON.stringify(seconds)})`,
  )
}

function checkReplicas(value: unknown): number {
  const count = typeof value === 'string' ? Number(value || 'NaN') : value
  if (typeof count === 'number' && Number.isInteger(count) && count >= 0) return count
  throw invalidOption(`waitForReplicas must be a number of replicas, 0 or more (got ${JSON.stringify(value)})`)
}

function checkOptions(redis: RedisClientOptions = {}): void {
  if (redis.commandTimeout !== undefined)
    throw invalidOption('redis.commandTimeout must not be set: use redisTimeout, in seconds')
  if (redis.keyPrefix) throw invalidOption('redis.keyPrefix must not be set: use namespace')
  try {
    structuredClone(redis)
  } catch {
    throw invalidOption(
      'redis must be plain data without functions: the thread that renews leases gets these options too',
    )
  }
}

function credentials(login: string, decoded: (text: string) => string): Pick<RedisOptions, 'username' | 'password'> {
  if (login === '') return {}
  const colon = login.indexOf(':')
  // A login without a colon is the password alone, as before Redis had users.
  if (colon === -1) return { password: decoded(login) }
  const [username, password] = [login.slice(0, colon), login.slice(colon + 1)].map(decoded)
  return { ...(username ? { username } : {}), ...(password ? { password } : {}) }
}

function addressOf(text: string, standard: number, errorOf: (problem: string) => Error) {
  const match = /^(\[[^\]]+\]|[^:]*)(?::(\d+))?$/.exec(text)
  if (!match) throw errorOf(`an address must be host:port (got ${JSON.stringify(text)})`)
  const host = (match[1] ?? '').replace(/^\[|\]$/g, '') || 'localhost'
  const port = Number(match[2] ?? standard)
  if (port > 65_535) throw errorOf(`the port must be at most 65535 (got ${port})`)
  return { host, port }
}
