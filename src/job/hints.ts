/**
 * The hints of errors in the words of the programs. A message of the library names an option; a user of the command line
 * needs its flag, and a client of the HTTP API its parameter.
 */

import { causesOf, type HighkiqError, messageOf } from './errors.ts'

/**
 * The details of an error whose message names an option of the library, with the value that it needs. `hint` is that part of
 * the message.
 */
interface OptionHint {
  option: string
  value?: unknown
  hint: string
}

type HintText = string | ((value: unknown) => string)
type User = 'flag' | 'parameter'

const both = (words: HintText) => ({ flag: words, parameter: words })

/** By the option of the library: what replaces the hint. Without words the hint stays. */
export const HINTS: Readonly<Record<string, Partial<Record<User, HintText>>>> = {
  allowDuplicate: { flag: 'add --allow-duplicate', parameter: 'send it with allowDuplicate=1' },
  encoding: { flag: (value) => `say --encoding ${value}`, parameter: (value) => `send encoding=${value}` },
  headerRow: {
    flag: (value) => (value === undefined ? '--header-row is the row' : `say --header-row ${value}`),
    parameter: (value) => (value === undefined ? 'headerRow is the row' : `send headerRow=${value}`),
  },
  sheet: { flag: 'name another one with --sheet', parameter: 'name another one with sheet' },
  columns: {
    flag: (value) => `--columns ${inPairs(value as Record<string, string>)}`,
    parameter: (value) => `columns=${JSON.stringify(value)}`,
  },
  maxRows: {
    flag: 'split it, or allow more with --max-rows',
    parameter: 'split it, for no more are taken here (limits)',
  },
  keepArgs: {
    flag: 'needs one that was imported with --keep-args all',
    parameter: 'needs keepArgs=all when the task is made',
  },
  wait: { flag: 'download with --wait', parameter: 'ask with wait=1' },
  partial: { flag: 'ask for the rest with --partial', parameter: 'ask for the rest with partial=1' },
  as: {
    flag: 'load its file with -r',
    parameter: 'the server that takes the report must load its file (highkiq web -r FILE), or name that (imports)',
  },
  ordered: {
    flag: (value) => `highkiq ordered push ${value} ID [PAYLOAD]`,
    parameter: (value) => `send { id, payload } to POST /api/v1/ordered/${value}`,
  },
  format: { flag: '--format', parameter: 'the parameter format, or the type or name of the file,' },
  unique: both((name) => `name another job, for the app makes ${name} unique`),
  onConflict: { flag: 'look for its lock with highkiq locks', parameter: 'use its jid' },
  queue: both((name) => `name queue ${name}`),
  bid: both('leave it out'),
  // A server has this folder, and its clients can't choose it.
  artifacts: { flag: 'set TMPDIR to a folder with room' },
}

/** Returns the message of an error with the flags of the command line. */
export function messageWithFlags(thrown: unknown): string {
  return messageFor(thrown, 'flag')
}

/** Returns the message of an error with the parameters of the HTTP API. */
export function messageWithParameters(thrown: unknown): string {
  return messageFor(thrown, 'parameter')
}

/** The method of the library that refused an option, at the beginning of a message. */
const METHOD = /^(?:hq|tasks?|metrics|queue)\.[\w.]+: /

/** Returns the message without the name of a method, and with other words for the hints of the error and of its causes. */
function messageFor(thrown: unknown, user: User): string {
  let message = messageOf(thrown).replace(METHOD, '')
  const hints = new Map<string, string>()
  for (const error of causesOf(thrown)) {
    const { option = '', value, hint } = ((error as HighkiqError).details ?? {}) as Partial<OptionHint>
    const words = HINTS[option]?.[user]
    if (words && hint && !hints.has(hint)) hints.set(hint, typeof words === 'string' ? words : words(value))
  }
  for (const [hint, words] of hints) message = message.replace(hint, () => words)
  return message
}

/** Writes an object of columns as `--columns` takes it: 'Item no=sku,Unit price=price', quoted for a shell. */
function inPairs(columns: Record<string, string>): string {
  const pairs = Object.entries(columns)
  const list = pairs.map((pair) => pair.map((name) => name.replace(/[,=\\]/g, '\\$&')).join('=')).join(',')
  return `'${list.replaceAll("'", "'\\''")}'`
}
