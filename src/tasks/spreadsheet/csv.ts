import { type HighkiqError, invalidFile, invalidOption } from '../../job/errors.ts'
import { CsvSplitter } from './csv-split.ts'
import { decoded, type Findings } from './encoding.ts'
import type { OpenSource } from './source.ts'
import { columnLetters, type TableRow } from './table.ts'

const DELIMITERS = [',', ';', '\t', '|']

// How far to look for the end of the header line.
const MAX_HEADER_CHARS = 1024 * 1024

export interface CsvReading {
  delimiter?: string
  encoding?: string
  /** The encoding to use if several are likely. */
  likely?: string | undefined
  /** The number of the record that holds the names of the columns, from 1. Default: the first that is not blank. */
  headerRow?: number
  /** False if a quote is a character like any other. Default true. */
  quote?: boolean
  /** Gets what reading finds. */
  found?: Findings
}

/**
 * Yields the records of a CSV file in batches, a blank line as [''], and reads the file only as fast as they are used.
 * Closes the source at the end.
 * @throws HighkiqError INVALID_FILE with row and column; whatever a given stream fails with.
 */
export async function* csvRecords(
  source: OpenSource,
  { delimiter, encoding, likely, headerRow, quote = true, found = {} }: CsvReading = {},
): AsyncGenerator<TableRow[], void, void> {
  if (delimiter !== undefined && !(quote ? /^[^"\r\n]$/ : /^[^\r\n]$/).test(delimiter)) {
    throw invalidOption(
      `delimiter must be one character, and neither a quote nor a line break (got ${JSON.stringify(delimiter)})`,
    )
  }
  try {
    const text = decoded(source, encoding, found, likely)
    const start = await headerText(text, headerRow, quote)
    const separator = /^\uFEFF?sep=([^"\r\n])\r?\n/i.exec(start)
    found.delimiter = delimiter ?? separator?.[1] ?? delimiterOf(start, headerRow, quote)
    const splitter = new CsvSplitter(found.delimiter, quote)
    if (separator) splitter.count = 1
    for await (const piece of joined(separator ? start.slice(separator[0].length) : start, text)) {
      const rows = splitter.split(piece)
      if (rows.length > 0) yield rows
      if (splitter.problem) throw splitter.problem
    }
    if (found.problem) throw notText(found, splitter.count + 1, splitter.unfinishedColumn)
    const rows = splitter.split('', true)
    if (rows.length > 0) yield rows
    if (splitter.problem) throw splitter.problem
  } finally {
    await source.close()
  }
}

/** Reads text until the header line is complete. */
async function headerText(
  text: AsyncGenerator<string, void, void>,
  headerRow: number | undefined,
  quote: boolean,
): Promise<string> {
  let start = ''
  for (let searched = 0; start.length < MAX_HEADER_CHARS; ) {
    // The search begins at the start, so it waits until the text has doubled: pieces may be tiny.
    if (start.length >= 2 * searched) {
      if (!linesFromHeader(start, headerRow, quote).next().done) break
      searched = start.length
    }
    const next = await text.next()
    if (next.done) break
    start += next.value
  }
  return start
}

/** Returns the complete lines from the header on, without the quoted parts. */
function* linesFromHeader(text: string, headerRow: number | undefined, quote: boolean): Generator<string> {
  let row = 1
  for (const line of bareLines(text, quote)) {
    if (headerRow === undefined ? line.trim() !== '' : row >= headerRow) yield line
    row++
  }
}

function* bareLines(text: string, quote: boolean): Generator<string> {
  let line = ''
  let quoted = false
  let before = ''
  for (const char of text) {
    if (char === '"' && quote) quoted = !quoted
    else if (char === '\n' || char === '\r') {
      if (quoted || (char === '\n' && before === '\r')) before = ''
      else {
        yield line
        line = ''
        before = char
      }
      continue
    } else if (!quoted) line += char
    before = char
  }
}

/** The number of lines that decide the delimiter when the first one does not. */
const LINES = 20

function delimiterOf(start: string, headerRow: number | undefined, quote: boolean): string {
  const lines: string[] = []
  for (const line of linesFromHeader(`${start}\n`, headerRow, quote)) if (lines.push(line) === LINES) break
  return (
    mostOf(DELIMITERS.map((delimiter) => [delimiter, countOf(delimiter, lines[0] ?? start)])) ??
    // A title has no delimiter. Then the right one is in each line below, equally often.
    mostOf(DELIMITERS.map((delimiter) => [delimiter, regularCount(delimiter, lines.slice(1))])) ??
    ','
  )
}

const countOf = (delimiter: string, line: string) => line.split(delimiter).length - 1

function regularCount(delimiter: string, lines: readonly string[]): number {
  const counts = lines.map((line) => countOf(delimiter, line))
  const [first = 0, ...others] = counts.slice(
    Math.max(
      counts.findIndex((count) => count > 0),
      0,
    ),
  )
  return others.length > 0 && others.every((count) => count === first) ? first : 0
}

function mostOf(counts: [delimiter: string, count: number][]): string | undefined {
  const [best] = counts.filter(([, count]) => count > 0).sort(([, a], [, b]) => b - a)
  return best?.[0]
}

async function* joined(start: string, rest: AsyncIterable<string>): AsyncGenerator<string, void, void> {
  yield start
  yield* rest
}

const NAMES: Record<string, string> = {
  'utf-8': 'UTF-8',
  'utf-16le': 'UTF-16',
  'utf-16be': 'UTF-16',
  gb18030: 'GB18030, as the text before it is',
}

/** Returns the error for text that could not be decoded. */
export function notText({ problem, encoding = '', byte }: Findings, row: number, column?: number): HighkiqError {
  const letters = column === undefined ? undefined : columnLetters(column)
  const at = `row ${row}${letters ? `, column ${letters}` : ''}${byte === undefined ? '' : `, byte ${byte}`}`
  const about = { problem: problem === 'nul' ? 'no-text' : 'other-encoding', row }
  const details = { ...about, ...(letters ? { column: letters } : {}), ...(byte === undefined ? {} : { byte }) }
  const message =
    problem === 'nul'
      ? `${at}: there is a NUL character, so this is not a text file or its encoding is unknown: save it as "CSV UTF-8"`
      : `${at}: the text is not ${NAMES[encoding] ?? encoding}: save the file as "CSV UTF-8" and try again, or say its encoding`
  return invalidFile(message, details)
}
