/**
 * Tables in files, read and written row by row: CSV and XLSX behind one interface.
 */
import { randomUUID } from 'node:crypto'
import { rename, rm } from 'node:fs/promises'
import { extname } from 'node:path'
import { HighkiqError, messageOf } from '../../job/errors.ts'
import { csvRecords, writeCsv } from './csv.ts'
import { type OpenSource, openSource, type Source } from './source.ts'
import { type Sheet, type SheetRow, sheetOf } from './table.ts'
import { writeXlsx, xlsxRecords } from './xlsx.ts'

export type { Source } from './source.ts'
export type { Sheet, SheetRow } from './table.ts'

export type SheetFormat = 'csv' | 'xlsx'

export interface ReadSheetOptions {
  /** Default: by the file's ending, else by its first bytes. */
  format?: SheetFormat
  /** Default 1,000,000, the header not counted. */
  maxRows?: number
  /** XLSX: the sheet's name, or its index from 0. Default: the first that is not hidden. */
  sheet?: string | number
  /** CSV: one character. Default: whichever of , ; tab | the header line has most of. */
  delimiter?: string
}

/**
 * Opens a table and reads its header. Then either iterate `rows` or call `close()`.
 *
 * CSV values are strings, exactly as they stand. XLSX values are numbers, booleans and strings; a date is
 * 'YYYY-MM-DD', or 'YYYY-MM-DDTHH:mm:ss' when it has a time part, and a time without a date 'HH:mm:ss'; a formula is
 * its last result and an error is its text ('#N/A'). Rows in which nothing stands are skipped.
 *
 * @throws HighkiqError INVALID_FILE, also while iterating; TOO_MANY_ROWS while iterating, after `maxRows` rows.
 *   `details.row` and `details.column` say where, when that is known. A few rows just before a broken one may not come.
 * @example
 * const sheet = await readSheet('prices.csv')
 * for await (const { number, values } of sheet.rows) console.log(number, values)
 */
export async function readSheet(source: Source, options: ReadSheetOptions = {}): Promise<Sheet> {
  const opened = await openSource(source)
  let records: AsyncGenerator<SheetRow, void, void>
  try {
    const format = checkedFormat(opened, options.format)
    records = format === 'csv' ? csvRecords(opened, options.delimiter) : xlsxRecords(opened, options.sheet)
  } catch (error) {
    opened.close()
    throw error
  }
  return sheetOf(records, options.maxRows ?? 1_000_000)
}

const ENDINGS: Record<string, SheetFormat> = {
  '.csv': 'csv',
  '.tsv': 'csv',
  '.tab': 'csv',
  '.txt': 'csv',
  '.xlsx': 'xlsx',
  '.xlsm': 'xlsx',
}

const formatByEnding = (path: string): SheetFormat | undefined => ENDINGS[extname(path).toLowerCase()]

/** The format of the file, once its first bytes agree with what it is said to be. */
function checkedFormat({ head, path }: OpenSource, given: SheetFormat | undefined): SheetFormat {
  const said = given ?? (path === undefined ? undefined : formatByEnding(path))
  const how = given === undefined ? 'its ending says' : 'the option format says'
  const magic = Buffer.from(head.subarray(0, 4)).toString('hex')
  if (head.length === 0) {
    throw new HighkiqError('INVALID_FILE', 'the file is empty: it needs a header row with the names of the columns')
  }
  if (magic === 'd0cf11e0') {
    const message =
      'the file is a password-protected workbook or one of the old .xls kind: open it in Excel and save it as .xlsx without a password'
    throw new HighkiqError('INVALID_FILE', message)
  }
  // The second is the magic number of a zip archive with nothing in it.
  const isZip = magic === '504b0304' || magic === '504b0506'
  if (said === 'csv' && isZip) {
    const message = `${how} CSV, but the file is a zip archive, probably an Excel workbook: rename it to .xlsx, or save it as CSV`
    throw new HighkiqError('INVALID_FILE', message)
  }
  if (said === 'xlsx' && !isZip) {
    const message = `${how} XLSX, but the file is not a workbook, probably text: rename it to .csv, or save it as .xlsx`
    throw new HighkiqError('INVALID_FILE', message)
  }
  return said ?? (isZip ? 'xlsx' : 'csv')
}

export interface SheetContent {
  header: string[]
  /** Cells: string, number, bigint, boolean, Date (in UTC), null or undefined for nothing; anything else as JSON. */
  rows: Iterable<unknown[]> | AsyncIterable<unknown[]>
  /** Default: by the ending of the target. */
  format?: SheetFormat
}

/**
 * Writes a table, taking the rows one by one as fast as the disk does. The file has its name only when it is complete:
 * until then it is `<target>.<uuid>.part` beside it, which is removed if anything fails.
 *
 * CSV is UTF-8 with byte order mark, CRLF, and a text that a spreadsheet would take for a formula gets an apostrophe in
 * front. XLSX texts are text cells, never formulas; more rows than fit on a sheet go on to a second one.
 *
 * @throws HighkiqError REPORT_FAILED when the file can't be written; whatever `rows` throws.
 */
export async function writeSheet(target: string, content: SheetContent): Promise<{ rows: number }> {
  const format = content.format ?? formatByEnding(target)
  if (format === undefined) {
    const message = `the ending of ${JSON.stringify(target)} is neither .csv nor .xlsx: use one of them, or say the format`
    throw new HighkiqError('REPORT_FAILED', message)
  }
  const part = `${target}.${randomUUID()}.part`
  const source: Progress = { rows: 0, failed: false, stopped: false }
  const records = checkedRecords(content, source)
  try {
    await (format === 'csv' ? writeCsv : writeXlsx)(part, records)
    await rename(part, target)
  } catch (error) {
    source.stopped = true
    await rm(part, { force: true }).catch(() => {})
    if (source.failed || error instanceof HighkiqError) throw error
    const message = `${JSON.stringify(target)} can't be written (${messageOf(error)}): check the folder, its rights and its free space`
    throw new HighkiqError('REPORT_FAILED', message, undefined, { cause: error })
  }
  return { rows: source.rows }
}

interface Progress {
  rows: number
  /** The given rows threw. */
  failed: boolean
  /** Nobody wants more rows. */
  stopped: boolean
}

/** Header and rows, each row as long as the header. */
async function* checkedRecords({ header, rows }: SheetContent, progress: Progress) {
  yield header as unknown[]
  try {
    for await (const row of rows) {
      // After a failed write hucre goes on taking rows until it has 64 KiB of them.
      if (progress.stopped) return
      progress.rows++
      if (row.length > header.length) {
        const at = `row ${progress.rows + 1}`
        const message = `${at} has ${row.length} cells, but the header has ${header.length}: name every column`
        throw new HighkiqError('REPORT_FAILED', message, { row: progress.rows + 1 })
      }
      yield row.length === header.length ? row : [...row, ...new Array(header.length - row.length).fill(null)]
    }
  } catch (error) {
    progress.failed = true
    throw error
  }
}
