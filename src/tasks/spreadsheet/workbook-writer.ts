/**
 * Writes rows as a workbook while they are read. Each text is stored in its cell, because a table of shared texts would
 * have to be kept in memory.
 */

import { HighkiqError } from '../../job/errors.ts'
import { dateText } from './cell-text.ts'
import { serialOf } from './serial-date.ts'
import { columnLetters } from './table.ts'
import { type ZipEntry, zipBytes } from './zip-writer.ts'

type Cell = string | number | boolean | Date | null

/** A sheet has at most this many rows in Excel. */
const MOST_ROWS = 1_048_576
/** Excel refuses to open a workbook with a longer text. */
const MAX_CELL_CHARS = 32_767
const PIECE_CHARACTERS = 64 * 1024

const XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>'
const MAIN = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main'
const RELATIONS = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships'
const PACKAGE = 'http://schemas.openxmlformats.org/package/2006'
const TYPE = 'application/vnd.openxmlformats-officedocument.spreadsheetml'
const DATE_STYLE = 1

/** The first row stays in view when scrolling. */
const SHEET_BEGIN =
  `${XML}<worksheet xmlns="${MAIN}"><sheetViews><sheetView workbookViewId="0">` +
  '<pane ySplit="1" topLeftCell="A2" state="frozen" activePane="bottomLeft"/></sheetView></sheetViews><sheetData>'
const SHEET_END = '</sheetData></worksheet>'

const STYLES =
  `${XML}<styleSheet xmlns="${MAIN}"><numFmts count="1"><numFmt numFmtId="164" formatCode="yyyy-mm-dd"/></numFmts>` +
  '<fonts count="1"><font><sz val="11"/><name val="Calibri"/></font></fonts>' +
  '<fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill></fills>' +
  '<borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders>' +
  '<cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs>' +
  '<cellXfs count="2"><xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0"/>' +
  '<xf numFmtId="164" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/></cellXfs></styleSheet>'

/** Yields a workbook with the rows, the header first. Rows that do not fit on a sheet go to another one with the same header. */
export function workbookBytes(
  rows: AsyncIterable<readonly unknown[]>,
  mostRows = MOST_ROWS,
): AsyncGenerator<Uint8Array, void, void> {
  return zipBytes(parts(rows, mostRows))
}

async function* parts(rows: AsyncIterable<readonly unknown[]>, mostRows: number): AsyncGenerator<ZipEntry, void, void> {
  const iterator = rows[Symbol.asyncIterator]()
  try {
    let next = await iterator.next()
    const header = next.done ? [] : next.value
    let read = 0
    async function* sheet(isFirst: boolean) {
      let text = SHEET_BEGIN
      let number = 0
      if (!isFirst) text += rowXml(++number, header)
      for (; !next.done && number < mostRows; next = await iterator.next()) {
        text += rowXml(++number, next.value, ++read)
        if (text.length < PIECE_CHARACTERS) continue
        yield text
        text = ''
      }
      yield text + SHEET_END
    }
    let sheets = 0
    do {
      sheets++
      yield { name: `xl/worksheets/sheet${sheets}.xml`, texts: sheet(sheets === 1) }
    } while (!next.done)
    yield* about(sheets)
  } finally {
    await iterator.return?.()
  }
}

/** Returns the name of a sheet, by its number from 1. */
export const nameOfWorksheet = (n: number) => (n === 1 ? 'Sheet1' : `Sheet1_${n}`)

/** Yields the parts that name the sheets. */
function* about(sheets: number): Generator<ZipEntry, void, void> {
  const numbers = Array.from({ length: sheets }, (_, i) => i + 1)
  const each = (write: (n: number) => string) => numbers.map(write).join('')
  const entry = (name: string, text: string): ZipEntry => ({ name, texts: [XML + text] })
  const relation = (id: string, type: string, target: string) =>
    `<Relationship Id="${id}" Type="${RELATIONS}/${type}" Target="${target}"/>`
  const type = (part: string, kind: string) =>
    `<Override PartName="/xl/${part}.xml" ContentType="${TYPE}.${kind}+xml"/>`
  yield { name: 'xl/styles.xml', texts: [STYLES] }
  const list = each((n) => `<sheet name="${nameOfWorksheet(n)}" sheetId="${n}" r:id="rId${n}"/>`)
  yield entry('xl/workbook.xml', `<workbook xmlns="${MAIN}" xmlns:r="${RELATIONS}"><sheets>${list}</sheets></workbook>`)
  const relations = each((n) => relation(`rId${n}`, 'worksheet', `worksheets/sheet${n}.xml`))
  const styles = relation(`rId${sheets + 1}`, 'styles', 'styles.xml')
  const related = (text: string) => `<Relationships xmlns="${PACKAGE}/relationships">${text}</Relationships>`
  yield entry('xl/_rels/workbook.xml.rels', related(relations + styles))
  yield entry('_rels/.rels', related(relation('rId1', 'officeDocument', 'xl/workbook.xml')))
  const types =
    `<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>` +
    `<Default Extension="xml" ContentType="application/xml"/>${type('workbook', 'sheet.main')}${type('styles', 'styles')}` +
    each((n) => type(`worksheets/sheet${n}`, 'worksheet'))
  yield entry('[Content_Types].xml', `<Types xmlns="${PACKAGE}/content-types">${types}</Types>`)
}

const letters: string[] = []

/** `number` is the row's number on its sheet, and `row` that among all rows, for errors. @throws REPORT_FAILED */
function rowXml(number: number, cells: readonly unknown[], row = number): string {
  let text = ''
  for (let i = 0; i < cells.length; i++) {
    const cell = writtenCell(cells[i])
    if (cell === null) continue
    letters[i] ??= columnLetters(i)
    if (typeof cell === 'string' && cell.length > MAX_CELL_CHARS) throw tooLong(cell, row, letters[i] as string)
    text += cellXml(letters[i] + String(number), cell)
  }
  return text === '' ? '' : `<row r="${number}">${text}</row>`
}

function writtenCell(value: unknown): Cell {
  if (value === null || value === undefined || value === '') return null
  if (typeof value === 'string' || typeof value === 'boolean') return value
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value)
  if (value instanceof Date) {
    const year = value.getUTCFullYear()
    return year >= 1900 && year <= 9999 ? value : dateText(value) || null
  }
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

function tooLong({ length }: string, row: number, column: string): HighkiqError {
  const at = `row ${row}, column ${column}`
  const message = `${at}: the text has ${length} characters and Excel takes ${MAX_CELL_CHARS}: shorten it, or write CSV`
  return new HighkiqError('REPORT_FAILED', message, { row, column })
}

function cellXml(place: string, cell: string | number | boolean | Date): string {
  if (typeof cell === 'string') {
    const space = /^ | $|[\n\t]/.test(cell) ? ' xml:space="preserve"' : ''
    return `<c r="${place}" t="inlineStr"><is><t${space}>${escaped(cell)}</t></is></c>`
  }
  if (typeof cell === 'number') return `<c r="${place}"><v>${cell}</v></c>`
  if (typeof cell === 'boolean') return `<c r="${place}" t="b"><v>${cell ? 1 : 0}</v></c>`
  return `<c r="${place}" s="${DATE_STYLE}"><v>${serialOf(cell)}</v></c>`
}

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', _x: '_x005F_x' }
// biome-ignore lint/suspicious/noControlCharactersInRegex: XML can't hold them
const SPECIAL = /[&<>\u0000-\u0008\u000b-\u001f\ufffe\uffff]|_x(?=[0-9A-Fa-f]{4}_)/
const ALL_SPECIAL = new RegExp(SPECIAL, 'g')

/** Escapes what XML can't hold as Excel does, and texts that look like such an escape. */
function escaped(text: string): string {
  if (!SPECIAL.test(text)) return text
  return text.replace(
    ALL_SPECIAL,
    (part) => ENTITIES[part] ?? `_x${part.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}_`,
  )
}
