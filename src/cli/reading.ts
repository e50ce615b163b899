/** Options for reading a file of rows, shared by the commands that read one. */

import { type Command, InvalidArgumentError, Option } from 'commander'
import { FILE_FORMATS, type FileFormat, type ImportOptions } from '../index.ts'
import { messageOf } from '../job/errors.ts'
import { wholeNumber } from './usage.ts'

export interface ReadingOptions {
  format?: FileFormat
  columns?: string[] | Record<string, string>
  encoding?: string
  delimiter?: string
  sheet?: string | number
  headerRow?: number
  quote?: boolean
  maxRows?: number
  rowKey?: string
}

const NAMES = [
  'format',
  'columns',
  'encoding',
  'delimiter',
  'sheet',
  'headerRow',
  'quote',
  'maxRows',
  'rowKey',
] as const

export function withReadingOptions(command: Command): Command {
  return command
    .addOption(new Option('-f, --format <format>', 'format of the file (default: detected)').choices(FILE_FORMATS))
    .addOption(
      new Option(
        '--columns <list>',
        "names of the columns in order (sku,price), or columns to pick and rename ('Item no=sku,Unit price=price')",
      ).argParser(columns),
    )
    .option('--encoding <name>', 'encoding of CSV and NDJSON, such as windows-1252 or shift_jis (default: detected)')
    .addOption(
      new Option('--delimiter <character>', "delimiter of CSV, one character or 'tab' (default: detected)").argParser(
        delimiter,
      ),
    )
    .addOption(new Option('--sheet <sheet>', 'worksheet to read: its name, or its number from 0').argParser(sheet))
    .addOption(
      new Option(
        '--header-row <n>',
        'row with the names of the columns, from 1 (default: the first non-empty row)',
      ).argParser(wholeNumber),
    )
    .option('--no-quote', 'read quotes in CSV as ordinary characters, as in plain TSV')
    .option(
      '--row-key <column>',
      'column with unique values; it finds the rows of a corrected report whose row keys are lost',
    )
    .addOption(new Option('--max-rows <n>', 'refuse files with more rows (default: 1000000)').argParser(wholeNumber))
}

/** Returns the given options in the form that `tasks.import` and `task.retry` take. */
export function readingOf(options: ReadingOptions): Pick<ImportOptions, (typeof NAMES)[number]> {
  return Object.fromEntries(
    // `quote` is true unless --no-quote is given.
    NAMES.flatMap((name) => (options[name] === undefined || options[name] === true ? [] : [[name, options[name]]])),
  ) as ReturnType<typeof readingOf>
}

const LISTS = "Write sku,price or 'Item no=sku,Unit price=price'; escape a comma or equals sign in a name with \\."

/** Parses `a,b` (names in order), `A=a,B=b` (columns to pick) or JSON of either. `\,` and `\=` escape. */
function columns(text: string): string[] | Record<string, string> {
  if (/^\s*[[{]/.test(text)) return columnsInJson(text)
  const items = split(text, ',').map((item) => split(item, '=').map((part) => part.replace(/\\([,=\\])/g, '$1').trim()))
  if (items.some((parts) => parts.length > 2 || parts.includes(''))) {
    throw new InvalidArgumentError(LISTS)
  }
  if (items.every(({ length }) => length === 1)) return items.map(([name]) => name as string)
  return Object.fromEntries(items.map(([from, to = from]) => [from, to]))
}

function columnsInJson(text: string): string[] | Record<string, string> {
  try {
    // The import checks the names.
    return JSON.parse(text) as string[] | Record<string, string>
  } catch (error) {
    throw new InvalidArgumentError(`It must be valid JSON (${messageOf(error)}). ${LISTS}`)
  }
}

function split(text: string, at: string): string[] {
  return text.split(new RegExp(`(?<!\\\\)${at}`))
}

function delimiter(text: string): string {
  if (text === 'tab' || text === '\\t') return '\t'
  if ([...text].length === 1) return text
  throw new InvalidArgumentError("It must be one character, or 'tab'.")
}

function sheet(text: string): string | number {
  return /^\d{1,3}$/.test(text) ? Number(text) : text
}
