/**
 * Watches Sentinel for a change of the master. After a planned failover the old master goes on answering for about 10
 * s, and everything it stores meanwhile is lost, so every connection to it must be dropped at once.
 *
 * One watcher serves all connections of a process. ioredis' own `failoverDetector` opens a connection to every Sentinel for
 * each of them, does not connect again after a Sentinel was restarted, and keeps the process from ending.
 */

import type { Redis, RedisOptions } from 'ioredis'
import required from '../../../load/required.cjs'
import type { RedisStoreOptions } from './url.ts'

const CHANNEL = '+switch-master'
/** Milliseconds between two attempts to reach a Sentinel. */
const RETRY_MS = 1000
const KEEP_ALIVE_MS = 10_000

export class FailoverWatcher {
  readonly #options: RedisStoreOptions
  readonly #onFailover: () => void
  #clients: Redis[] | undefined

  /** `onFailover` runs for each Sentinel that names another master than before. */
  constructor(options: RedisStoreOptions, onFailover: () => void) {
    this.#options = options
    this.#onFailover = onFailover
  }

  /** Begins to listen to all Sentinels of the URL; does nothing without any, and when it listens already. */
  start(): void {
    this.#clients ??= (this.#options.redis.sentinels ?? []).map((sentinel) => this.#listen(sentinel))
  }

  close(): void {
    for (const client of this.#clients ?? []) client.disconnect()
    this.#clients = []
  }

  #listen({ host, port }: NonNullable<RedisOptions['sentinels']>[number]): Redis {
    const { redis, commandTimeout } = this.#options
    const { sentinelUsername, sentinelPassword, sentinelTLS, name = '', family } = redis
    const ioredis = required.ioredis()
    const client = new ioredis.Redis({
      host,
      port,
      username: sentinelUsername,
      password: sentinelPassword,
      tls: sentinelTLS,
      family,
      connectTimeout: commandTimeout,
      keepAlive: KEEP_ALIVE_MS,
      enableReadyCheck: false,
      enableOfflineQueue: false,
      autoResubscribe: false,
      retryStrategy: () => RETRY_MS,
    })
    /** The master that this Sentinel named last. */
    let known: string | undefined
    const noteMaster = (address: string) => {
      const isOther = known !== undefined && known !== address
      known = address
      if (isOther) this.#onFailover()
    }
    client.on('connect', () => client.stream?.unref())
    client.on('ready', () => {
      // Both go out at once: no failover falls between the question and the subscription.
      client
        .call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', name)
        .then((address) => noteMaster(String(address)))
        .catch(() => {})
      client.subscribe(CHANNEL).catch(() => {})
    })
    client.on('message', (_channel: string, text: string) => {
      const [master, , , newHost, newPort] = text.split(' ')
      if (master === name) noteMaster(`${newHost},${newPort}`)
    })
    // The client connects again; meanwhile the other Sentinels report the master.
    client.on('error', () => {})
    return client
  }
}
