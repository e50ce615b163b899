import { HighkiqError, invalidFile } from '../../job/errors.ts'
import { shown } from '../../job/options.ts'

export interface TableRow {
  /**
   * The number of the row in the file, from 1, as Excel shows it: the header and skipped empty rows count. In a CSV file
   * with line breaks in cells it differs from the line of a text editor.
   */
  number: number
  /** One value for each column of the header; '' for an empty cell. CSV: strings. XLSX: see `OpenFile`. */
  values: unknown[]
}

/** A row of a file, with its values by the name of the column. */
export interface FileRow {
  number: number
  values: Record<string, unknown>
}

export interface Table {
  /** The names of the columns, trimmed, each different. */
  header: string[]
  /** The rows below the header. Can be iterated once; ending or leaving the loop closes the file. */
  rows: AsyncIterable<TableRow>
  /** Closes the file if `rows` is not iterated. Harmless afterwards. */
  close(): Promise<void>
}

/** Returns the error for a row beyond `maxRows`. */
export function tooManyRows(row: number, maxRows: number): HighkiqError {
  const more = { option: 'maxRows', hint: 'split it, or allow more with maxRows' }
  const message = `row ${row}: the file has more than ${maxRows} rows: ${more.hint}`
  return new HighkiqError('TOO_MANY_ROWS', message, { row, maxRows, ...more })
}

// As many as Excel has. A file with more has the wrong delimiter, or is not a table.
const MAX_COLUMNS = 16_384

// A table may have this many empty cells, and a number more for each value. Without a limit a row of a few bytes would become
// a job with 16,384 fields.
const EMPTY_CELLS = 10_000_000
const EMPTY_CELLS_PER_VALUE = 500

export interface TableRules {
  /** The rows without the header. */
  maxRows: number
  /** The names of the columns; they replace those in the header. */
  names?: readonly string[] | undefined
  /** The number of the row that holds the names of the columns, from 1. Default: the first that is not blank. */
  headerRow?: number | undefined
  /** Returns the name of a column, given the text in the header. Default: that text. */
  nameOf?: ((text: string) => string) | undefined
  /** The columns to read; the others may hold anything. Default: every column. */
  chosen?: ReadonlySet<string> | undefined
}

/**
 * Makes a `Table` of raw records, with the same rules for every format. It closes the records.
 * @throws HighkiqError INVALID_FILE; while iterating INVALID_FILE and TOO_MANY_ROWS.
 */
export async function readTable(records: AsyncGenerator<TableRow[], void, void>, rules: TableRules): Promise<Table> {
  let header: string[]
  let first: TableRow[]
  let top: TableRow
  try {
    first = await fromHeader(records, rules.headerRow)
    header = checkedHeader(first, rules)
    top = first.shift() as TableRow
  } catch (error) {
    await records.return()
    throw error
  }
  const rows = dataRows(first, records, { header, top }, rules)
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

const isFilled = (value: unknown) => String(value).trim() !== ''

/** Returns the batch that holds the header, from the header on. */
async function fromHeader(
  records: AsyncGenerator<TableRow[], void, void>,
  headerRow: number | undefined,
): Promise<TableRow[]> {
  for (let next = await records.next(); !next.done; next = await records.next()) {
    const at = next.value.findIndex(({ number, values }) =>
      headerRow === undefined ? values.some(isFilled) : number >= headerRow,
    )
    if (at === -1) continue
    const [{ number, values }] = next.value.slice(at) as [TableRow]
    if (headerRow === undefined || (number === headerRow && values.some(isFilled))) return next.value.slice(at)
    break
  }
  if (headerRow === undefined) {
    throw invalidFile('the file is empty: it needs a header row with the names of the columns', { problem: 'empty' })
  }
  const message = `row ${headerRow} is empty: headerRow is the row that holds the names of the columns, counted from 1`
  throw invalidFile(message, {
    ...{ problem: 'no-header', row: headerRow },
    ...{ option: 'headerRow', hint: 'headerRow is the row' },
  })
}

/**
 * Returns the names of the columns, after checking the rows that came with them. So no row of a table is stored when
 * its header is in another row.
 * @throws INVALID_FILE
 */
function checkedHeader(rows: readonly TableRow[], rules: TableRules): string[] {
  const [top, ...below] = rows as [TableRow, ...TableRow[]]
  const guess = rules.headerRow === undefined && !rules.names ? headerBelow(top, below) : undefined
  try {
    const header = headerOf(top, rules)
    if (guess && isTitle(top, guess, header, rules.chosen)) {
      const message = `row ${top.number} has no names for most of the columns`
      throw invalidFile(message, { problem: 'no-names', row: top.number })
    }
    if (!rules.chosen) for (const row of below) refuseStray(row, { header, top })
    return header
  } catch (error) {
    if (!guess || !(error instanceof HighkiqError)) throw error
    const { number } = guess
    const hint = `set headerRow: ${number}`
    const message = `${error.message} (row ${top.number} looks like a title, and row ${number} like the names of the columns: ${hint})`
    const about = { headerRow: number, option: 'headerRow', value: number, hint }
    throw new HighkiqError(error.code, message, { ...error.details, ...about }, { cause: error })
  }
}

/** Returns whether a row looks like a title: at most half as wide as the names below it, or without a wanted column. */
function isTitle(
  { values }: TableRow,
  guess: TableRow,
  header: readonly string[],
  chosen: TableRules['chosen'],
): boolean {
  if (chosen) return [...chosen].some((name) => !header.includes(name))
  return values.filter(isFilled).length * 2 <= Math.min(header.length, guess.values.length)
}

const widthOf = (row?: Pick<TableRow, 'values'>) => (row?.values.findLastIndex(isFilled) ?? -1) + 1

const TITLE_ROWS = 10
const NUMBER = /^[\d\s.,:/%+-]*$/

/** Finds a row that is more likely to be the header: wider, without gaps, and with different texts only. */
function headerBelow(top: TableRow, below: readonly TableRow[]): TableRow | undefined {
  const width = top.values.filter(isFilled).length
  // The second row fits below these names, so a wider row further down has a note beside it.
  if (width > 1 && width === widthOf(top) && width === widthOf(below[0])) return undefined
  return below.slice(0, TITLE_ROWS).find(({ values }) => {
    const end = widthOf({ values })
    const names = values.slice(0, end)
    const areNames = names.every((value) => typeof value === 'string' && !NUMBER.test(value))
    return end > width && areNames && new Set(names).size === end
  })
}

async function* dataRows(
  first: TableRow[],
  records: AsyncGenerator<TableRow[], void, void>,
  table: TopOfTable,
  { maxRows, chosen }: TableRules,
): AsyncGenerator<TableRow, void, void> {
  const columns = table.header.length
  let count = 0
  let room = EMPTY_CELLS
  try {
    for (let batch = first; ; ) {
      for (const row of batch) {
        const { number, values } = row
        if (values.every((value) => value === '')) continue
        replaceLoneSurrogates(values)
        if (count++ >= maxRows) throw tooManyRows(number, maxRows)
        if (!chosen) refuseStray(row, table)
        const width = Math.max(values.length, columns)
        if (width > EMPTY_CELLS_PER_VALUE) {
          room += values.filter((value) => value !== '').length * EMPTY_CELLS_PER_VALUE - width
          if (room < 0) throw almostEmpty(number, width)
        }
        yield { number, values: fitted(values, columns) }
      }
      const next = await records.next()
      if (next.done) return
      batch = next.value
    }
  } finally {
    await records.return()
  }
}

function almostEmpty(row: number, columns: number): HighkiqError {
  const message = `row ${row}: nearly all cells of the ${columns} columns are empty: delete the columns that are not needed`
  return invalidFile(message, { problem: 'empty-columns', row })
}

/** Replaces lone surrogates, which a workbook's escapes can produce and no job may have. */
function replaceLoneSurrogates(values: unknown[]): void {
  for (let i = 0; i < values.length; i++) {
    const value = values[i]
    if (typeof value === 'string' && !value.isWellFormed()) values[i] = value.toWellFormed()
  }
}

/** Returns the cells of a row, one for each column. */
function fitted(values: unknown[], columns: number): unknown[] {
  while (values.length < columns) values.push('')
  return values.length === columns ? values : values.slice(0, columns)
}

/** The names of the columns, and the row of the file that they come from. */
interface TopOfTable {
  header: readonly string[]
  top: TableRow
}

/**
 * Refuses a value right of the named columns.
 * @throws INVALID_FILE
 */
function refuseStray({ number: row, values }: TableRow, { header, top }: TopOfTable): void {
  const { length } = header
  if (values.length <= length) return
  const extra = values.findIndex((value, index) => index >= length && value !== '')
  if (extra === -1) return
  const { text, fits } = exampleOf(header, top)
  const hint = `columns: ${text}`
  const message =
    `row ${row}, column ${columnLetters(extra)}: there is a value, but the header names only ` +
    `${length === 1 ? '1 column' : `${length} columns`}: give the column a name, leave it out (${hint} takes only ${fits}), ` +
    'or put quotes around a cell that contains the delimiter'
  const at = { problem: 'unnamed-column', row, column: columnLetters(extra) }
  throw invalidFile(message, { ...at, option: 'columns', value: JSON.parse(text), hint })
}

/** Returns an example of the option `columns` that selects the first columns of this file. */
function exampleOf(header: readonly string[], { values }: TableRow): { text: string; fits: string } {
  const pairs = header
    .slice(0, 2)
    .map((name, index) => `${shown(String(values[index] ?? '').trim() || name)}:${shown(name)}`)
  return { text: `{${pairs.join(',')}}`, fits: pairs.length === 1 ? 'this one' : 'these' }
}

function headerOf({ number: row, values }: TableRow, { names: given, chosen, nameOf }: TableRules): string[] {
  const texts = values.map((value) => String(value).toWellFormed().trim())
  const names = nameOf ? texts.map(nameOf) : texts
  while (names.at(-1) === '') names.pop()
  if (given) return named(given, names, row)
  if (names.length > MAX_COLUMNS) {
    const message = `row ${row}: the header has ${names.length} columns: at most ${MAX_COLUMNS} are possible`
    throw invalidFile(message, { problem: 'too-many-columns', row })
  }
  const header = names.map((name, index) => name || `column_${columnLetters(index)}`)
  const seen = new Map<string, number>()
  for (const [index, name] of header.entries()) {
    const first = seen.get(name)
    if (first !== undefined && (!chosen || chosen.has(name))) {
      const both = `columns ${columnLetters(first)} and ${columnLetters(index)}`
      const message = `row ${row}: ${both} are both named ${shown(name)}: give each its own name`
      throw invalidFile(message, { problem: 'same-name', row, column: columnLetters(index), name })
    }
    if (first !== undefined) header[index] = freeName(`${name}_${columnLetters(index)}`, header)
    seen.set(header[index] as string, index)
  }
  return header
}

function freeName(name: string, taken: readonly string[]): string {
  return taken.includes(name) ? freeName(`${name}_`, taken) : name
}

function named(given: readonly string[], names: readonly string[], row: number): string[] {
  if (given.length === names.length) return [...given]
  const message = `row ${row}: the file has ${names.length} columns, but columns names ${given.length}: name each, in order`
  throw invalidFile(message, { row })
}

/** Returns the letters of a column in a spreadsheet: 0 is A, 26 is AA. */
export function columnLetters(index: number): string {
  const last = String.fromCharCode(65 + (index % 26))
  return index < 26 ? last : columnLetters(Math.floor(index / 26) - 1) + last
}
