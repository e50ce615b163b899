import { defused } from './armed.ts'
import { cellText } from './cell-text.ts'

const CHUNK_CHARS = 64 * 1024

/** Rows, the header first, as CSV: UTF-8 with byte order mark, CRLF. */
export async function* csvBytes(rows: AsyncIterable<unknown[]>): AsyncGenerator<Uint8Array, void, void> {
  let text = '\uFEFF'
  for await (const row of rows) {
    for (let i = 0; i < row.length; i++) text += (i === 0 ? '' : ',') + quoted(defused(cellText(row[i])))
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
