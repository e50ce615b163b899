import { HighkiqError } from '../../job/errors.ts'

export interface SheetRow {
  /**
   * Which row of the file this is, from 1; the header is row 1 unless blank lines come before it. Rows that are skipped
   * because nothing is in them count too, so it is the number that Excel shows at the left. In a CSV file whose quoted
   * cells contain line breaks it is therefore not the line of a text editor: such a row is several lines there.
   */
  number: number
  /** One value for each name in the header; '' where the file has nothing. CSV: strings. XLSX: see `readSheet`. */
  values: unknown[]
}

export interface Sheet {
  /** The names of the columns, trimmed, each different. */
  header: string[]
  /** The rows below the header. Can be iterated once; ending or leaving the loop closes the file. */
  rows: AsyncIterable<SheetRow>
  /** Closes the file when `rows` is not iterated after all. Harmless after it was. */
  close(): Promise<void>
}

// As many as Excel has. More are never a table but a file with the wrong delimiter or worse.
const MAX_COLUMNS = 16_384

/**
 * The rules that every table keeps, whatever its format: makes a `Sheet` of the raw records, the first of which that is
 * not blank is the header. Takes over the records and closes them. `names`: what the columns are called instead.
 * @throws HighkiqError INVALID_FILE; while iterating INVALID_FILE and TOO_MANY_ROWS.
 */
export async function sheetOf(
  records: AsyncGenerator<SheetRow[], void, void>,
  maxRows: number,
  names?: readonly string[],
): Promise<Sheet> {
  let header: string[]
  let first: SheetRow[]
  try {
    first = await fromHeader(records)
    header = headerOf(first.shift() as SheetRow, names)
  } catch (error) {
    await records.return()
    throw error
  }
  const rows = dataRows(first, records, header, maxRows)
  return {
    header,
    rows,
    async close() {
      await rows.return()
      // A generator that was never started does not run its `finally`.
      await records.return()
    },
  }
}

/** The first batch with anything in it, from its header on. */
async function fromHeader(records: AsyncGenerator<SheetRow[], void, void>): Promise<SheetRow[]> {
  for (let next = await records.next(); !next.done; next = await records.next()) {
    const at = next.value.findIndex(({ values }) => values.some((value) => String(value).trim() !== ''))
    if (at !== -1) return next.value.slice(at)
  }
  throw new HighkiqError('INVALID_FILE', 'the file is empty: it needs a header row with the names of the columns')
}

async function* dataRows(
  first: SheetRow[],
  records: AsyncGenerator<SheetRow[], void, void>,
  header: string[],
  maxRows: number,
): AsyncGenerator<SheetRow, void, void> {
  let count = 0
  try {
    for (let batch = first; ; ) {
      for (const { number, values } of batch) {
        if (values.every((value) => value === '')) continue
        makeWhole(values)
        if (count >= maxRows) {
          const message = `row ${number}: the file has more than ${maxRows} rows: split it, or allow more with maxRows`
          throw new HighkiqError('TOO_MANY_ROWS', message, { row: number, maxRows })
        }
        count++
        yield { number, values: fitted(values, header.length, number) }
      }
      const next = await records.next()
      if (next.done) return
      batch = next.value
    }
  } finally {
    await records.return()
  }
}

/** A workbook's escapes can spell half of a surrogate pair, which is no character, and which no job may have. */
function makeWhole(values: unknown[]): void {
  for (let i = 0; i < values.length; i++) {
    const value = values[i]
    if (typeof value === 'string' && !value.isWellFormed()) values[i] = value.toWellFormed()
  }
}

/** The cells of a row, exactly as many as there are columns. */
function fitted(values: unknown[], columns: number, row: number): unknown[] {
  if (values.length === columns) return values
  while (values.length < columns) values.push('')
  const extra = values.findIndex((value, index) => index >= columns && value !== '')
  if (extra === -1) return values.slice(0, columns)
  const message =
    `row ${row}, column ${columnLetters(extra)}: there is a value, but the header names only ${columns} columns: ` +
    'give the column a name, or put quotes around a cell that contains the delimiter'
  throw new HighkiqError('INVALID_FILE', message, { row, column: columnLetters(extra) })
}

function headerOf({ number: row, values }: SheetRow, given?: readonly string[]): string[] {
  const names = values.map((value) => String(value).toWellFormed().trim())
  while (names.at(-1) === '') names.pop()
  if (given) return named(given, names, row)
  if (names.length > MAX_COLUMNS) {
    const message = `row ${row}: the header has ${names.length} columns: at most ${MAX_COLUMNS} are possible`
    throw new HighkiqError('INVALID_FILE', message, { row })
  }
  const header = names.map((name, index) => name || `column_${columnLetters(index)}`)
  const seen = new Map<string, number>()
  for (const [index, name] of header.entries()) {
    const first = seen.get(name)
    if (first !== undefined) {
      const both = `columns ${columnLetters(first)} and ${columnLetters(index)}`
      const message = `row ${row}: ${both} are both named ${JSON.stringify(name)}: give each its own name`
      throw new HighkiqError('INVALID_FILE', message, { row, column: columnLetters(index), name })
    }
    seen.set(name, index)
  }
  return header
}

function named(given: readonly string[], names: readonly string[], row: number): string[] {
  if (given.length === names.length) return [...given]
  const message = `row ${row}: the file has ${names.length} columns, but columns names ${given.length}: name each, in order`
  throw new HighkiqError('INVALID_FILE', message, { row })
}

/** The letters a spreadsheet shows above a column: 0 is A, 26 is AA. */
export function columnLetters(index: number): string {
  const last = String.fromCharCode(65 + (index % 26))
  return index < 26 ? last : columnLetters(Math.floor(index / 26) - 1) + last
}
