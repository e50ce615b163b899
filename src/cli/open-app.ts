/** Opens the app of a command; defines the options that all commands share. */

import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Command } from 'commander'
import { PROGRAM } from '../app.ts'
import { LEVELS, storeUrl, type Variable, variable } from '../environment.ts'
import { Highkiq } from '../index.ts'
import { quoted } from '../job/shell.ts'
import { FORMATS } from '../log/line.ts'
import { withoutPassword } from '../store/contract/without-password.ts'
import { jobsFileOf } from './config/jobs-file.ts'
import { io } from './io.ts'
import { loadApp } from './load-app.ts'
import { CliError, collect } from './usage.ts'

export interface AppOptions {
  require?: string[]
  url?: string
  verbose?: boolean
  /** Given to commands that can print JSON. */
  json?: boolean
  /** Drain the store of `url`, and push new jobs to the app's own store. */
  drain?: boolean
}

export function withAppOptions(command: Command): Command {
  return command
    .option('-r, --require <file>', 'file that exports the app (.ts, .mts, .js, .mjs); can be repeated', collect)
    .option(
      '--url <url>',
      "store: sqlite:highkiq.db, redis://localhost:6379 …; several, separated by spaces, are shards (default: the app's, HIGHKIQ_URL, REDIS_URL)",
    )
    .option('-v, --verbose', 'log at debug level and show stacks of errors')
}

/** Ends the help of a command that writes jobs and has the options of the app from the command above it. */
export const OPTIONS_OF_PARENT = `
It also takes -r, --url and --json. Beside Sidekiq 7 or 6 use -r: the app's option wire decides how jobs are written.
`

/**
 * Refuses options of the command above a verb that the verb does not have, such as `--limit` of a list: the verb would ignore
 * them, and act on more jobs than the user meant.
 * @throws CliError
 */
export function refuseOptionsOfParent(verb: Command, ...names: string[]): void {
  const wrong = names.find((name) => verb.parent?.getOptionValueSource(name) === 'cli')
  if (wrong === undefined) return
  const list = `highkiq ${verb.parent?.name()}`
  throw new CliError(
    `--${wrong} is an option of ${list}, and "${list} ${verb.name()}" does not have it: leave it out`,
    2,
  )
}

/** Opens the app, runs `work` with it and closes it. */
export async function withApp<T>(options: AppOptions, work: (hq: Highkiq) => Promise<T>): Promise<T> {
  const hq = await openApp(options)
  try {
    return await work(hq)
  } finally {
    await hq.close()
  }
}

/** Like `withApp`, but refuses a missing database file instead of creating it. */
export function withExistingStore<T>(options: AppOptions, work: (hq: Highkiq) => Promise<T>): Promise<T> {
  return withApp(options, async (hq) => {
    checkStoreExists(hq, options)
    return work(hq)
  })
}

/** Says which store was shown when nothing names one beside a jobs file, whose app may have another. */
export function sayStore(hq: Highkiq, options: AppOptions): void {
  const jobs = unloadedJobs(options)
  if (!jobs || storeUrl() !== undefined) return
  io().stderr.write(
    `store: ${hq.store.url}, because neither --url nor HIGHKIQ_URL names one; -r ${jobs} uses the store of its app\n`,
  )
}

/** Returns the jobs file of this folder when the command neither loads an app nor names a store. */
function unloadedJobs({ require: files, url }: AppOptions): string | undefined {
  return files || url !== undefined ? undefined : jobsFileOf('.')
}

/** @throws CliError if the store is a file that does not exist. `named` says what may name the wrong store. */
export function checkStoreExists(hq: Highkiq, options: AppOptions, named = '--url or HIGHKIQ_URL'): void {
  const { url, shardUrls: urls = [url] } = hq.store
  const paths = urls.flatMap((url) => /^sqlite:(.+)$/s.exec(url)?.[1] ?? [])
  const path = paths.find((one) => one !== ':memory:' && !existsSync(one))
  if (!path) return
  const jobs = unloadedJobs(options)
  const why = jobs
    ? `${jobs} is here but was not loaded: add -r ${jobs}, or set HIGHKIQ_URL to its store`
    : `no job was pushed to it yet, or ${named} names the wrong store`
  throw new CliError(`${path} does not exist: ${why}`)
}

async function openApp({ require: files, url, verbose, drain }: AppOptions): Promise<Highkiq> {
  // An app creates its logger in its constructor.
  if (verbose) io().env.HIGHKIQ_LOG_LEVEL = 'debug'
  checkLogVariables()
  if (!files) return usable(new Highkiq(url === undefined ? {} : { url }))
  const hq = await loadApp(files)
  hq[PROGRAM].useFiles(files.map((file) => resolve(file)))
  if (url !== undefined) hq[PROGRAM][drain ? 'drain' : 'useUrl'](url)
  return usable(hq)
}

/** @throws CliError (exit code 2); the logger itself would print a stack */
export function checkLogVariables(): void {
  check('HIGHKIQ_LOG_LEVEL', LEVELS)
  check('HIGHKIQ_LOG_FORMAT', FORMATS)
}

function check(name: Variable, known: readonly string[]): void {
  const value = variable(name, io().env)
  if (value === undefined || known.includes(value)) return
  throw new CliError(`${name} must be one of ${known.join(', ')} (got ${JSON.stringify(value)})`, 2)
}

/** Opens the store's settings now, so that a wrong URL does not fail at the first push. @throws UNKNOWN_STORE, INVALID_OPTION */
function usable(hq: Highkiq): Highkiq {
  void hq.store
  return hq
}

/**
 * Returns the options with which another command uses the same app and store, such as ` -r jobs.ts --url sqlite:x.db`, but
 * without the password of the URL: the answer is printed.
 */
export function sameApp({ require: files = [], url }: AppOptions): string {
  const words = [
    ...files.flatMap((file) => ['-r', file]),
    ...(url === undefined ? [] : ['--url', withoutPassword(url)]),
  ]
  return words.map((word) => ` ${quoted(word)}`).join('')
}
