/** The app that a command works with, and the options that all commands share. */

import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Command } from 'commander'
import { PROGRAM } from '../app.ts'
import { LEVELS, type Variable, variable } from '../environment.ts'
import { Highkiq } from '../index.ts'
import { FORMATS } from '../log/line.ts'
import { loadApp } from './load-app.ts'
import { CliError, collect } from './usage.ts'

export interface AppOptions {
  require?: string[]
  url?: string
  verbose?: boolean
  /** True: drain the store of `url`, and send new jobs to the app's own store. */
  drain?: boolean
}

export function withAppOptions(command: Command): Command {
  return command
    .option('-r, --require <file>', 'file that exports the app (.ts, .mts, .js, .mjs); may be repeated', collect)
    .option(
      '--url <url>',
      "store: sqlite:highkiq.db, redis://localhost:6379 … (default: the app's, HIGHKIQ_URL, REDIS_URL)",
    )
    .option('-v, --verbose', 'log everything, and show where errors come from')
}

/** Opens the app, works with it, closes it. */
export async function withApp<T>(options: AppOptions, work: (hq: Highkiq) => Promise<T>): Promise<T> {
  const hq = await openApp(options)
  try {
    return await work(hq)
  } finally {
    await hq.close()
  }
}

/** The same for a command that only looks: it must not leave an empty database behind. */
export function withExistingStore<T>(options: AppOptions, work: (hq: Highkiq) => Promise<T>): Promise<T> {
  return withApp(options, async (hq) => {
    checkStoreExists(hq)
    return work(hq)
  })
}

/** @throws CliError if the store is a file that does not exist */
export function checkStoreExists(hq: Highkiq): void {
  const path = /^sqlite:(.+)$/s.exec(hq.store.url)?.[1]
  if (!path || path === ':memory:' || existsSync(path)) return
  throw new CliError(`${path} is not there: nothing was pushed to it yet, or --url or HIGHKIQ_URL means another one`)
}

async function openApp({ require: files, url, verbose, drain }: AppOptions): Promise<Highkiq> {
  // An app makes its logger when it is made.
  if (verbose) process.env.HIGHKIQ_LOG_LEVEL = 'debug'
  checkLogVariables()
  if (!files) return usable(new Highkiq(url === undefined ? {} : { url }))
  const hq = await loadApp(files)
  hq[PROGRAM].useFiles(files.map((file) => resolve(file)))
  if (url !== undefined) hq[PROGRAM][drain ? 'drain' : 'useUrl'](url)
  return usable(hq)
}

/** @throws CliError (exit code 2), for the logger would say it with a stack, or not at all */
export function checkLogVariables(): void {
  check('HIGHKIQ_LOG_LEVEL', LEVELS)
  check('HIGHKIQ_LOG_FORMAT', FORMATS)
}

function check(name: Variable, known: readonly string[]): void {
  const value = variable(name)
  if (value === undefined || known.includes(value)) return
  throw new CliError(`${name} is ${JSON.stringify(value)}; there are ${known.join(', ')}`, 2)
}

/** @throws UNKNOWN_STORE, INVALID_OPTION at once, and not wrapped into the first push */
function usable(hq: Highkiq): Highkiq {
  void hq.store
  return hq
}

/** What another command needs to find the same store: ` -r jobs.ts --url sqlite:x.db`. */
export function sameApp({ require: files = [], url }: AppOptions): string {
  const words = [...files.flatMap((file) => ['-r', file]), ...(url === undefined ? [] : ['--url', url])]
  return words.map((word) => ` ${quoted(word)}`).join('')
}

/** As one word of a shell. */
export function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}
