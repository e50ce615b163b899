/** Reads CSV, XLSX and NDJSON files as rows, each an object. */

import { setProtoField } from './cell-text.ts'
import { csvRecords } from './csv.ts'
import type { Findings } from './encoding.ts'
import { checkedFormat, type FileFormat } from './format.ts'
import { unescapeFormula } from './formula-injection.ts'
import { ndjsonRows } from './ndjson.ts'
import { type OpenSource, openSource, type Source } from './source.ts'
import { digestOf, spooled } from './spool.ts'
import { type FileRow, readTable, type TableRow, type TableRules } from './table.ts'
import { xlsxRecords } from './xlsx.ts'

export type { FileFormat, FileRow }

export interface ReadFileOptions {
  /** Default: the file's ending, else its first bytes. */
  format?: FileFormat
  /** The most rows below the header. Default: 1,000,000. */
  maxRows?: number
  /** XLSX: the sheet's name, or its index from 0. Default: the first that is not hidden. */
  sheet?: string | number
  /** CSV: one character. Default: what the first line says (`sep=;`), else whichever of , ; tab | the header has most of. */
  delimiter?: string
  /**
   * CSV and NDJSON: any label that `TextDecoder` knows, for instance `windows-1252`. Default: UTF-8, UTF-16, or the
   * encoding in which the text reads well. When several are possible, the file is refused.
   */
  encoding?: string
  /** CSV and XLSX: the row that holds the names of the columns, from 1. Default: the first that is not blank. */
  headerRow?: number
  /** CSV: false if a quote is a character like any other, as in plain TSV. Default true. */
  quote?: boolean
  /** The folder for a workbook that comes as a stream. Default: the system's folder for temporary files. */
  artifacts?: string
}

export interface OpenFile {
  format: FileFormat
  /** The names of the columns; undefined for NDJSON, each row of which has its own. */
  header: string[] | undefined
  /**
   * Can be iterated once; ending or leaving the loop closes the file. CSV values are strings, exactly as they stand. XLSX
   * values are numbers, booleans and strings; a date is 'YYYY-MM-DD', or 'YYYY-MM-DDTHH:mm:ss' when it has a time part, and
   * a time without a date 'HH:mm:ss'; a formula is its last result and an error is its text ('#N/A'). Empty rows are skipped.
   */
  rows: AsyncGenerator<FileRow, void, void>
  /** Returns the SHA-256 of the file in hex; undefined for a stream that is not stored. */
  digest(): Promise<string | undefined>
  /** Returns the encoding of the text read so far; undefined for a workbook. */
  encoding(): string | undefined
  /** Returns which part of the file is read: the delimiter of a CSV file, the sheet of a workbook and all of its sheets. */
  layout(): Pick<Findings, 'delimiter' | 'sheet' | 'sheets'>
  /** Closes the file if `rows` is not iterated. Harmless afterwards. */
  close(): Promise<void>
}

const MAX_ROWS = 1_000_000

/**
 * Opens a file and reads its header. `names` renames the columns in order; `chosen` selects columns, and the others may
 * hold anything. `likely` is the encoding to use if several are possible. `isReport`: the names of the columns are escaped as a
 * report in CSV has them.
 * @throws INVALID_FILE, INVALID_OPTION; while iterating INVALID_FILE and TOO_MANY_ROWS
 */
export async function openFile(
  source: Source,
  options: ReadFileOptions = {},
  {
    likely,
    isReport = false,
    ...columns
  }: Pick<TableRules, 'names' | 'chosen'> & { likely?: string | undefined; isReport?: boolean } = {},
): Promise<OpenFile> {
  const { format, opened } = await openChecked(source, options)
  const { maxRows = MAX_ROWS, encoding, headerRow, sheet } = options
  const found: Findings = {}
  const about = { format, digest: () => digestOf(opened), encoding: () => found.encoding, layout: () => found }
  if (format === 'ndjson') {
    const lines = ndjsonRows(opened, { maxRows, found, likely, ...(encoding === undefined ? {} : { encoding }) })
    // Reads the first lines, so that a file in another format is refused at once.
    const first = await lines.next()
    const close = async () => void (await lines.return())
    return { ...about, header: undefined, rows: objects(first.done ? [] : first.value, lines), close }
  }
  const records =
    format === 'xlsx' ? xlsxRecords(opened, sheet, found) : csvRecords(opened, { ...options, found, likely })
  const nameOf = isReport && format === 'csv' ? unescapeFormula : undefined
  const { header, rows, close } = await readTable(records, { maxRows, headerRow, nameOf, ...columns })
  return { ...about, header, rows: named(rows, header), close }
}

/** Opens the bytes of a file, on disk if its format must be read from the end. The caller closes them. */
async function openChecked(
  source: Source,
  { format: given, artifacts }: ReadFileOptions,
): Promise<{ format: FileFormat; opened: OpenSource }> {
  const opened = await openSource(source)
  try {
    const format = checkedFormat(opened, given)
    return { format, opened: format === 'xlsx' ? await spooled(opened, artifacts) : opened }
  } catch (error) {
    await opened.close()
    throw error
  }
}

async function* objects(first: FileRow[], rest: ReturnType<typeof ndjsonRows>): AsyncGenerator<FileRow, void, void> {
  try {
    yield* first
    for await (const batch of rest) yield* batch
  } finally {
    await rest.return()
  }
}

async function* named(rows: AsyncIterable<TableRow>, header: readonly string[]): AsyncGenerator<FileRow, void, void> {
  const proto = header.indexOf('__proto__')
  for await (const { number, values } of rows) {
    const row: Record<string, unknown> = {}
    for (let i = 0; i < header.length; i++) row[header[i] as string] = values[i]
    if (proto !== -1) setProtoField(row, values[proto])
    yield { number, values: row }
  }
}
