/** Options that say how a file of rows is read, shared by the commands that take one. */

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
    .addOption(new Option('-f, --format <format>', 'when the file does not show it').choices(FILE_FORMATS))
    .addOption(
      new Option(
        '--columns <list>',
        "names for the columns in their order (sku,price), or the columns to take ('Item no=sku,Unit price=price')",
      ).argParser(columns),
    )
    .option('--encoding <name>', 'of CSV and NDJSON, when nothing tells it: windows-1252, shift_jis, …')
    .addOption(
      new Option('--delimiter <character>', "of CSV, when its header does not tell; 'tab' is one").argParser(delimiter),
    )
    .addOption(new Option('--sheet <sheet>', 'of a workbook: its name, or its number from 0').argParser(sheet))
    .addOption(
      new Option(
        '--header-row <n>',
        'the row that holds the names of the columns, from 1 (default: the first that is not blank)',
      ).argParser(wholeNumber),
    )
    .option('--no-quote', 'of CSV: a quote is a character like any other, as in plain TSV')
    .option('--row-key <column>', 'tells rows apart: a corrected report that lost its row keys finds its rows by it')
    .addOption(new Option('--max-rows <n>', 'more are refused (default: 1000000)').argParser(wholeNumber))
}

/** Those of them that were given, as `tasks.import` and `task.retry` take them. */
export function readingOf(options: ReadingOptions): Pick<ImportOptions, (typeof NAMES)[number]> {
  return Object.fromEntries(
    // `quote` is true unless --no-quote is given.
    NAMES.flatMap((name) => (options[name] === undefined || options[name] === true ? [] : [[name, options[name]]])),
  ) as ReturnType<typeof readingOf>
}

const LISTS = "Say sku,price or 'Item no=sku,Unit price=price'; \\, and \\= stand for themselves."

/** `a,b` names them in order, `A=a,B=b` takes those; JSON says either, too. A comma inside a name is written `\,`, an equals sign `\=`. */
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
    throw new InvalidArgumentError(`It begins as JSON, and is none (${messageOf(error)}). ${LISTS}`)
  }
}

function split(text: string, at: string): string[] {
  return text.split(new RegExp(`(?<!\\\\)${at}`))
}

function delimiter(text: string): string {
  if (text === 'tab' || text === '\\t') return '\t'
  if ([...text].length === 1) return text
  throw new InvalidArgumentError("It is one character, or 'tab'.")
}

function sheet(text: string): string | number {
  return /^\d{1,3}$/.test(text) ? Number(text) : text
}
