/** How a command ends: exit codes, and what is said on standard error. 0 done, 1 failed, 2 wrong usage, 3 rejected rows. */

import { inspect } from 'node:util'
import { type Command, CommanderError, InvalidArgumentError, Option } from 'commander'
import { FILE_FORMATS, HighkiqError } from '../index.ts'
import { LANGUAGE_CODES } from '../tasks/languages/index.ts'
import { inWordsOfCommands } from './words.ts'

/** What a command has to say about why it can't go on: one line, perhaps followed by a stack that is not its own. */
export class CliError extends Error {
  readonly exitCode: 1 | 2
  readonly details: string | undefined

  constructor(message: string, exitCode: 1 | 2 = 1, details?: string) {
    super(message)
    this.exitCode = exitCode
    this.details = details
  }
}

/** Codes that mean: the command was told something wrong. */
const USAGE = new Set(['INVALID_OPTION', 'UNKNOWN_JOB', 'UNKNOWN_STORE', 'INVALID_FILE', 'TOO_MANY_ROWS'])

/** Runs the program and ends the process. */
export async function run(program: Command, argv: readonly string[]): Promise<never> {
  quietBrokenPipes()
  try {
    await program.parseAsync(argv)
  } catch (thrown) {
    process.exitCode = tell(thrown)
  }
  // Files that -r loads may leave timers and connections behind: a command that is done ends.
  await new Promise<void>((resolve) => process.stdout.write('', () => resolve()))
  process.exit()
}

/** To be called before subcommands are added: they take it over. */
export function prepare(program: Command): Command {
  return program
    .exitOverride()
    .configureOutput({ outputError: (text, write) => write(text.replace(/^error: /, 'highkiq: ')) })
    .showSuggestionAfterError()
}

export function wantsStacks(): boolean {
  return ['debug', 'trace'].includes(process.env.HIGHKIQ_LOG_LEVEL ?? '')
}

/** @returns the exit code */
function tell(thrown: unknown): number {
  // Commander has said it already.
  if (thrown instanceof CommanderError) return thrown.exitCode === 0 ? 0 : 2
  if (thrown instanceof CliError) {
    say(thrown.details ? `${thrown.message}:\n${thrown.details}` : thrown.message)
    return thrown.exitCode
  }
  if (isHighkiqError(thrown)) {
    say(wantsStacks() ? inspect(thrown) : inWordsOfCommands(thrown.message))
    // A file that breaks off when rows of it are stored was no mistake of the command line.
    const begun = (thrown.details as { task?: string } | undefined)?.task !== undefined
    return USAGE.has(thrown.code) && !begun ? 2 : 1
  }
  process.stderr.write(`${inspect(thrown)}\n`)
  return 1
}

function say(text: string): void {
  process.stderr.write(`highkiq: ${text}\n`)
}

/** By name, so that an error of another copy of this package counts too. */
function isHighkiqError(thrown: unknown): thrown is HighkiqError {
  return (
    thrown instanceof HighkiqError || (thrown instanceof Error && ['HighkiqError', 'PushError'].includes(thrown.name))
  )
}

/** `highkiq … | head`: whoever reads has seen enough. What is logged to nobody does not stop a worker. */
function quietBrokenPipes(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
    process.exit()
  })
  process.stderr.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
  })
}

// ------------------------------------------------------------------------------------------- values of options

export function wholeNumber(text: string): number {
  const n = Number(text)
  if (!/^\d+$/.test(text) || n < 1) throw new InvalidArgumentError('It is a whole number, at least 1.')
  return n
}

export function wholeNumberOrNone(text: string): number {
  if (!/^\d+$/.test(text)) throw new InvalidArgumentError('It is a whole number, 0 or more.')
  return Number(text)
}

export function positiveSecondsOrInfinity(text: string): number {
  const n = Number(text)
  if (!(n > 0)) throw new InvalidArgumentError('It is a number of seconds above 0, or Infinity.')
  return n
}

export function yesOrNo(text: string): boolean {
  if (/^(1|true|yes|on)$/i.test(text)) return true
  if (/^(0|false|no|off)$/i.test(text)) return false
  throw new InvalidArgumentError('It is true or false.')
}

export function positiveSeconds(text: string): number {
  const n = Number(text)
  if (!(n > 0 && Number.isFinite(n))) throw new InvalidArgumentError('It is a number of seconds above 0.')
  return n
}

/** For options that may be given several times. */
export function collect(text: string, before: string[] = []): string[] {
  return [...before, text]
}

/** Separated by commas, each one of `known`. */
export function someOf<T extends string>(known: readonly T[]): (text: string) => T[] {
  return (text) =>
    text.split(',').map((word) => {
      if (known.includes(word.trim() as T)) return word.trim() as T
      throw new InvalidArgumentError(`There is no ${JSON.stringify(word)}; there are ${known.join(', ')}.`)
    })
}

export function sheetPath(text: string): string {
  if (FILE_FORMATS.some((format) => text.toLowerCase().endsWith(`.${format}`))) return text
  throw new InvalidArgumentError(`Its name ends with one of ${FILE_FORMATS.map((format) => `.${format}`).join(', ')}.`)
}

/** The language in which a report is written. It comes back in any of them. */
export function reportLanguage(): Option {
  return new Option('--lang <language>', 'language of the columns and messages of the report (default: en)').choices(
    LANGUAGE_CODES,
  )
}

export function taskId(text: string): string {
  if (/^[0-9a-f]{16}$/.test(text)) return text
  throw new InvalidArgumentError('It is the id of a task, 16 hex digits: `highkiq task list` shows them.')
}

/** How many rows may fail. */
export function tolerated(text: string): number | `${number}%` {
  if (text === 'all') return Number.POSITIVE_INFINITY
  if (/^\d+$/.test(text)) return Number(text)
  if (/^\d+(\.\d+)?%$/.test(text)) return text as `${number}%`
  throw new InvalidArgumentError("It is a number of rows, a share such as 5%, or 'all'.")
}

export function portNumber(text: string): number {
  const n = Number(text)
  if (/^\d+$/.test(text) && n <= 65_535) return n
  throw new InvalidArgumentError('It is a number up to 65535; 0 is any that is free.')
}
