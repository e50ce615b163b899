/**
 * Reads the environment variables of the process. Variables of single options of `highkiq work` are with their options
 * (`cli/config/settings.ts`). docs/configuration.md shows both tables, and a test compares it with them.
 */

import { basename, dirname, resolve } from 'node:path'
import { invalidOption } from './job/errors.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** A description of each variable, by its name. An empty variable counts as not set. */
export const VARIABLES = {
  HIGHKIQ_URL: 'store URL, or the URLs of shards, separated by spaces; overrides the next two',
  REDIS_PROVIDER: 'the *name* of the variable that holds the store URL, such as `REDISTOGO_URL`',
  REDIS_URL: 'store URL, as in Sidekiq',
  HIGHKIQ_SQLITE_DRIVER: 'SQLite driver: `node` or `libsql`',
  HIGHKIQ_WEB_TOKEN:
    'token for the dashboard and the HTTP API: browsers ask for it, clients send it as a bearer token; `highkiq web --token` overrides it',
  HIGHKIQ_NODES: 'number of processes that share the ordered queues’ shards by hand',
  HIGHKIQ_NODE: 'number of this process among them, from 0',
  HIGHKIQ_LOG_LEVEL: 'log level: `trace`, `debug`, `info`, `warn`, `error`, `fatal` or `silent`',
  HIGHKIQ_LOG_FORMAT: 'log format: `pretty`, `plain`, `json` or `sidekiq`',
  HIGHKIQ_LOG_FILE: 'file to log to instead of standard error; SIGUSR2 reopens it',
  DEBUG_INVOCATION: '`1` logs at debug level; systemd sets it after a failure',
  APP_ENV:
    'environment: section of the file that overrides the rest. The first of APP_ENV, RAILS_ENV, RACK_ENV and NODE_ENV counts',
  RAILS_ENV: 'the same',
  RACK_ENV: 'the same',
  NODE_ENV: 'the same; set from the environment when it is absent',
  RAILS_MAX_THREADS: 'default concurrency',
  DYNO: 'on Heroku: host name of the process; log lines have no time',
  NOTIFY_SOCKET: 'systemd (`Type=notify`): the worker reports when it is ready and when it stops',
  WATCHDOG_USEC: 'systemd (`WatchdogSec=`): the worker reports at half this interval that its event loop runs',
  WATCHDOG_PID: 'process that WATCHDOG_USEC is for',
} as const

export type Variable = keyof typeof VARIABLES

/** Returns the value of a variable. An empty one counts as not set, because compose files create empty variables. */
export function variable(name: Variable, env: Environment = process.env): string | undefined {
  return env[name] || undefined
}

/**
 * Returns the store URL: HIGHKIQ_URL, otherwise the variable that REDIS_PROVIDER names, otherwise REDIS_URL.
 * @throws INVALID_OPTION
 */
export function storeUrl(): string | undefined {
  const url = variable('HIGHKIQ_URL')
  if (url) return url
  const provider = variable('REDIS_PROVIDER')
  if (!provider) return variable('REDIS_URL')
  if (provider.includes(':')) {
    throw invalidOption(
      'REDIS_PROVIDER holds the name of the variable that has the URL (REDIS_PROVIDER=REDISTOGO_URL), and not the URL: put that into REDIS_URL',
    )
  }
  const named = process.env[provider]
  if (named) return named
  throw invalidOption(`REDIS_PROVIDER must name an environment variable that is set (got ${provider})`)
}

const ENVIRONMENTS = ['APP_ENV', 'RAILS_ENV', 'RACK_ENV', 'NODE_ENV'] as const

/** Returns the name of the environment, such as `production`; undefined when not set. */
export function environmentName(env: Environment = process.env): string | undefined {
  for (const name of ENVIRONMENTS) if (env[name]) return env[name]
  return undefined
}

export const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const

/**
 * Returns the level of the default logger: HIGHKIQ_LOG_LEVEL, otherwise debug with DEBUG_INVOCATION=1, otherwise info.
 */
export function logLevel(): string {
  return variable('HIGHKIQ_LOG_LEVEL') ?? (variable('DEBUG_INVOCATION') === '1' ? 'debug' : 'info')
}

/** Returns the name of the app's folder; for `shop/releases/20261121103000` it is `shop`. */
export function appFolder(folder = process.cwd()): string {
  const path = resolve(folder)
  const parent = dirname(path)
  return basename(basename(parent) === 'releases' && /^\d+$/.test(basename(path)) ? dirname(parent) : path)
}
