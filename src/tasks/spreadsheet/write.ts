/** Writes rows as a file or as a stream of its bytes, produced while the rows are read. */

import { randomUUID } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { HighkiqError, messageOf } from '../../job/errors.ts'
import { stringifyJson } from '../../job/json.ts'
import { cellText, setProtoField } from './cell-text.ts'
import { type FileFormat, formatByEnding } from './format.ts'
import { escapeFormula } from './formula-injection.ts'
import { xlsxBytes } from './xlsx.ts'

export interface TableContent {
  header: string[]
  /**
   * Cells: string, number, bigint, boolean, Date (in UTC), null or undefined for nothing; anything else as JSON. In
   * NDJSON a cell that is undefined is left out.
   */
  rows: Iterable<unknown[]> | AsyncIterable<unknown[]>
}

/** The progress of writing, and why it ended. */
interface Progress {
  rows: number
  /** Whether reading the rows threw an error. */
  failed: boolean
  /** Whether no more rows are needed. */
  stopped: boolean
}

/** Yields the file piece by piece and reads `rows` only as fast. @throws REPORT_FAILED; errors of `rows` */
function bytesOf(
  format: FileFormat,
  content: TableContent,
  progress: Progress,
): AsyncGenerator<Uint8Array, void, void> {
  if (format === 'ndjson') return ndjsonBytes(named(content.header, checkedRows(content, progress)))
  const rows = checkedRows(content, progress, true)
  return format === 'csv' ? csvBytes(rows) : xlsxBytes(rows)
}

/**
 * Writes a table and reads the rows only as fast as the disk writes them. The file gets its name when it is complete;
 * until then it is `<target>.<uuid>.part` beside it, which is removed after an error.
 *
 * Without `format` the ending of the target decides. CSV is UTF-8 with byte order mark and CRLF, and a text that a
 * spreadsheet would run as a formula gets an apostrophe in front. XLSX texts are text cells, never formulas; rows that do
 * not fit on a sheet go to a second one.
 *
 * @throws HighkiqError REPORT_FAILED when the file can't be written; whatever `rows` throws.
 */
export async function writeSpreadsheet(
  target: string,
  content: TableContent & { format?: FileFormat },
): Promise<{ rows: number }> {
  const format = content.format ?? formatByEnding(target)
  if (format === undefined) {
    const message = `the ending of ${JSON.stringify(target)} is none of .csv, .xlsx and .ndjson: use one of them, or set format`
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

/** Returns the file as a stream. Cancelling the stream ends the rows. */
export function streamOf(format: FileFormat, content: TableContent): ReadableStream<Uint8Array> {
  const progress: Progress = { rows: 0, failed: false, stopped: false }
  return streamed(bytesOf(format, content, progress), () => {
    progress.stopped = true
  })
}

/** Returns a stream that produces the bytes while it is read. */
export function streamed(bytes: AsyncGenerator<Uint8Array, void, void>, onCancel?: () => void) {
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const next = await bytes.next()
        if (next.done) controller.close()
        else controller.enqueue(next.value)
      },
      async cancel() {
        onCancel?.()
        await bytes.return()
      },
    },
    { highWaterMark: 0 },
  )
}

const CHUNK_CHARS = 64 * 1024

/** Yields objects as NDJSON. */
export async function* ndjsonBytes(objects: AsyncIterable<object>): AsyncGenerator<Uint8Array, void, void> {
  let text = ''
  for await (const object of objects) {
    text += `${stringifyJson(object)}\n`
    if (text.length < CHUNK_CHARS) continue
    yield Buffer.from(text)
    text = ''
  }
  if (text !== '') yield Buffer.from(text)
}

async function* named(header: readonly string[], rows: AsyncIterable<unknown[]>): AsyncGenerator<object, void, void> {
  const proto = header.indexOf('__proto__')
  for await (const values of rows) {
    const object: Record<string, unknown> = {}
    for (let i = 0; i < header.length; i++) {
      if (values[i] === undefined) continue
      if (i === proto) setProtoField(object, values[i])
      else object[header[i] as string] = values[i]
    }
    yield object
  }
}

/** Yields the rows, padded to the length of the header. */
async function* checkedRows(
  { header, rows }: TableContent,
  progress: Progress,
  withHeader = false,
): AsyncGenerator<unknown[], void, void> {
  try {
    for await (const row of rows) {
      // After a failed write a piece of the file may still be made of further rows.
      if (progress.stopped) return
      progress.rows++
      if (row.length > header.length) {
        const at = `row ${progress.rows + 1}`
        const message = `${at} has ${row.length} cells, but the header has ${header.length}: name every column`
        throw new HighkiqError('REPORT_FAILED', message, { row: progress.rows + 1 })
      }
      // The first row may set the header.
      if (withHeader && progress.rows === 1) yield [...header]
      yield row.length === header.length ? row : [...row, ...new Array(header.length - row.length).fill(undefined)]
    }
    if (withHeader && progress.rows === 0) yield [...header]
  } catch (error) {
    progress.failed = true
    throw error
  }
}

/** Yields rows, the header first, as CSV: UTF-8 with byte order mark and CRLF. */
async function* csvBytes(rows: AsyncIterable<unknown[]>): AsyncGenerator<Uint8Array, void, void> {
  let text = '\uFEFF'
  for await (const row of rows) {
    for (let i = 0; i < row.length; i++) text += (i === 0 ? '' : ',') + quoted(escapeFormula(cellText(row[i])))
    text += '\r\n'
    if (text.length < CHUNK_CHARS) continue
    yield Buffer.from(text)
    text = ''
  }
  if (text !== '') yield Buffer.from(text)
}

function quoted(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
