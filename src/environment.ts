/**
 * What the process's environment says, each variable once. Those of single options of `highkiq work` stand with their
 * options (`cli/config/settings.ts`); docs/configuration.md shows both tables, and a test holds it to them.
 */

import { basename, dirname, resolve } from 'node:path'
import { HighkiqError } from './job/errors.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** Variable → what it does, for people. An empty variable counts as none. */
export const VARIABLES = {
  HIGHKIQ_URL: 'the store; comes before the next two',
  REDIS_PROVIDER: 'the *name* of the variable that holds the URL, for instance `REDISTOGO_URL`',
  REDIS_URL: 'the store, as Sidekiq names it',
  HIGHKIQ_SQLITE_DRIVER: '`node` or `libsql`: which SQLite driver is taken',
  HIGHKIQ_WEB_TOKEN:
    'what lets somebody into the dashboard and the HTTP API: a browser asks for it, clients send it as a bearer token',
  HIGHKIQ_NODES: 'shards of ordered queues are dealt to so many processes by hand',
  HIGHKIQ_NODE: 'which of them this one is, from 0',
  HIGHKIQ_LOG_LEVEL: '`trace`, `debug`, `info`, `warn`, `error`, `fatal` or `silent`',
  HIGHKIQ_LOG_FORMAT: '`pretty`, `plain`, `json` or `sidekiq`',
  HIGHKIQ_LOG_FILE: 'a file to log to instead of standard error; reopened at SIGUSR2',
  DEBUG_INVOCATION: '`1` (systemd, after a failure): logs everything',
  APP_ENV:
    "the environment: a file's section of this name is merged over the rest. The first of APP_ENV, RAILS_ENV, RACK_ENV and NODE_ENV counts",
  RAILS_ENV: 'the same',
  RACK_ENV: 'the same',
  NODE_ENV: 'the same; set from the environment when it is absent',
  RAILS_MAX_THREADS: 'the concurrency when nothing else says it',
  DYNO: 'on Heroku: the host name that processes show, and no time in the log',
  NOTIFY_SOCKET: 'systemd (`Type=notify`) is told when the worker takes jobs and when it stops',
  WATCHDOG_USEC: 'systemd (`WatchdogSec=`) is told at half this time that the event loop turns',
  WATCHDOG_PID: 'the process whom WATCHDOG_USEC is meant for',
} as const

export type Variable = keyof typeof VARIABLES

/** An empty one is as good as none: compose files make those. */
export function variable(name: Variable, env: Environment = process.env): string | undefined {
  return env[name] || undefined
}

/** HIGHKIQ_URL, else what REDIS_PROVIDER names, else REDIS_URL. @throws INVALID_OPTION */
export function storeUrl(env: Environment = process.env): string | undefined {
  const url = variable('HIGHKIQ_URL', env)
  if (url) return url
  const provider = variable('REDIS_PROVIDER', env)
  if (!provider) return variable('REDIS_URL', env)
  if (provider.includes(':')) {
    throw new HighkiqError(
      'INVALID_OPTION',
      'REDIS_PROVIDER holds the name of the variable that has the URL (REDIS_PROVIDER=REDISTOGO_URL), and not the URL: put that into REDIS_URL',
    )
  }
  const named = env[provider]
  if (named) return named
  throw new HighkiqError('INVALID_OPTION', `REDIS_PROVIDER names ${provider}, and there is no such variable`)
}

const ENVIRONMENTS = ['APP_ENV', 'RAILS_ENV', 'RACK_ENV', 'NODE_ENV'] as const

/** What the deployment calls itself; undefined when nobody says. */
export function environmentName(env: Environment = process.env): string | undefined {
  for (const name of ENVIRONMENTS) if (env[name]) return env[name]
  return undefined
}

export const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const

/** Of the default logger; info unless somebody wants it otherwise. */
export function logLevel(env: Environment = process.env): string {
  return variable('HIGHKIQ_LOG_LEVEL', env) ?? (variable('DEBUG_INVOCATION', env) === '1' ? 'debug' : 'info')
}

/** The name of the app's folder; of `shop/releases/20261121103000` it is `shop`. */
export function appFolder(folder = process.cwd()): string {
  const path = resolve(folder)
  const parent = dirname(path)
  return basename(basename(parent) === 'releases' && /^\d+$/.test(basename(path)) ? dirname(parent) : path)
}
