import { createWriteStream } from 'node:fs'
import { Readable, pipeline as startPipeline } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { CsvError, parse } from 'csv-parse'
import { stringify } from 'csv-stringify'
import { HighkiqError } from '../../job/errors.ts'
import { dateText } from './date.ts'
import type { OpenSource } from './source.ts'
import { columnLetters, type SheetRow } from './table.ts'

const DELIMITERS = [',', ';', '\t', '|']

// A row this long is a quote that was never closed; without a limit the rest of the file would go into memory.
const MAX_ROW_BYTES = 16 * 1024 * 1024

// How far to look for the end of the header line.
const MAX_HEADER_CHARS = 1024 * 1024

/** What the decoder found wrong. It is ahead of the parser: the row is named when the parser gets there. */
interface Findings {
  invalid?: boolean
  nul?: boolean
}

/**
 * Every record of a CSV file, a blank line as [''], read as they are asked for. Closes the source at the end.
 * @throws HighkiqError INVALID_FILE with the row; whatever a given stream fails with.
 */
export async function* csvRecords(source: OpenSource, delimiter?: string): AsyncGenerator<SheetRow, void, void> {
  const found: Findings = {}
  let number = 0
  try {
    const text = decoded(source, found)
    const start = await headerText(text)
    const parser = parse({
      delimiter: delimiter ?? delimiterOf(start),
      // Named, because csv-parse otherwise takes the first line break that occurs for the only one.
      record_delimiter: ['\r\n', '\n', '\r'],
      relax_column_count: true,
      max_record_size: MAX_ROW_BYTES,
    })
    // Its errors come out of the parser; its callback is there because pipeline() insists on one.
    startPipeline(Readable.from(joined(start, text)), parser, () => {})
    for await (const values of parser as AsyncIterable<string[]>) {
      number++
      if (found.invalid || found.nul) checkText(values, number, found)
      yield { number, values }
    }
    // The text was cut at the bad byte, which no row showed.
    if (found.invalid) throw notUnicode(number + 1)
  } catch (error) {
    throw error instanceof CsvError ? readable(error, found) : error
  } finally {
    source.close()
  }
}

/** The bytes as text, by byte order mark or else as UTF-8. Ends after a piece with a byte that is wrong. */
async function* decoded(source: OpenSource, found: Findings): AsyncGenerator<string, void, void> {
  const encoding = encodingOf(source.head)
  const decoder = new TextDecoder(encoding, { fatal: true })
  let tail: Uint8Array = new Uint8Array()
  for await (const chunk of source.chunks()) {
    let text: string
    try {
      text = decoder.decode(chunk, { stream: true })
    } catch {
      found.invalid = true
      yield lenient(encoding, tail, chunk)
      return
    }
    if (text.includes('\0')) found.nul = true
    tail = chunk.subarray(-4)
    yield text
  }
  try {
    yield decoder.decode()
  } catch {
    found.invalid = true
    yield '\uFFFD'
  }
}

function encodingOf(head: Uint8Array): 'utf-8' | 'utf-16le' | 'utf-16be' {
  if (head[0] === 0xff && head[1] === 0xfe) return 'utf-16le'
  if (head[0] === 0xfe && head[1] === 0xff) return 'utf-16be'
  return 'utf-8'
}

/** The piece with U+FFFD for what is wrong. The end of the piece before completes a character cut in two. */
function lenient(encoding: string, tail: Uint8Array, chunk: Uint8Array): string {
  const decoder = new TextDecoder(encoding)
  decoder.decode(tail, { stream: true })
  return decoder.decode(chunk)
}

/** Takes text until the header line is complete. */
async function headerText(text: AsyncGenerator<string, void, void>): Promise<string> {
  let start = ''
  while (start.length < MAX_HEADER_CHARS && headerLine(start) === undefined) {
    const next = await text.next()
    if (next.done) break
    start += next.value
  }
  return start
}

/** The first line that is not blank, without what is in quotes; undefined while its end has not come. */
function headerLine(text: string): string | undefined {
  let line = ''
  let quoted = false
  for (const char of text) {
    if (char === '"') quoted = !quoted
    else if (quoted) continue
    else if (char !== '\n' && char !== '\r') line += char
    else if (line.trim() === '') line = ''
    else return line
  }
  return undefined
}

function delimiterOf(start: string): string {
  const line = headerLine(`${start}\n`) ?? start
  let best = ','
  let most = 0
  for (const delimiter of DELIMITERS) {
    const count = line.split(delimiter).length - 1
    if (count > most) {
      best = delimiter
      most = count
    }
  }
  return best
}

async function* joined(start: string, rest: AsyncIterable<string>): AsyncGenerator<string, void, void> {
  yield start
  yield* rest
}

function checkText(values: string[], row: number, found: Findings): void {
  for (const value of values) {
    if (value.includes('\0')) throw nulFound(row)
    if (found.invalid && value.includes('\uFFFD')) throw notUnicode(row)
  }
}

function notUnicode(row: number): HighkiqError {
  const message = `row ${row}: the text is not UTF-8: save the file as "CSV UTF-8" and try again`
  return new HighkiqError('INVALID_FILE', message, { row })
}

function nulFound(row: number): HighkiqError {
  const message = `row ${row}: there is a NUL character, so this is not a text file or its encoding is unknown: save it as "CSV UTF-8"`
  return new HighkiqError('INVALID_FILE', message, { row })
}

/** What csv-parse says, in words for whoever made the file. */
function readable(error: CsvError, found: Findings): HighkiqError {
  const row = Number(error.records) + 1
  if (found.invalid) return notUnicode(row)
  if (found.nul) return nulFound(row)
  const column = columnLetters(Number(error.column))
  const at = `row ${row}, column ${column}`
  const messages: Record<string, string> = {
    CSV_QUOTE_NOT_CLOSED: `${at}: a quote (") is opened and never closed: close it, or write "" for a quote inside a cell`,
    CSV_MAX_RECORD_SIZE: `${at}: the row is longer than 16 MiB, probably a quote (") that is not closed: close it`,
    CSV_INVALID_CLOSING_QUOTE: `${at}: after a closing quote (") only a delimiter or the end of the line may come: write "" for a quote inside a cell`,
    INVALID_OPENING_QUOTE: `${at}: a quote (") is in the middle of a cell: put the whole cell into quotes and write "" for the one inside`,
  }
  const message = messages[error.code] ?? `${at}: ${error.message.replace(/\s+/g, ' ')}`
  return new HighkiqError('INVALID_FILE', message, { row, column }, { cause: error })
}

/** Writes rows, the header first, as CSV. */
export async function writeCsv(path: string, rows: AsyncIterable<unknown[]>): Promise<void> {
  // With a record_delimiter of its own csv-stringify would leave a lone CR or LF in a cell unquoted.
  const stringifier = stringify({ bom: true, record_delimiter: '\r\n', quote_record_delimiter: true })
  await pipeline(texts(rows), stringifier, createWriteStream(path, { flush: true }))
}

async function* texts(rows: AsyncIterable<unknown[]>): AsyncGenerator<string[], void, void> {
  for await (const row of rows) yield row.map(cellText)
}

function cellText(value: unknown): string {
  if (typeof value === 'string') return defused(value)
  if (value === null || value === undefined) return ''
  if (value instanceof Date) return dateText(value)
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

/** A text that a spreadsheet would run as a formula gets an apostrophe in front; plain numbers stay. */
function defused(text: string): string {
  return /^[=+\-@\t\r]/.test(text) && !/^[+-](\d+([.,]\d+)?|[.,]\d+)(e[+-]?\d+)?$/i.test(text) ? `'${text}` : text
}
