/** The options of an app for Redis. This file does not import types of ioredis, which is not installed with the package. */

import type { ConnectionOptions } from 'node:tls'
import type { Sidekiq } from '../../../job/payload.ts'

/** The options of an app beside the URL. */
export interface RedisSettings {
  namespace?: string
  /** Seconds after which a command without an answer rejects; default 5. */
  redisTimeout?: number
  waitForReplicas?: number
  wire?: Sidekiq
  /** Options for ioredis: plain data, because a thread gets them too. */
  redis?: RedisClientOptions
}

/** Options for ioredis; those that are not listed here are passed on, too. */
export interface RedisClientOptions {
  host?: string
  port?: number
  /** The path of a Unix socket, instead of host and port. */
  path?: string
  family?: 0 | 4 | 6
  username?: string
  password?: string
  db?: number
  tls?: ConnectionOptions
  sentinelUsername?: string
  sentinelPassword?: string
  sentinelTLS?: ConnectionOptions
  /** Milliseconds without traffic until TCP checks the connection. */
  keepAlive?: number
  connectionName?: string
  [option: string]: unknown
}
