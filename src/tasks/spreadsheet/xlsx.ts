import type { Findings } from './encoding.ts'
import type { OpenSource } from './source.ts'
import type { TableRow } from './table.ts'
import { sheetRows } from './workbook.ts'
import { workbookBytes } from './workbook-writer.ts'
import { damaged, openZip } from './zip-check.ts'

/**
 * Yields the rows of one sheet of a workbook, and reads it only as fast as they are used. Closes the source at the end. The
 * source must be a file or bytes, because the table of contents of a zip archive is at its end.
 * @throws HighkiqError INVALID_FILE; whatever a given stream fails with.
 */
export async function* xlsxRecords(
  source: OpenSource,
  sheet: string | number | undefined,
  found: Findings = {},
): AsyncGenerator<TableRow[], void, void> {
  try {
    const zip = await openZip(source.bytes ?? (source.path as string))
    try {
      const problem = yield* sheetRows(zip, sheet, found)
      if (problem) throw problem
    } catch (error) {
      throw damaged(error)
    } finally {
      zip.close()
    }
  } finally {
    await source.close()
  }
}

/** Yields rows, the header first, as a workbook whose header stays in view when scrolling. */
export function xlsxBytes(rows: AsyncIterable<unknown[]>): AsyncGenerator<Uint8Array, void, void> {
  return gathered(workbookBytes(rows))
}

const PIECE_BYTES = 64 * 1024

/** Joins chunks of a few bytes to pieces of at least 64 KiB. */
async function* gathered(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, void> {
  let bits: Uint8Array[] = []
  let length = 0
  for await (const bit of bytes) {
    bits.push(bit)
    length += bit.length
    if (length < PIECE_BYTES) continue
    yield Buffer.concat(bits)
    bits = []
    length = 0
  }
  if (length > 0) yield Buffer.concat(bits)
}
