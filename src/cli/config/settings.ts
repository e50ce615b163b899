/**
 * All that `highkiq work` can be told, each thing once: its flag, its variable, its key in a file, and how a value is read.
 * The command line, the environment and the file are read by this table, and docs/configuration.md shows it.
 */

import { delimiter } from 'node:path'
import { InvalidArgumentError } from 'commander'
import type { CapsuleOptions, QueueOption } from '../../index.ts'
import { FORMATS } from '../../log/line.ts'
import { WEB_PORT } from '../serve-web.ts'
import {
  portNumber,
  positiveSeconds,
  positiveSecondsOrInfinity,
  wholeNumber,
  wholeNumberOrNone,
  yesOrNo,
} from '../usage.ts'

export interface Setting<T = unknown> {
  /** What it does, for people. */
  about: string
  /** What holds when nobody says; empty: nothing. */
  usual: string
  /** As commander has them; absent: not on the command line. */
  flags?: string
  variable?: string
  /** Key in a file. */
  key?: string
  /** It may be given several times; a variable has them all, with this between them. */
  between?: RegExp
  /** A text, or what YAML has made of one. @throws InvalidArgumentError with what it may be */
  read: (value: unknown) => T
  /** Of a key whose name says the opposite. */
  readKey?: (value: unknown) => T
}

/** Whose names say: what is worked on, how, who it is, where it lives, what it logs, and what a file alone can say. */
export const SETTINGS = {
  concurrency: {
    about: 'jobs at the same time',
    usual: 'RAILS_MAX_THREADS, else 10',
    flags: '-c, --concurrency <n>',
    variable: 'HIGHKIQ_CONCURRENCY',
    key: 'concurrency',
    read: word(wholeNumber),
  },
  queues: {
    about: "queue to serve, or '*' for all that jobs name; may be repeated",
    usual: 'default; on SQLite also all that jobs name',
    flags: '-q, --queue <name[,weight]>',
    variable: 'HIGHKIQ_QUEUES',
    key: 'queues',
    between: /[\s;]+/,
    read: readQueues,
  },
  capsules: {
    about: 'further sets of queues with slots of their own (the variable: as JSON)',
    usual: '',
    variable: 'HIGHKIQ_CAPSULES',
    key: 'capsules',
    read: readCapsules,
  },
  timeout: {
    about: 'seconds that jobs may go on after TERM; Infinity waits for all',
    usual: '25',
    flags: '-t, --timeout <seconds>',
    variable: 'HIGHKIQ_TIMEOUT',
    key: 'timeout',
    read: word(positiveSecondsOrInfinity),
  },
  leaseSeconds: {
    about: 'seconds after which the jobs of a process that is cut off go to others',
    usual: '15',
    flags: '--lease-seconds <n>',
    variable: 'HIGHKIQ_LEASE_SECONDS',
    key: 'lease_seconds',
    read: word(positiveSeconds),
  },
  maxBlockSeconds: {
    about: 'seconds after which the jobs of a process whose event loop is blocked go to others',
    usual: '900',
    flags: '--max-block-seconds <n>',
    variable: 'HIGHKIQ_MAX_BLOCK_SECONDS',
    key: 'max_block_seconds',
    read: word(positiveSecondsOrInfinity),
  },
  pollInterval: {
    about: 'most seconds between two looks for jobs that are due; at most 1',
    usual: '1',
    flags: '--poll-interval <seconds>',
    variable: 'HIGHKIQ_POLL_INTERVAL',
    key: 'poll_interval',
    read: word(positiveSeconds),
  },
  orderedConcurrency: {
    about: 'batches of ordered queues at the same time',
    usual: '5',
    flags: '--ordered-concurrency <n>',
    variable: 'HIGHKIQ_ORDERED_CONCURRENCY',
    key: 'ordered_concurrency',
    read: word(wholeNumber),
  },
  processes: {
    about: 'worker processes, which one parent keeps alive',
    usual: '1',
    flags: '--processes <n>',
    variable: 'HIGHKIQ_PROCESSES',
    key: 'processes',
    read: word(wholeNumber),
  },
  web: {
    about: 'serves the dashboard and the HTTP API, too, at this port',
    usual: 'no; 7433 when no port is given',
    flags: '--web [port]',
    variable: 'HIGHKIQ_WEB',
    key: 'web',
    read: word(webPort),
  },
  webHost: {
    about: 'where that listens; any other address than this machine’s own needs HIGHKIQ_WEB_TOKEN',
    usual: '127.0.0.1',
    flags: '--web-host <address>',
    variable: 'HIGHKIQ_WEB_HOST',
    key: 'web_host',
    read: word(String),
  },
  maxMemory: {
    about: 'megabytes above which a worker process is replaced by a new one',
    usual: '',
    flags: '--max-memory <MB>',
    variable: 'HIGHKIQ_MAX_MEMORY',
    key: 'max_memory',
    read: word(wholeNumber),
  },
  require: {
    about: 'file that exports the app (.ts, .mts, .js, .mjs), or a folder with a jobs file; may be repeated',
    usual: '., and there jobs.ts or src/jobs.ts',
    flags: '-r, --require <path>',
    variable: 'HIGHKIQ_REQUIRE',
    key: 'require',
    between: new RegExp(delimiter),
    read: several,
  },
  config: {
    about: 'file with these settings (docs/configuration.md)',
    usual: 'config/highkiq.yml, sidekiq.yml or sidekiq.yml.erb',
    flags: '-C, --config <path>',
    variable: 'HIGHKIQ_CONFIG',
    read: word(String),
  },
  environment: {
    about: "a file's section of this name is merged over the rest",
    usual: 'APP_ENV, RAILS_ENV, RACK_ENV or NODE_ENV, else development',
    flags: '-e, --environment <name>',
    variable: 'HIGHKIQ_ENVIRONMENT',
    key: 'environment',
    read: word(String),
  },
  url: {
    about: 'store: sqlite:highkiq.db, redis://localhost:6379 …; comes before what the app says',
    usual: "the app's, else HIGHKIQ_URL, else REDIS_URL, else sqlite:highkiq.db",
    flags: '--url <url>',
    read: word(String),
  },
  drain: {
    about: 'run the jobs of the store that --url names to their end, push new jobs to the app’s own store, then stop',
    usual: 'no',
    flags: '--drain',
    read: word(yesOrNo),
  },
  tag: {
    about: 'shown beside the process',
    usual: "this folder's name",
    flags: '-g, --tag <tag>',
    variable: 'HIGHKIQ_TAG',
    key: 'tag',
    read: word(String),
  },
  labels: {
    about: 'shown beside the process; may be repeated',
    usual: '',
    flags: '--label <label>',
    variable: 'HIGHKIQ_LABELS',
    key: 'labels',
    between: /\s*,\s*/,
    read: several,
  },
  verbose: {
    about: 'log everything, and show where errors come from',
    usual: 'no',
    flags: '-v, --verbose',
    variable: 'HIGHKIQ_VERBOSE',
    key: 'verbose',
    read: word(yesOrNo),
  },
  logJobs: {
    about: 'log when each job begins and ends',
    usual: 'yes',
    flags: '--no-log-jobs',
    variable: 'HIGHKIQ_LOG_JOBS',
    key: 'skip_default_job_logging',
    read: word(yesOrNo),
    readKey: (value: unknown) => !word(yesOrNo)(value),
  },
  logFormat: {
    about: `how log lines look: ${FORMATS.join(', ')}`,
    usual: 'pretty on a terminal, else json',
    flags: '--log-format <format>',
    variable: 'HIGHKIQ_LOG_FORMAT',
    key: 'log_format',
    read: word((text) => {
      const format = FORMATS.find((one) => one === text)
      if (format) return format
      throw new InvalidArgumentError(`It is one of ${FORMATS.join(', ')}.`)
    }),
  },
  logFile: {
    about: 'log there, and not to standard error; USR2 reopens it',
    usual: '',
    flags: '--log-file <path>',
    variable: 'HIGHKIQ_LOG_FILE',
    key: 'log_file',
    read: word(String),
  },
  loggedJobAttributes: {
    about: 'members of a job that each of its lines shows',
    usual: 'bid, tags',
    key: 'logged_job_attributes',
    read: several,
  },
  banner: {
    about: 'begin with art on a terminal',
    usual: 'yes',
    flags: '--no-banner',
    variable: 'HIGHKIQ_BANNER',
    read: word(yesOrNo),
  },
  maxRetries: {
    about: 'retries of a job that says `retry: true`',
    usual: '25',
    key: 'max_retries',
    read: word(wholeNumberOrNone),
  },
  maxIterationRuntime: {
    about: 'seconds after which an attempt of an iterable job makes room',
    usual: '',
    key: 'max_iteration_runtime',
    read: word(positiveSeconds),
  },
  deadMax: {
    about: 'jobs that the dead set keeps',
    usual: '10,000',
    key: 'dead_max_jobs',
    read: word(wholeNumber),
  },
  deadSeconds: {
    about: 'seconds for which it keeps them',
    usual: '15,552,000 (180 days)',
    key: 'dead_timeout_in_seconds',
    read: word(positiveSeconds),
  },
} satisfies Record<string, Setting>

export type SettingName = keyof typeof SETTINGS
export type Settings = { [Name in SettingName]?: ReturnType<(typeof SETTINGS)[Name]['read']> }

export const NAMES = Object.keys(SETTINGS) as SettingName[]

/** A value that is one text, number or yes and no, as text. */
function word<T>(read: (text: string) => T): (value: unknown) => T {
  return (value) => {
    if (typeof value === 'object' || value === undefined) throw new InvalidArgumentError('It is one value.')
    return read(String(value))
  }
}

/** A port; yes: the usual one; no: none. */
function webPort(text: string): number | undefined {
  // Nobody listens at port 1.
  if (/^\d+$/.test(text) && text !== '1') return portNumber(text)
  try {
    return yesOrNo(text) ? WEB_PORT : undefined
  } catch {
    throw new InvalidArgumentError('It is a port up to 65535, yes or no.')
  }
}

function several(value: unknown): string[] {
  return (Array.isArray(value) ? value : [value]).map(word(String))
}

/** Sidekiq's forms: `name`, `name,weight`, `[name]`, `[name, weight]`; one, or a list of them. */
function readQueues(value: unknown): QueueOption[] {
  const list = Array.isArray(value) ? value : [value]
  if (list.length === 0) throw new InvalidArgumentError('It names at least one queue.')
  return list.map((queue) => {
    const parts = (Array.isArray(queue) ? queue : String(queue).split(',')).map((part) => String(part).trim())
    const [name, weight] = parts
    const known = typeof queue !== 'object' || Array.isArray(queue)
    if (!known || !name || parts.length > 2 || (weight !== undefined && !/^\d+$/.test(weight))) {
      const shown = typeof queue === 'string' ? queue : JSON.stringify(queue)
      throw new InvalidArgumentError(`${shown} is no queue: write name, or name,weight with a whole number.`)
    }
    return weight === undefined ? name : `${name},${weight}`
  })
}

/** `{ name: { concurrency, queues } }`. Other members are an app's own, and left alone. */
function readCapsules(value: unknown): Record<string, CapsuleOptions> {
  const capsules = typeof value === 'string' ? parsed(value) : value
  if (!isRecord(capsules)) throw new InvalidArgumentError('It is name: { concurrency, queues }.')
  return Object.fromEntries(
    Object.entries(capsules).map(([name, options]) => {
      if (!isRecord(options)) throw new InvalidArgumentError(`${name} is { concurrency, queues }.`)
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

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
