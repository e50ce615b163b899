/** Pages of rows as one file. */

import { HighkiqError } from '../../job/errors.ts'
import { checkFormat, type FileFormat } from './format.ts'
import { ndjsonBytes, streamed, streamOf } from './write.ts'

/** A row of an export: its fields by name, or in the order of `columns`. */
export type ExportRow = Readonly<Record<string, unknown>> | readonly unknown[]

export interface ExportFile {
  format: FileFormat
  /** Which fields, in which order; default those of the first row, which every other one must keep to. */
  columns?: readonly string[]
}

type Pages = AsyncIterable<Iterable<ExportRow> | AsyncIterable<ExportRow>> | Iterable<Iterable<ExportRow>>

/**
 * The rows of all pages, in order, as a file that is made while it is read: a page is taken when the ones before it are
 * in the file. More rows than a sheet of Excel holds (1,048,576 with the header) go on to another one with the same
 * header. Cancelling the stream ends the pages.
 * @throws INVALID_OPTION; the stream fails with REPORT_FAILED, and with whatever the pages throw
 */
export function exportStream(pages: Pages, { format, columns }: ExportFile): ReadableStream<Uint8Array> {
  checkFormat(format)
  if (columns && (columns.length === 0 || new Set(columns).size !== columns.length)) {
    throw new HighkiqError('INVALID_OPTION', 'columns names at least one field, and none of them twice')
  }
  if (columns) return streamOf(format, { header: [...columns], rows: chosen(pages, columns) })
  if (format === 'ndjson') return streamed(ndjsonBytes(objects(pages)))
  const header: string[] = []
  return streamOf(format, { header, rows: alike(pages, header) })
}

async function* chosen(pages: Pages, columns: readonly string[]): AsyncGenerator<unknown[], void, void> {
  for await (const page of pages) {
    for await (const row of page) yield isList(row) ? [...row] : columns.map((name) => row[name])
  }
}

/** Rows with the fields of the first one, which become the header. */
async function* alike(pages: Pages, header: string[]): AsyncGenerator<unknown[], void, void> {
  const known = new Set<string>()
  for await (const row of objects(pages)) {
    if (known.size === 0) {
      for (const name of Object.keys(row)) known.add(name)
      header.push(...known)
    }
    refuseOthers(row, known)
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

function refuseOthers(row: Readonly<Record<string, unknown>>, known: Set<string>): void {
  for (const name of Object.keys(row)) {
    if (known.has(name)) continue
    const message = `a row has a field ${JSON.stringify(name)}, which the first row does not have: name all fields in columns`
    throw new HighkiqError('REPORT_FAILED', message, { field: name })
  }
}
