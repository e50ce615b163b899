/** Exit codes and error messages of commands: 0 done, 1 failed, 2 wrong usage, 3 rejected rows. Also parsers of options. */

import { inspect } from 'node:util'
import { InvalidArgumentError, Option } from 'commander'
import { FILE_FORMATS, HighkiqError } from '../index.ts'
import { LANGUAGE_CODES } from '../tasks/languages/index.ts'
import { messageWithFlags } from './hints.ts'
import { io } from './io.ts'

/** An error of a command, printed as one line, with the details (such as a stack of the app) below it. */
export class CliError extends Error {
  readonly exitCode: 1 | 2
  readonly details: string | undefined

  constructor(message: string, exitCode: 1 | 2 = 1, details?: string) {
    super(message)
    this.exitCode = exitCode
    this.details = details
  }
}

/** Error codes that mean wrong usage (exit code 2). */
const USAGE = new Set(['INVALID_OPTION', 'UNKNOWN_JOB', 'UNKNOWN_STORE', 'INVALID_FILE', 'TOO_MANY_ROWS'])

/** Prints an error and returns the exit code. */
export function reportError(thrown: unknown): number {
  if (thrown instanceof CliError) {
    printToStderr(thrown.details ? `${thrown.message}:\n${thrown.details}` : thrown.message)
    return thrown.exitCode
  }
  if (thrown instanceof HighkiqError) {
    const wantsStacks = ['debug', 'trace'].includes(io().env.HIGHKIQ_LOG_LEVEL ?? '')
    printToStderr(wantsStacks ? inspect(thrown) : messageWithFlags(thrown))
    // After rows were stored, a broken file is not a usage error.
    const begun = (thrown.details as { task?: string } | undefined)?.task !== undefined
    return USAGE.has(thrown.code) && !begun ? 2 : 1
  }
  io().stderr.write(`${inspect(thrown)}\n`)
  return 1
}

/** Writes a line to standard error. */
export function printToStderr(text: string): void {
  // On a terminal, clear the progress bar first.
  io().stderr.write(`${io().stderr.isTTY ? '\r\x1b[K' : ''}highkiq: ${text}\n`)
}

// ------------------------------------------------------------------------------------------- values of options

/** Returns a parser of a number. @param digitsOnly refuses a sign, a fraction, and any other notation */
function numberParser(holds: (n: number) => boolean, must: string, digitsOnly = false): (text: string) => number {
  return (text) => {
    const n = Number(text)
    if (holds(n) && (!digitsOnly || /^\d+$/.test(text))) return n
    throw new InvalidArgumentError(`It must be a ${must}.`)
  }
}

export const wholeNumber = numberParser((n) => n >= 1, 'whole number, 1 or more', true)
export const wholeNumberOrNone = numberParser((n) => n >= 0, 'whole number, 0 or more', true)
export const portNumber = numberParser((n) => n <= 65_535, 'number up to 65535; 0 picks a free port', true)
export const positiveSeconds = numberParser((n) => n > 0 && Number.isFinite(n), 'number of seconds above 0')
export const positiveSecondsOrInfinity = numberParser((n) => n > 0, 'number of seconds above 0, or Infinity')

export function yesOrNo(text: string): boolean {
  if (/^(1|true|yes|on)$/i.test(text)) return true
  if (/^(0|false|no|off)$/i.test(text)) return false
  throw new InvalidArgumentError('It must be true or false.')
}

export function oneOf<T extends string>(known: readonly T[]): (text: string) => T {
  return (text) => {
    if (known.includes(text as T)) return text as T
    throw new InvalidArgumentError(`It must be one of ${known.join(', ')}.`)
  }
}

/** Collects the values of an option that can be repeated. */
export function collect(text: string, before: string[] = []): string[] {
  return [...before, text]
}

/** Returns a parser of values separated by commas, each one of `known`. */
export function someOf<T extends string>(known: readonly T[]): (text: string) => T[] {
  return (text) =>
    text.split(',').map((word) => {
      if (known.includes(word.trim() as T)) return word.trim() as T
      throw new InvalidArgumentError(`Each must be one of ${known.join(', ')} (got ${JSON.stringify(word)}).`)
    })
}

export function sheetPath(text: string): string {
  if (FILE_FORMATS.some((format) => text.toLowerCase().endsWith(`.${format}`))) return text
  throw new InvalidArgumentError(`It must end with one of ${FILE_FORMATS.map((format) => `.${format}`).join(', ')}.`)
}

/** Option for the language of a report. A report in any language can be imported again. */
export function reportLanguage(): Option {
  return new Option('--lang <language>', 'language of the report (default: en)').choices(LANGUAGE_CODES)
}

export function taskId(text: string): string {
  if (/^[0-9a-f]{16}$/.test(text)) return text
  throw new InvalidArgumentError('It must be the id of a task, 16 hex digits; `highkiq task list` shows them.')
}

/** Parses a number of rows that may fail. */
export function maxFailures(text: string): number | `${number}%` {
  if (text === 'all') return Number.POSITIVE_INFINITY
  if (/^\d+$/.test(text)) return Number(text)
  if (/^\d+(\.\d+)?%$/.test(text)) return text as `${number}%`
  throw new InvalidArgumentError("It must be a number of rows, a share such as 5%, or 'all'.")
}

/** Reads NAME=VALUE of an option that may be repeated. */
export function namesAndValues(text: string, before: Record<string, string> = {}): Record<string, string> {
  const [, name, value] = /^([\w-]+)=(.*)$/s.exec(text) ?? []
  if (name === undefined || value === undefined) throw new InvalidArgumentError('It must be NAME=VALUE.')
  return { ...before, [name]: value }
}
