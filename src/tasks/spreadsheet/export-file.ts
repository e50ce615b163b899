/** Writes pages of rows as one file. */

import { HighkiqError, invalidOption } from '../../job/errors.ts'
import { checkFormat, type FileFormat } from './format.ts'
import { ndjsonBytes, streamed, streamOf } from './write.ts'

/** A row of an export: its fields by name, or in the order of `columns`. */
export type ExportRow = Readonly<Record<string, unknown>> | readonly unknown[]

export interface ExportFile {
  format: FileFormat
  /** The fields and their order. Default: those of the first row; no other row may have more. */
  columns?: readonly string[]
}

type Pages = AsyncIterable<Iterable<ExportRow> | AsyncIterable<ExportRow>> | Iterable<Iterable<ExportRow>>

/**
 * Returns the rows of all pages, in order, as a file that is produced while it is read. A page is read when all pages
 * before it are written. Rows beyond the limit of an Excel sheet (1,048,576 with the header) go to another sheet with
 * the same header. Cancelling the stream ends the pages.
 * @throws INVALID_OPTION; the stream fails with REPORT_FAILED, and with whatever the pages throw
 */
export function exportStream(pages: Pages, { format, columns }: ExportFile): ReadableStream<Uint8Array> {
  checkFormat(format)
  if (columns && (columns.length === 0 || new Set(columns).size !== columns.length)) {
    throw invalidOption(`columns must name at least one field, each once (got ${JSON.stringify(columns)})`)
  }
  if (columns) return streamOf(format, { header: [...columns], rows: withColumns(pages, columns) })
  if (format === 'ndjson') return streamed(ndjsonBytes(objects(pages)))
  const header: string[] = []
  return streamOf(format, { header, rows: withFirstFields(pages, header) })
}

async function* withColumns(pages: Pages, columns: readonly string[]): AsyncGenerator<unknown[], void, void> {
  for await (const page of pages) {
    for await (const row of page) yield isList(row) ? [...row] : columns.map((name) => row[name])
  }
}

/** Yields rows with the fields of the first one, which become the header. */
async function* withFirstFields(pages: Pages, header: string[]): AsyncGenerator<unknown[], void, void> {
  const known = new Set<string>()
  for await (const row of objects(pages)) {
    if (known.size === 0) {
      for (const name of Object.keys(row)) known.add(name)
      header.push(...known)
    }
    refuseOtherFields(row, known)
    yield header.map((name) => row[name])
  }
}

async function* objects(pages: Pages): AsyncGenerator<Readonly<Record<string, unknown>>, void, void> {
  for await (const page of pages) {
    for await (const row of page) {
      if (isList(row)) throw new HighkiqError('REPORT_FAILED', 'a row is a list: name its fields in columns')
      yield row
    }
  }
}

const isList = (row: ExportRow): row is readonly unknown[] => Array.isArray(row)

function refuseOtherFields(row: Readonly<Record<string, unknown>>, known: Set<string>): void {
  for (const name of Object.keys(row)) {
    if (known.has(name)) continue
    const message = `a row has a field ${JSON.stringify(name)}, which the first row does not have: name all fields in columns`
    throw new HighkiqError('REPORT_FAILED', message, { field: name })
  }
}
