import { Readable } from 'node:stream'
import fc from 'fast-check'
import { type CellValue, streamXlsxRows, writeXlsx } from 'hucre/xlsx'
import { expect, test } from 'vitest'
import { read, sheetXml, workbookOf } from '../../../test/workbook.ts'
import { dateText } from './cell-text.ts'
import type { TableRow } from './table.ts'
import { decimal, WorksheetScanner } from './worksheet-scan.ts'
import { textPieces } from './xml-scan.ts'

/** Reads a workbook with another library, which parses all of its XML. Returns dates as text, as our reader does. */
async function readOtherwise(bytes: Uint8Array): Promise<TableRow[]> {
  const rows: TableRow[] = []
  for await (const { index, values } of streamXlsxRows(bytes))
    rows.push({ number: index + 1, values: values.map(asText) })
  return filled(rows)
}

/** Returns rows without the empty cells at their ends, because readers return different numbers of them. */
function filled(rows: readonly TableRow[]): TableRow[] {
  const cut = rows.map(({ number, values }) => {
    return { number, values: values.slice(0, values.findLastIndex((value) => value !== '') + 1) }
  })
  return cut.filter(({ values }) => values.length > 0)
}

function asText(value: CellValue): unknown {
  if (!(value instanceof Date)) return value ?? ''
  const year = value.getUTCFullYear()
  if (value.getTime() < Date.UTC(1899, 11, 31)) return '#NUM!'
  if (year === 1899) return dateText(value).slice(11) || '00:00:00'
  return year >= 1900 && year <= 9999 ? dateText(value) : '#NUM!'
}

// What a text may hold: no characters that XML can't, which are spelled as escapes.
const aText = fc.stringMatching(/^(?:[a-zA-Z &<>"'äß東🐎\t\n]|_x000D_|_x005F_|_x00g_|\]\]>|-->|<\/c>){0,8}$/u)
const aNumber = fc.oneof(
  fc.integer().map(String),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
  fc.tuple(fc.integer(), fc.nat(99_999)).map(([whole, part]) => `${whole}.${part}`),
  fc.stringMatching(/^-?\d{1,19}(\.\d{0,19})?$/),
  fc.constantFrom(
    '',
    '-',
    '.',
    '1E5',
    '-2.5e-7',
    ' 7 ',
    '+3',
    '007',
    '0.1',
    '-0',
    '1.',
    '.5',
    'x',
    '1.2.3',
    '2024-05-06',
  ),
)
// Days with the part of a day, from before the calendar begins to after it ends.
const aSerial = fc.oneof(
  fc.integer({ min: 0, max: 50_000 }).map(String),
  fc.double({ min: 0, max: 3_000_000, noNaN: true }).map(String),
  fc.constantFrom('0', '0.5', '59', '60', '60.5', '61', '0.999999', '2958465', '2958466', '1e300'),
)

const SEED = 20261121
const TEXTS = fc.sample(aText, { numRuns: 2000, seed: SEED })
const NUMBERS = fc.sample(aNumber, { numRuns: 2000, seed: SEED })
const SERIALS = fc.sample(aSerial, { numRuns: 2000, seed: SEED })

/** Writes XML as different programs do: each choice is made by chance, the same for the same seed. */
class Hand {
  readonly #prefix: string
  #state: number

  constructor(seed: number) {
    this.#state = Math.imul(seed, 0x9e3779b1) >>> 0
    this.#prefix = this.one('', '', 'x:')
  }

  one<T>(...choices: T[]): T {
    return this.some(choices)
  }

  some<T>(choices: T[]): T {
    this.#state = (Math.imul(this.#state, 1_664_525) + 1_013_904_223) >>> 0
    return choices[Math.floor((this.#state / 2 ** 32) * choices.length)] as T
  }

  /** Returns the first choice six times as often as each of the others. */
  mostly<T>(usual: T, ...others: T[]): T {
    return this.one(usual, usual, usual, usual, usual, usual, ...others)
  }

  tag(name: string, attributes: Record<string, string | undefined>, content: string): string {
    const list = Object.entries(attributes).filter(([, value]) => value !== undefined)
    if (this.mostly(false, true)) list.reverse()
    const spelled = list.map(([key, value]) => {
      const quote = this.mostly('"', "'")
      return `${this.mostly(' ', '\n  ')}${key}${this.mostly('=', ' = ')}${quote}${value}${quote}`
    })
    const start = `${this.#prefix}${name}${spelled.join('')}`
    if (content === '' && this.one(true, false)) return `<${start}${this.mostly('', ' ')}/>`
    return `<${start}${this.mostly('', ' ')}>${content}</${this.#prefix}${name}${this.mostly('', ' ')}>`
  }

  /** What may stand between two tags. */
  gap(): string {
    return this.mostly('', '', '\n ', '<!-- <c r="A1"><v>0</v></c> </row> -->', '<?x </row> ?>')
  }

  text(text: string): string {
    const spelled = text.replaceAll('&', this.mostly('&amp;', '&#38;')).replaceAll('<', this.mostly('&lt;', '&#x3C;'))
    return this.mostly(spelled.replaceAll('>', this.mostly('>', '&gt;')), this.cdata(text))
  }

  cdata(text: string): string {
    return `<![CDATA[${text.replaceAll(']]>', ']]]]><![CDATA[>')}]]>`
  }

  t(text: string): string {
    return this.tag('t', { 'xml:space': this.one('preserve', undefined) }, this.text(text))
  }

  /** One text or several runs of it. */
  rich(): string {
    const run = () =>
      this.gap() + this.tag('r', {}, this.one('', this.tag('rPr', {}, '<b/>')) + this.t(this.some(TEXTS)))
    return this.mostly(this.t(this.some(TEXTS)), run() + run(), '') + this.gap()
  }

  cell(row: number, column: number): string {
    const letters = column < 26 ? String.fromCharCode(65 + column) : `A${String.fromCharCode(39 + column)}`
    const r = this.mostly(`${letters}${row}`, `${letters.toLowerCase()}${row}`)
    const attributes = {
      r: this.mostly(r, undefined),
      s: this.mostly(undefined, '0', '1', '2', '3', '4', '99', ''),
      cm: this.mostly(undefined, '1', 'a>b'),
    }
    const of = (t: string | undefined, content: string) =>
      this.tag('c', { ...attributes, t }, this.gap() + content + this.gap())
    // Readers may differ in the value of an empty cell with a formula.
    const value = (text: string) =>
      (text === '' ? '' : this.formula()) + this.gap() + this.tag('v', {}, this.text(text))
    return this.one(
      () => of(this.mostly(undefined, 'n', 'd'), value(this.some(NUMBERS))),
      () => of(undefined, value(this.some(NUMBERS))),
      () => this.tag('c', { ...attributes, s: this.one('1', '2', '3') }, value(this.some(SERIALS))),
      () => of('s', value(this.one('0', '1', '2', '3', '4'))),
      () => of('inlineStr', this.tag('is', {}, this.rich())),
      () => of('str', value(this.some(TEXTS))),
      () => of('b', value(this.one('0', '1', 'true', 'FALSE'))),
      () => of('e', value(this.one('#N/A', '#DIV/0!'))),
      () => of(this.one(undefined, 'str', 'e'), ''),
    )()
  }

  formula(): string {
    if (this.mostly(true, false)) return ''
    const attributes = this.one({}, { t: 'shared', ref: 'A1:B9', si: '0' }, { ca: 'a>b' })
    return this.tag('f', attributes, this.one('', this.text('IF(A1<B2,"<v>1</v>",2)')))
  }

  sheet(): string {
    let rows = ''
    let number = 0
    for (let left = this.one(0, 3, 12, 20); left > 0; left--) {
      number = this.mostly(number + 1, number + 3, Math.max(1, number - 2))
      let cells = ''
      let column = 0
      for (let cell = this.one(0, 1, 4, 9); cell > 0; cell--) {
        cells += this.gap() + this.cell(number, column)
        column = this.mostly(column + 1, column + 3, 30, Math.max(0, column - 1))
      }
      rows +=
        this.gap() +
        this.tag('row', { r: this.mostly(`${number}`, undefined), spans: this.one('1:9', undefined) }, cells)
    }
    const before = this.one('', '<sheetViews><sheetView/></sheetViews><cols><col min="1"/></cols>')
    const after = this.one('', '<mergeCells><mergeCell ref="A1:B2"/></mergeCells>')
    return `${this.one('', '\ufeff')}<?xml version="1.0"?><${this.#prefix}worksheet xmlns:x="x">${before}${this.tag('sheetData', {}, rows)}${after}</${this.#prefix}worksheet>`
  }

  texts(): string {
    let list = ''
    for (let i = 0; i < 5; i++) {
      const phonetic = this.mostly('', this.tag('rPh', { sb: '0' }, this.t('ruby')) + this.tag('phoneticPr', {}, ''))
      list += this.gap() + this.tag('si', {}, this.rich() + phonetic)
    }
    return this.tag('sst', { count: '5' }, list)
  }
}

test('a sheet gives the same rows as with another library, whatever the spelling of its XML', async () => {
  for (let seed = SEED; seed < SEED + 300; seed++) {
    const hand = new Hand(seed)
    const sheet = hand.sheet()
    const workbook = workbookOf(sheet, { texts: hand.texts() })
    expect(filled(await read(workbook)), `${seed}: ${sheet}`).toEqual(await readOtherwise(workbook))
  }
}, 60_000)

test('the rows are the same from chunks of any size', async () => {
  const context = { texts: ['a', 'b', 'c', 'd', 'e'], dateStyles: [undefined, 'date' as const], date1904: false }
  const rowsOf = async (...chunks: Buffer[]) => {
    const scanner = new WorksheetScanner(context)
    const rows: TableRow[] = []
    for await (const piece of textPieces(Readable.from(chunks))) {
      scanner.feed(piece)
      while (!scanner.run()) rows.push(...scanner.drain())
    }
    scanner.end()
    return [...rows, ...scanner.drain()]
  }
  for (let seed = SEED; seed < SEED + 100; seed++) {
    const hand = new Hand(seed)
    const sheet = Buffer.from(hand.sheet())
    const chunks: Buffer[] = []
    for (let at = 0; at < sheet.length; at += chunks.at(-1)?.length ?? 0) {
      chunks.push(sheet.subarray(at, at + hand.one(1, 2, 3, 10, 50, 200)))
    }
    expect(await rowsOf(...chunks), `${seed}`).toEqual(await rowsOf(sheet))
  }
})

test('a workbook that another library wrote gives the same rows as with its own reader', async () => {
  for (let seed = SEED; seed < SEED + 40; seed++) {
    const hand = new Hand(seed)
    const value = (): CellValue =>
      hand.one<() => CellValue>(
        () => hand.some(TEXTS),
        () => Number(hand.some(NUMBERS)) || 0,
        () => hand.one(true, false, null),
        () =>
          new Date(Date.UTC(1900 + hand.one(0, 4, 99, 150), hand.one(0, 1, 11), hand.one(1, 28), hand.one(0, 23), 59)),
      )()
    const rows = Array.from({ length: 60 }, () => Array.from({ length: hand.one(0, 3, 12, 40) }, value))
    const cells = new Map([
      ['3,1', { value: 8, formula: 'SUM(A1:A2)', formulaResult: 8 }],
      ['4,2', { value: '#REF!', type: 'error' as const }],
      ['5,3', { richText: [{ text: hand.some(TEXTS), font: { bold: true } }, { text: ' & more' }] }],
      ['6,4', { value: hand.one(1.75, 59.5, 61, 45_000), style: { numFmt: hand.one('hh:mm', '0.00 "days"', '@') } }],
    ])
    const merges = [{ startRow: 0, startCol: 0, endRow: 1, endCol: 2 }]
    const dateSystem = hand.one('1900' as const, '1904' as const)
    const workbook = await writeXlsx({ sheets: [{ name: 'S', rows, cells, merges }], dateSystem })
    expect(filled(await read(workbook)), `${seed}`).toEqual(await readOtherwise(workbook))
  }
}, 60_000)

test("a number equals JavaScript's, to the last bit", () => {
  const property = fc.property(fc.oneof(aNumber, fc.stringMatching(/^-?[\d.]{0,18}$/)), (text) => {
    const number = decimal(`<v>${text}</v>`, 3, 3 + text.length)
    if (number !== undefined) expect(number, text).toBe(Number(text))
  })
  fc.assert(property, { numRuns: 20_000, seed: SEED })
  expect(decimal('12.5', 0, 4)).toBe(12.5)
  expect(decimal('-0', 0, 2)).toBe(-0)
})

const RELATIONS = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships'

/** A workbook with these sheets, and whose parts refer to others by these elements. */
function workbookWith(sheets: string, related: string): Buffer {
  return workbookOf(sheetXml('<row><c><v>1</v></c></row>'), {
    others: {
      'xl/workbook.xml': `<workbook><workbookPr date1904="0"/><sheets>${sheets}</sheets></workbook>`,
      'xl/_rels/workbook.xml.rels': `<Relationships>${related}</Relationships>`,
    },
  })
}

test('the part of a sheet is found by an id with any prefix, in quotes of any kind, and by the first of several ids', async () => {
  const related = (target: string) => `<Relationship Target='${target}' Type="${RELATIONS}/worksheet"  Id = "a&amp;b"/>`
  const workbook = workbookWith(
    `<x:sheet state="visible" name="S" sheetId="1" d3p1:id='a&#38;b'/>`,
    related('/xl/worksheets/sheet1.xml') + related('nowhere.xml'),
  )
  expect(await read(workbook)).toEqual([{ number: 1, values: [1] }])
})

test.each([
  ['sheets', '<sheet name="S" r:id="x"/>'.repeat(10_001), ''],
  ['parts', '', Array.from({ length: 10_001 }, (_, i) => `<Relationship a${i}=""/>`).join('')],
])('a workbook with too many %s is refused before they are looked up', async (_name, sheets, related) => {
  await expect(read(workbookWith(sheets, related))).rejects.toMatchObject({
    code: 'INVALID_FILE',
    message: expect.stringContaining('more than 10000 sheets or parts'),
  })
})

test.each([
  ['sheets', (name: string) => [`<sheet name="${name}" r:id="x"/>`.repeat(9), '']],
  ['parts', (name: string) => ['', `<Relationship Id="${name}" Type="x/worksheet" Target="x"/>`.repeat(9)]],
] as const)('a small file whose names of %s unpack to more than 64 MB is refused', async (_name, partsWith) => {
  const [sheets = '', related = ''] = partsWith('x'.repeat(8_000_000))
  const workbook = workbookWith(sheets, related)
  expect(workbook.length).toBeLessThan(1_000_000)
  await expect(read(workbook)).rejects.toMatchObject({
    code: 'INVALID_FILE',
    message: expect.stringContaining('more than fits into memory'),
  })
})
