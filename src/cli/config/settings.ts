/**
 * The settings of `highkiq work`: the flag, variable and file key of each, and how its value is read. The command line,
 * the environment and the file are read with this table, and docs/configuration.md shows it.
 */

import { delimiter } from 'node:path'
import { InvalidArgumentError } from 'commander'
import { alertPlan } from '../../alerts/options.ts'
import type { AlertOptions, CapsuleOptions, QueueOption } from '../../index.ts'
import { messageOf } from '../../job/errors.ts'
import { isObject } from '../../job/json.ts'
import { FORMATS } from '../../log/line.ts'
import { WEB_PORT } from '../serve-web.ts'
import {
  oneOf,
  portNumber,
  positiveSeconds,
  positiveSecondsOrInfinity,
  wholeNumber,
  wholeNumberOrNone,
  yesOrNo,
} from '../usage.ts'

export interface Setting<T = unknown> {
  /** Description for help texts and docs. */
  about: string
  /** Description of the default; empty when there is none. */
  usual: string
  /** Flags in commander's notation; absent when the setting has no flag. */
  flags?: string
  variable?: string | undefined
  /** Key in a file. */
  key?: string | undefined
  /** Separator of several values in a variable; present only when the setting can be repeated. */
  between?: RegExp
  /** Reads a string or a YAML value. @throws InvalidArgumentError that says what the value must be */
  read: (value: unknown) => T
  /** Reads the value of a file key whose meaning is the opposite of the flag's. */
  readKey?: (value: unknown) => T
}

/** `variable` and `key` default to the name: `logFile` gives `HIGHKIQ_LOG_FILE` and `log_file`. `undefined` means none. */
const TABLE = {
  concurrency: {
    about: 'jobs that run at the same time',
    usual: 'RAILS_MAX_THREADS, else 10',
    flags: '-c, --concurrency <n>',
    read: word(wholeNumber),
  },
  queues: {
    about: "queue to serve, or '*' for all that jobs name; can be repeated",
    usual: 'default; on SQLite also all that jobs name',
    flags: '-q, --queue <name[,weight]>',
    between: /[\s;]+/,
    read: readQueues,
  },
  capsules: {
    about: 'more sets of queues, each with its own slots (as JSON in the variable)',
    read: readCapsules,
  },
  timeout: {
    about: 'seconds that running jobs get after SIGTERM; Infinity waits for all',
    usual: '25',
    flags: '-t, --timeout <seconds>',
    read: word(positiveSecondsOrInfinity),
  },
  leaseSeconds: {
    about: 'seconds until other workers rescue the jobs of a process that lost the store',
    usual: '15',
    flags: '--lease-seconds <n>',
    read: word(positiveSeconds),
  },
  maxBlockSeconds: {
    about: 'seconds until other workers rescue the jobs of a process whose event loop is blocked',
    usual: '900',
    flags: '--max-block-seconds <n>',
    read: word(positiveSecondsOrInfinity),
  },
  pollInterval: {
    about: 'seconds between two checks for due jobs; at most 1',
    usual: '1',
    flags: '--poll-interval <seconds>',
    read: word(positiveSeconds),
  },
  orderedConcurrency: {
    about: 'batches of ordered queues that run at the same time',
    usual: '5',
    flags: '--ordered-concurrency <n>',
    read: word(wholeNumber),
  },
  processes: {
    about: 'number of worker processes; a parent process restarts those that end',
    usual: '1',
    flags: '--processes <n>',
    read: word(wholeNumber),
  },
  web: {
    about: 'also serve the dashboard and the HTTP API on this port',
    usual: 'no; 7433 without a port',
    flags: '--web [port]',
    read: word(webPort),
  },
  webHost: {
    about: 'address for the dashboard; any other than 127.0.0.1 needs HIGHKIQ_WEB_TOKEN',
    usual: '127.0.0.1',
    flags: '--web-host <address>',
    read: word(String),
  },
  maxMemory: {
    about: 'megabytes of memory above which a worker process is replaced',
    flags: '--max-memory <MB>',
    read: word(wholeNumber),
  },
  require: {
    about: 'file that exports the app (.ts, .mts, .js, .mjs), or a folder with a jobs file; can be repeated',
    usual: 'jobs.ts or src/jobs.ts in this folder',
    flags: '-r, --require <path>',
    between: new RegExp(delimiter),
    read: several,
  },
  config: {
    about: 'file with these settings (docs/configuration.md)',
    usual: 'config/highkiq.yml, sidekiq.yml or sidekiq.yml.erb',
    flags: '-C, --config <path>',
    key: undefined,
    read: word(String),
  },
  environment: {
    about: 'section of the file that overrides the rest',
    usual: 'APP_ENV, RAILS_ENV, RACK_ENV or NODE_ENV, else development',
    flags: '-e, --environment <name>',
    read: word(String),
  },
  url: {
    about:
      'store: sqlite:highkiq.db, redis://localhost:6379 …; several, separated by spaces, are shards; overrides the URL in the app',
    usual: "the app's, else HIGHKIQ_URL, else REDIS_URL, else sqlite:highkiq.db",
    flags: '--url <url>',
    variable: undefined,
    key: undefined,
    read: word(String),
  },
  drain: {
    about: 'run all jobs of the store in --url, push new jobs to the app’s own store, then stop',
    usual: 'no',
    flags: '--drain',
    variable: undefined,
    key: undefined,
    read: word(yesOrNo),
  },
  tag: {
    about: 'name shown with the process',
    usual: "this folder's name",
    flags: '-g, --tag <tag>',
    read: word(String),
  },
  labels: {
    about: 'label shown with the process; can be repeated',
    flags: '--label <label>',
    between: /\s*,\s*/,
    read: several,
  },
  verbose: {
    about: 'log at debug level and show stacks of errors',
    usual: 'no',
    flags: '-v, --verbose',
    read: word(yesOrNo),
  },
  logJobs: {
    about: 'log when each job starts and ends',
    usual: 'yes',
    flags: '--no-log-jobs',
    key: 'skip_default_job_logging',
    read: word(yesOrNo),
    readKey: (value: unknown) => !word(yesOrNo)(value),
  },
  logFormat: {
    about: `format of log lines: ${FORMATS.join(', ')}`,
    usual: 'pretty on a terminal, else json',
    flags: '--log-format <format>',
    read: word(oneOf(FORMATS)),
  },
  logFile: {
    about: 'file to log to instead of standard error; SIGUSR2 reopens it',
    flags: '--log-file <path>',
    read: word(String),
  },
  loggedJobAttributes: {
    about: 'members of a job that each of its log lines shows',
    usual: 'bid, tags',
    variable: undefined,
    read: several,
  },
  banner: {
    about: 'print a banner on a terminal',
    usual: 'yes',
    flags: '--no-banner',
    key: undefined,
    read: word(yesOrNo),
  },
  maxRetries: {
    about: 'retries of a job with `retry: true`',
    usual: '25',
    variable: undefined,
    read: word(wholeNumberOrNone),
  },
  maxIterationRuntime: {
    about: 'seconds after which an iterable job is interrupted and requeued',
    variable: undefined,
    read: word(positiveSeconds),
  },
  deadMax: {
    about: 'number of jobs that the dead set keeps',
    usual: '10,000',
    variable: undefined,
    key: 'dead_max_jobs',
    read: word(wholeNumber),
  },
  deadSeconds: {
    about: 'seconds that the dead set keeps a job',
    usual: '15,552,000 (180 days)',
    variable: undefined,
    key: 'dead_timeout_in_seconds',
    read: word(positiveSeconds),
  },
  alerts: {
    about: 'who is sent what needs attention (docs/alerts.md)',
    variable: undefined,
    read: readAlerts,
  },
} satisfies Record<string, Partial<Setting> & Pick<Setting, 'about' | 'read'>>

export type SettingName = keyof typeof TABLE
type Value<Name extends SettingName> = ReturnType<(typeof TABLE)[Name]['read']>
export type Settings = { [Name in SettingName]?: Value<Name> }

export const NAMES = Object.keys(TABLE) as SettingName[]

export const SETTINGS = Object.fromEntries(
  NAMES.map((name) => {
    const key = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
    return [name, { usual: '', variable: `HIGHKIQ_${key.toUpperCase()}`, key, ...TABLE[name] }]
  }),
) as { [Name in SettingName]: Setting<Value<Name>> }

/** Reads a single value (string, number or boolean) as a string. */
function word<T>(read: (text: string) => T): (value: unknown) => T {
  return (value) => {
    if (typeof value === 'object' || value === undefined) throw new InvalidArgumentError('It must be a single value.')
    return read(String(value))
  }
}

/** Reads a port, or `yes` for the default port, or `no`. */
function webPort(text: string): number | undefined {
  // `1` means yes, like for other switches; port 1 is never used.
  if (/^\d+$/.test(text) && text !== '1') return portNumber(text)
  try {
    return yesOrNo(text) ? WEB_PORT : undefined
  } catch {
    throw new InvalidArgumentError('It must be a port up to 65535, yes or no.')
  }
}

function several(value: unknown): string[] {
  return (Array.isArray(value) ? value : [value]).map(word(String))
}

/** Reads queues in Sidekiq's forms: `name`, `name,weight`, `[name]`, `[name, weight]`, or a list of these. */
function readQueues(value: unknown): QueueOption[] {
  // The value was left out, and Commander took the next flag for it.
  if (typeof value === 'string' && value.startsWith('-')) {
    throw new InvalidArgumentError(`-q needs the name of a queue (got ${value}).`)
  }
  const list = Array.isArray(value) ? value : [value]
  if (list.length === 0) throw new InvalidArgumentError('It must name at least one queue.')
  return list.map((queue) => {
    const words = Array.isArray(queue) ? queue : typeof queue === 'object' ? [] : String(queue).split(',')
    // A part that is not a word becomes empty, and the check below refuses it.
    const parts = words.map((part) => (typeof part === 'object' ? '' : String(part).trim()))
    const [name, weight] = parts
    if (!name || parts.length > 2 || (weight !== undefined && !/^\d+$/.test(weight))) {
      const shown = typeof queue === 'string' ? queue : JSON.stringify(queue)
      throw new InvalidArgumentError(`A queue must be name, or name,weight with a whole number (got ${shown}).`)
    }
    return weight === undefined ? name : `${name},${weight}`
  })
}

/** Reads `{ name: { concurrency, queues } }`. Other members belong to the app and are ignored. */
function readCapsules(value: unknown): Record<string, CapsuleOptions> {
  const capsules = typeof value === 'string' ? parsed(value) : value
  if (!isObject(capsules)) throw new InvalidArgumentError('It must be name: { concurrency, queues }.')
  return Object.fromEntries(
    Object.entries(capsules).map(([name, options]) => {
      if (!isObject(options)) throw new InvalidArgumentError(`${name} must be { concurrency, queues }.`)
      const { concurrency, queues } = options
      return [
        name,
        {
          ...(concurrency === undefined ? {} : { concurrency: within(name, SETTINGS.concurrency.read, concurrency) }),
          ...(queues === undefined ? {} : { queues: within(name, readQueues, queues) }),
        },
      ]
    }),
  )
}

/** Reads the option `alerts` of an app, with its names in snake case. */
function readAlerts(value: unknown): AlertOptions {
  try {
    const options = inCamelCase(value) as AlertOptions
    alertPlan(options, 'alerts')
    return options
  } catch (thrown) {
    throw new InvalidArgumentError(messageOf(thrown).replace(/^alerts:? /, ''))
  }
}

/** Renames the members of an object, but not those of its headers. */
function inCamelCase(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inCamelCase)
  if (!isObject(value)) return value
  const camel = (name: string) => name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [camel(name), name === 'headers' ? one : inCamelCase(one)]),
  )
}

function within<T>(name: string, read: (value: unknown) => T, value: unknown): T {
  try {
    return read(value)
  } catch (thrown) {
    throw new InvalidArgumentError(`${name}: ${(thrown as Error).message}`)
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
