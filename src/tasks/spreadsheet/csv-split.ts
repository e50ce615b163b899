import { type HighkiqError, invalidFile } from '../../job/errors.ts'
import { columnLetters, type TableRow } from './table.ts'

// A row this long is a quote that was never closed; without a limit the rest of the file would go into memory.
const MAX_ROW_CHARS = 16 * 1024 ** 2

// An incomplete row longer than this is searched again only when its length has doubled.
const LONG_ROW_CHARS = 64 * 1024

/**
 * Splits CSV text, piece by piece, into records; a blank line is ['']. Lines end with CR LF, LF or CR, also mixed.
 *
 * Written for speed: a row without quotes, as nearly all are, costs one search for its end and one `split`.
 */
export class CsvSplitter {
  /** The fault of a row; no rows come after it. */
  problem: HighkiqError | undefined
  /** The number of records so far. */
  count = 0
  readonly #delimiter: string
  readonly #quotes: boolean
  /** The start of an incomplete row. */
  #rest = ''
  #pieces: string[] = []
  #waiting = 0

  /** With `quotes: false` a quote is a character like any other. */
  constructor(delimiter: string, quotes = true) {
    this.#delimiter = delimiter
    this.#quotes = quotes
  }

  /** Returns the records that are complete now. `last` marks the last piece. */
  split(piece: string, last = false): TableRow[] {
    this.#pieces.push(piece)
    this.#waiting += piece.length
    if (!last && this.#rest.length > LONG_ROW_CHARS && this.#waiting < this.#rest.length) return []
    const text = this.#rest + this.#pieces.join('')
    this.#pieces = []
    this.#waiting = 0
    const rows: TableRow[] = []
    const at = this.#records(text, last, rows)
    this.#rest = text.slice(at)
    if (!this.problem && this.#rest.length > MAX_ROW_CHARS) {
      this.#fail(
        this.unfinishedColumn,
        'long-row',
        'the row is longer than 16 MiB, probably a quote (") that is not closed: close it',
      )
    }
    return rows
  }

  /** The index of the column in which the text ended. */
  get unfinishedColumn(): number {
    let column = 0
    let quoted = false
    for (const char of this.#rest + this.#pieces.join('')) {
      if (char === '"' && this.#quotes) quoted = !quoted
      else if (!quoted && char === this.#delimiter) column++
    }
    return column
  }

  /** @returns where the first incomplete record starts */
  #records(text: string, last: boolean, rows: TableRow[]): number {
    const { length } = text
    let lf = text.indexOf('\n')
    let cr = text.indexOf('\r')
    let quote = this.#quotes ? text.indexOf('"') : -1
    let at = 0
    while (at < length) {
      if (lf !== -1 && lf < at) lf = text.indexOf('\n', at)
      if (cr !== -1 && cr < at) cr = text.indexOf('\r', at)
      if (quote !== -1 && quote < at) quote = text.indexOf('"', at)
      const end = lf === -1 ? cr : cr === -1 || lf < cr ? lf : cr
      const values: string[] = []
      let stop: number
      if (quote !== -1 && (end === -1 || quote < end)) {
        stop = this.#quoted(text, at, last, values)
        if (stop === -1) return at
      } else {
        if (end === -1 && !last) return at
        stop = end === -1 ? length : end
        // Its LF may be in the next piece.
        if (end === cr && end === length - 1 && !last) return at
        rows.push({ number: ++this.count, values: text.slice(at, stop).split(this.#delimiter) })
        at = stop + (text.charCodeAt(stop) === 13 && text.charCodeAt(stop + 1) === 10 ? 2 : 1)
        continue
      }
      rows.push({ number: ++this.count, values })
      at = stop
    }
    return length
  }

  /** Reads a record with quotes. @returns where the next one starts; -1 if this one is incomplete or wrong */
  #quoted(text: string, start: number, last: boolean, values: string[]): number {
    const { length } = text
    const delimiter = this.#delimiter
    // The positions of the next line breaks, searched again only once they are passed.
    let lf = -1
    let cr = -1
    for (let at = start; ; ) {
      if (text[at] !== '"') {
        if (lf < at) lf = indexOr(text.indexOf('\n', at), length)
        if (cr < at) cr = indexOr(text.indexOf('\r', at), length)
        const stop = Math.min(lf, cr, indexOr(text.indexOf(delimiter, at), length))
        const cell = text.slice(at, stop)
        if (cell.includes('"')) {
          const message =
            'a quote (") is in the middle of a cell: put the whole cell into quotes and write "" for the one inside'
          return this.#fail(values.length, 'quote-inside', message)
        }
        values.push(cell)
        at = stop
      } else {
        const close = closingQuote(text, at + 1)
        // A quote that ends the piece may be the first half of a doubled one.
        if (close === -1 || (close === length - 1 && !last)) {
          if (!last) return -1
          return this.#fail(
            values.length,
            'quote-open',
            'a quote (") is opened and never closed: close it, or write "" for a quote inside a cell',
          )
        }
        const cell = text.slice(at + 1, close)
        values.push(cell.includes('"') ? cell.replaceAll('""', '"') : cell)
        at = close + 1
        const next = text[at]
        if (next !== undefined && next !== delimiter && next !== '\n' && next !== '\r') {
          const message =
            'after a closing quote (") only a delimiter or the end of the line may come: write "" for a quote inside a cell'
          return this.#fail(values.length - 1, 'text-after-quote', message)
        }
      }
      if (at >= length) return last ? length : -1
      if (text[at] === delimiter) {
        at++
        continue
      }
      if (text[at] === '\n') return at + 1
      if (at + 1 >= length && !last) return -1
      return text[at + 1] === '\n' ? at + 2 : at + 1
    }
  }

  #fail(index: number, problem: string, what: string): -1 {
    const row = this.count + 1
    const column = columnLetters(index)
    this.problem = invalidFile(`row ${row}, column ${column}: ${what}`, { problem, row, column })
    return -1
  }
}

function closingQuote(text: string, from: number): number {
  for (let at = text.indexOf('"', from); at !== -1; at = text.indexOf('"', at + 2)) {
    if (text[at + 1] !== '"') return at
  }
  return -1
}

const indexOr = (index: number, otherwise: number) => (index === -1 ? otherwise : index)
