/** Options for reading a file of rows, shared by the commands that read one. */

import { type Command, InvalidArgumentError, Option } from 'commander'
import type { ImportOptions } from '../index.ts'
import { messageOf } from '../job/errors.ts'
import { given } from '../job/options.ts'
import { describedOption, type ImportOption, NEW_TASK_OPTIONS, READING_OPTIONS } from '../tasks/import-options.ts'
import { maxFailures, wholeNumber } from './usage.ts'

const OPTIONS: Record<string, ImportOption> = { ...READING_OPTIONS, ...NEW_TASK_OPTIONS }
type ReadingName = keyof typeof READING_OPTIONS
const NAMES = Object.keys(READING_OPTIONS) as ReadingName[]

export type ReadingOptions = Pick<ImportOptions, ReadingName>

/** The help of options that are written in another way on the command line. */
const HELP: Record<string, string> = {
  columns: "names of the columns in order (sku,price), or columns to pick and rename ('Item no=sku,Unit price=price')",
  delimiter: "delimiter of CSV, one character or 'tab' (default: detected)",
}

/** Returns the flag of an option of imports. */
export function flagOf(name: ReadingName | keyof typeof NEW_TASK_OPTIONS): Option {
  const about = OPTIONS[name] as ImportOption
  const option = new Option(about.flag as string, HELP[name] ?? describedOption(about))
  if (Array.isArray(about.kind)) return option.choices(about.kind as string[])
  const parse = PARSERS[name] ?? (about.kind === 'count' ? wholeNumber : undefined)
  return parse ? option.argParser(parse) : option
}

export function withReadingOptions(command: Command): Command {
  return NAMES.reduce((all, name) => all.addOption(flagOf(name)), command)
}

/** Returns the given options in the form that `tasks.import` and `task.retry` take. */
export function readingOf(options: ReadingOptions): ReadingOptions {
  // `quote` is true unless --no-quote is given.
  return given({ ...options, quote: options.quote === false ? false : undefined }, NAMES)
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

const PARSERS: Record<string, ((text: string) => unknown) | undefined> = { columns, delimiter, sheet, maxFailures }
