/**
 * Reads and writes tables in CSV and XLSX files, row by row.
 */
import { randomUUID } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { HighkiqError, messageOf } from '../../job/errors.ts'
import { MAX_ROWS, openChecked, type ReadFileOptions, recordsOf } from './file.ts'
import { type FileFormat, formatByEnding, type TableFormat } from './format.ts'
import type { Source } from './source.ts'
import { readTable, type Table } from './table.ts'
import { bytesOf, type Progress, type TableContent } from './write.ts'

export type { FileFormat, TableFormat as SheetFormat } from './format.ts'
export type { Source } from './source.ts'
export type { Table as Sheet, TableRow as SheetRow } from './table.ts'
export type { TableContent as SheetContent } from './write.ts'

export interface ReadSpreadsheetOptions extends ReadFileOptions {
  format?: TableFormat
}

/**
 * Opens a table and reads its header. Then either iterate `rows` or call `close()`.
 *
 * CSV values are strings, exactly as they stand. XLSX values are numbers, booleans and strings; a date is
 * 'YYYY-MM-DD', or 'YYYY-MM-DDTHH:mm:ss' when it has a time part, and a time without a date 'HH:mm:ss'; a formula is
 * its last result and an error is its text ('#N/A'). Empty rows are skipped.
 *
 * @throws HighkiqError INVALID_FILE, also while iterating; TOO_MANY_ROWS while iterating, after `maxRows` rows.
 *   `details.row` and `details.column` say where, when that is known.
 * @example
 * const sheet = await readSpreadsheet('prices.csv')
 * for await (const { number, values } of sheet.rows) console.log(number, values)
 */
export async function readSpreadsheet(source: Source, options: ReadSpreadsheetOptions = {}): Promise<Table> {
  const { format, opened } = await openChecked(source, options)
  if (format !== 'ndjson') return readTable(recordsOf(opened, format, options), { maxRows: MAX_ROWS, ...options })
  await opened.close()
  throw new HighkiqError('INVALID_FILE', 'the file is NDJSON, which has no header: save it as CSV or XLSX')
}

/**
 * Writes a table and reads the rows only as fast as the disk writes them. The file gets its name when it is complete;
 * until then it is `<target>.<uuid>.part` beside it, which is removed after an error.
 *
 * `format`: default by the ending of the target. CSV is UTF-8 with byte order mark, CRLF, and a text that a spreadsheet would take for a formula gets an apostrophe in
 * front. XLSX texts are text cells, never formulas; more rows than fit on a sheet go on to a second one.
 *
 * @throws HighkiqError REPORT_FAILED when the file can't be written; whatever `rows` throws.
 */
export async function writeSpreadsheet(
  target: string,
  content: TableContent & { format?: FileFormat },
): Promise<{ rows: number }> {
  const format = content.format ?? formatByEnding(target)
  if (format === undefined) {
    const message = `the ending of ${JSON.stringify(target)} is none of .csv, .xlsx and .ndjson: use one of them, or say the format`
    throw new HighkiqError('REPORT_FAILED', message)
  }
  const part = `${target}.${randomUUID()}.part`
  const progress: Progress = { rows: 0, failed: false, stopped: false }
  try {
    await pipeline(bytesOf(format, content, progress), createWriteStream(part, { flush: true }))
    await rename(part, target)
  } catch (error) {
    progress.stopped = true
    await rm(part, { force: true }).catch(() => {})
    if (progress.failed || error instanceof HighkiqError) throw error
    const message = `${JSON.stringify(target)} can't be written (${messageOf(error)}): check the folder, its rights and its free space`
    throw new HighkiqError('REPORT_FAILED', message, undefined, { cause: error })
  }
  return { rows: progress.rows }
}
