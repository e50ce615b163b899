/** Messages of errors in the words of the command line: where a message of the library names an option, a user needs its flag. */

import { type HintTexts, messageFor } from '../job/errors.ts'
import { quoted } from '../job/shell.ts'

export const FLAGS: HintTexts = {
  allowDuplicate: 'add --allow-duplicate',
  encoding: (value) => `say --encoding ${value}`,
  headerRow: (value) => (value === undefined ? '--header-row is the row' : `say --header-row ${value}`),
  sheet: 'name another sheet with --sheet',
  columns: (value) => `--columns ${inPairs(value as Record<string, string>)}`,
  maxRows: 'split it, or allow more with --max-rows',
  keepArgs: 'needs one that was imported with --keep-args all',
  wait: 'download with --wait',
  partial: 'ask for the rest with --partial',
  as: 'load its file with -r',
  ordered: (value) => `highkiq ordered push ${quoted(String(value))} ID [PAYLOAD]`,
  format: '--format',
  unique: (name) => `name another job, for the app makes ${name} unique`,
  onConflict: 'look for its lock with highkiq locks',
  queue: (name) => `name queue ${name}`,
  bid: 'leave it out',
  artifacts: 'set TMPDIR to a folder with room',
}

/** Returns the message of an error with the flags of the command line. */
export function messageWithFlags(thrown: unknown): string {
  return messageFor(thrown, FLAGS)
}

/** Writes an object of columns as `--columns` takes it: 'Item no=sku,Unit price=price', quoted for a shell. */
function inPairs(columns: Record<string, string>): string {
  const pairs = Object.entries(columns)
  const list = pairs.map((pair) => pair.map((name) => name.replace(/[,=\\]/g, '\\$&')).join('=')).join(',')
  return quoted(list)
}
