/** Rows as the bytes of a file, made as they are taken. */

import { HighkiqError } from '../../job/errors.ts'
import { stringifyJson } from '../../job/json.ts'
import { cellText } from './cell-text.ts'
import type { FileFormat } from './format.ts'
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

/** How far the writing has come, and why it ended. */
export interface Progress {
  rows: number
  /** The given rows threw. */
  failed: boolean
  /** Nobody wants more rows. */
  stopped: boolean
}

/** The file piece by piece; `rows` are taken only as fast as it is. @throws REPORT_FAILED; whatever `rows` throws */
export function bytesOf(
  format: FileFormat,
  content: TableContent,
  progress: Progress = { rows: 0, failed: false, stopped: false },
): AsyncGenerator<Uint8Array, void, void> {
  const rows = checkedRows(content, progress)
  if (format === 'ndjson') return ndjsonBytes(named(content.header, rows))
  return format === 'csv' ? csvBytes(withHeader(content.header, rows)) : xlsxBytes(withHeader(content.header, rows))
}

/** As `bytesOf`; cancelling the stream ends the rows. */
export function streamOf(format: FileFormat, content: TableContent): ReadableStream<Uint8Array> {
  const progress: Progress = { rows: 0, failed: false, stopped: false }
  return streamed(bytesOf(format, content, progress), () => {
    progress.stopped = true
  })
}

/** Bytes as a stream that takes them as they are read. */
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

/** Objects as NDJSON. */
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
  for await (const values of rows) {
    const object: Record<string, unknown> = {}
    for (let i = 0; i < header.length; i++) if (values[i] !== undefined) object[header[i] as string] = values[i]
    // An assignment to `__proto__` would not keep the value.
    const proto = header.indexOf('__proto__')
    const entries = () => header.map((name, i) => [name, values[i]]).filter(([, value]) => value !== undefined)
    yield proto === -1 ? object : Object.fromEntries(entries())
  }
}

/** The header is read when the first row is there, for it may be learnt from that. */
async function* withHeader(header: unknown[], rows: AsyncIterable<unknown[]>): AsyncGenerator<unknown[], void, void> {
  let begun = false
  for await (const row of rows) {
    if (!begun) yield [...header]
    begun = true
    yield row
  }
  if (!begun) yield [...header]
}

/** Each row as long as the header. */
async function* checkedRows({ header, rows }: TableContent, progress: Progress): AsyncGenerator<unknown[], void, void> {
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
      yield row.length === header.length ? row : [...row, ...new Array(header.length - row.length).fill(undefined)]
    }
  } catch (error) {
    progress.failed = true
    throw error
  }
}

/** Rows, the header first, as CSV: UTF-8 with byte order mark, CRLF. */
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
