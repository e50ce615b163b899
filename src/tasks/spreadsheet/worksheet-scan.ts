import { invalidFile } from '../../job/errors.ts'
import { NO_RESULT } from './cell-text.ts'
import type { DateStyle } from './date-style.ts'
import { QuickCell } from './quick-cell.ts'
import { decodeEscapes, RichText } from './rich-text.ts'
import { isoText, serialText } from './serial-date.ts'
import { columnLetters, type TableRow } from './table.ts'
import { attribute, decodeEntities, XmlScanner } from './xml-scan.ts'

/** The parts of a workbook to which the cells of a sheet refer. */
export interface WorksheetContext {
  texts: readonly string[]
  /** The kind of date or time that a style shows, by the number of the style; undefined for plain numbers. */
  dateStyles: readonly (DateStyle | undefined)[]
  /** Whether dates count from 1904, as on old Macs. */
  date1904: boolean
}

// A to XFD. A cell further to the right would make its row very long.
const MAX_COLUMNS = 16_384

// As in CSV: no row of a table is so long, and without a limit one could fill the memory.
const MAX_ROW_CHARS = 16 * 1024 ** 2

// A few bytes are enough for a row as wide as a sheet. A sheet may have this many empty cells left of its values, and a
// number more for each character of its XML: far more than a program writes, and few enough that a small file is read soon.
const EMPTY_CELLS = 20_000_000
const EMPTY_CELLS_PER_CHAR = 10

// Rows are passed on once they have this many cells.
const BATCH_CELLS = 32_768

const MAX_REMEMBERED_DATES = 10_000

/**
 * Turns the XML of a sheet, piece by piece, into rows of values.
 *
 * Written for speed: a cell of the usual shape is read in one step, without parsing its tags. All other cells, and
 * incomplete ones, go through `open`, `text` and `close`.
 */
export class WorksheetScanner extends XmlScanner {
  /** Whether the cells of the sheet have ended; the rest is ignored. */
  done = false
  readonly #context: WorksheetContext
  /** The texts of dates already formatted, by the kind of their style: dates repeat often. */
  readonly #dates = {
    date: new Map<number, string>(),
    time: new Map<number, string>(),
    elapsed: new Map<number, string>(),
  }
  #rows: TableRow[] = []
  #cells = 0
  /** The number of empty cells of all rows, left of a value. */
  #empty = 0
  /** The number of characters of the XML so far. */
  #length = 0

  #inData = false
  #inRow = false
  #number = 0
  #values: unknown[] = []
  #chars = 0
  /** The column of a cell that does not give its own. */
  #next = 0

  #inCell = false
  /** The column of the cell, from 0. */
  #column = 0
  #type = 'n'
  #style = -1
  #inValue = false
  #value = ''
  #lacksResult = false
  #inRich = false
  readonly #rich = new RichText()
  #quick = new QuickCell('')

  constructor(context: WorksheetContext) {
    super()
    this.#context = context
  }

  /** Returns and removes the rows that are complete, without rows that have no value. */
  drain(): TableRow[] {
    const rows = this.#rows
    this.#rows = []
    this.#cells = 0
    return rows
  }

  override feed(piece: string): void {
    this.#length += piece.length
    super.feed(piece)
  }

  override end(): void {
    if (this.done) return
    super.end()
    if (this.#inData) throw new Error(`the sheet is cut off after row ${this.#number}`)
  }

  protected override quick(text: string, at: number): number {
    if (!this.#inRow || this.#inCell) return -1
    const cell = this.#quick
    const end = cell.read(text, at)
    if (end === -1) return -1
    this.#column = cell.column === -1 ? this.#next : cell.column
    if (cell.lacksResult) {
      this.#put(NO_RESULT)
      return end
    }
    const { from, to, type, style } = cell
    const number = type === 'n' || type === 's' ? decimal(text, from, to) : undefined
    const value =
      number === undefined
        ? this.#valueOf(type, style, decodeEntities(text.slice(from, to)))
        : type === 's'
          ? this.#textAt(number)
          : this.#numberOf(number, style)
    this.#put(value)
    return end
  }

  protected open(name: string, text: string, from: number, to: number): void {
    if (this.#inCell) {
      if (name === 'v') {
        this.#inValue = true
        if (this.#type === 'str') this.#lacksResult = false
      } else if (name === 'f') this.#lacksResult = true
      else if (name === 'is') this.#inRich = true
      else if (this.#inRich) this.#rich.open(name)
      this.wantsText = this.#inValue || (this.#inRich && this.#rich.wantsText)
    } else if (name === 'c') {
      if (this.#inRow) this.#openCell(text, from, to)
    } else if (name === 'row') {
      if (this.#inData) this.#openRow(attribute(text, from, to, 'r'))
    } else if (name === 'sheetData' && !this.done) {
      this.#inData = true
      this.#quick = new QuickCell(this.prefix)
    }
  }

  protected text(text: string): void {
    if (this.#inValue) {
      this.#value += text
      this.#lacksResult = false
    } else this.#rich.text(text)
    this.#checkLength(this.#value.length + this.#rich.length)
  }

  protected close(name: string): void {
    if (this.#inCell) {
      if (name === 'v') this.#inValue = false
      else if (name === 'is') this.#inRich = false
      else if (this.#inRich) this.#rich.close(name)
      else if (name === 'c') this.#closeCell()
      this.wantsText = this.#inRich && this.#rich.wantsText
    } else if (name === 'row') {
      if (this.#inRow) this.#closeRow()
    } else if (name === 'sheetData' && this.#inData) {
      this.#inData = false
      this.done = true
    }
  }

  #openRow(number: string | undefined): void {
    this.#number = number !== undefined && /^\d{1,15}$/.test(number) ? Number(number) : this.#number + 1
    this.#inRow = true
    this.#values = []
    this.#chars = 0
    this.#next = 0
  }

  #closeRow(): void {
    this.#inRow = false
    if (this.#values.length === 0) return
    this.#rows.push({ number: this.#number, values: this.#values })
    this.#cells += this.#values.length
    this.paused = this.#cells >= BATCH_CELLS
  }

  #openCell(text: string, from: number, to: number): void {
    const column = columnOf(attribute(text, from, to, 'r') ?? '')
    this.#column = column === -1 ? this.#next : column
    this.#type = attribute(text, from, to, 't') ?? 'n'
    this.#style = Number(attribute(text, from, to, 's') ?? -1)
    this.#value = ''
    this.#lacksResult = false
    this.#rich.clear()
    this.#inCell = true
  }

  #closeCell(): void {
    this.#inCell = false
    if (this.#lacksResult) {
      this.#put(NO_RESULT)
      return
    }
    const inline = this.#type === 'inlineStr'
    this.#put(inline ? this.#rich.value : this.#valueOf(this.#type, this.#style, this.#value))
  }

  #valueOf(type: string, style: number, text: string): unknown {
    switch (type) {
      case 's':
        return text === '' ? '' : this.#textAt(Number(text))
      case 'str':
      case 'inlineStr':
        return decodeEscapes(text)
      case 'b':
        return text === '' ? '' : text === '1' || text.toLowerCase() === 'true'
      case 'e':
        return text
      case 'd': {
        const date = isoText(text)
        if (date !== undefined) return date
      }
    }
    const number = text === '' ? Number.NaN : Number(text)
    if (Number.isNaN(number)) return text
    return this.#numberOf(number, style)
  }

  #numberOf(number: number, style: number): unknown {
    const dateStyle = this.#context.dateStyles[style]
    if (dateStyle === undefined) return number
    const dates = this.#dates[dateStyle]
    const known = dates.get(number)
    if (known !== undefined) return known
    const text = serialText(number, dateStyle, this.#context.date1904)
    if (dates.size < MAX_REMEMBERED_DATES) dates.set(number, text)
    return text
  }

  #textAt(number: number): string {
    const text = this.#context.texts[number]
    return (
      text ??
      this.#fail('damaged', 'the workbook does not have the text of this cell: open it in Excel and save it again')
    )
  }

  /** Puts a value into the row, in the column of the cell. Empty cells at the end of a row are left out. */
  #put(value: unknown): void {
    const values = this.#values
    const at = this.#column
    if (at >= MAX_COLUMNS) this.#fail('too-many-columns', 'a sheet has no columns right of XFD: take the cell away')
    this.#next = at + 1
    if (value === '' && at >= values.length) return
    if (typeof value === 'string') {
      this.#checkLength(value.length)
      this.#chars += value.length
    }
    if (at > values.length) this.#pad(at)
    values[at] = value
  }

  #pad(length: number): void {
    this.#empty += length - this.#values.length
    if (this.#empty > EMPTY_CELLS + EMPTY_CELLS_PER_CHAR * this.#length) {
      this.#fail('empty-columns', 'the sheet has far more empty columns than values: delete the empty columns')
    }
    while (this.#values.length < length) this.#values.push('')
  }

  #checkLength(more: number): void {
    if (this.#chars + more <= MAX_ROW_CHARS) return
    this.#fail('long-row', 'the row is longer than 16 MiB: split it')
  }

  /** @throws INVALID_FILE with the row, and the column of the cell */
  #fail(problem: string, what: string): never {
    const row = this.#number
    const column = columnLetters(this.#column)
    throw invalidFile(`row ${row}, column ${column}: ${what}`, { problem, row, column })
  }
}

/** Returns the column of a reference such as 'B7', from 0; -1 if it has none. */
function columnOf(reference: string): number {
  const letters = /^[A-Za-z]{1,6}/.exec(reference)?.[0].toUpperCase() ?? ''
  let column = 0
  for (const letter of letters) column = column * 26 + letter.charCodeAt(0) - 64
  return column - 1
}

const POWERS = Array.from({ length: 16 }, (_, index) => 10 ** index)

/**
 * Reads a number in its usual form, digits with at most one point; returns undefined for other forms. With up to 15
 * digits both parts of the fraction are exact, so the result equals that of `Number`, without a string.
 */
export function decimal(text: string, from: number, to: number): number | undefined {
  let at = from
  const negative = text.charCodeAt(at) === 0x2d
  if (negative) at++
  if (to - at > 16 || at === to) return undefined
  let digits = 0
  let point = -1
  let count = 0
  for (; at < to; at++) {
    const code = text.charCodeAt(at)
    if (code >= 0x30 && code <= 0x39) {
      digits = digits * 10 + code - 0x30
      count++
    } else if (code === 0x2e && point === -1) point = at
    else return undefined
  }
  if (count === 0 || count > 15) return undefined
  const number = point === -1 ? digits : digits / (POWERS[to - 1 - point] as number)
  return negative ? -number : number
}
