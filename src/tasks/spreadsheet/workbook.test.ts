import { Readable } from 'node:stream'
import fc from 'fast-check'
import { type CellValue, streamXlsxRows, writeXlsx } from 'hucre/xlsx'
import { expect, test } from 'vitest'
import { zipOf } from '../../../test/zip.ts'
import { dateText } from './cell-text.ts'
import { dateStyleOf } from './date-style.ts'
import type { TableRow } from './table.ts'
import { sheetRows } from './workbook.ts'
import { decimal, WorksheetScanner } from './worksheet-scan.ts'
import { textPieces } from './xml-scan.ts'
import { openZip } from './zip-check.ts'

async function read(bytes: Uint8Array): Promise<TableRow[]> {
  const zip = await openZip(bytes)
  const rows: TableRow[] = []
  for await (const batch of sheetRows(zip, undefined)) rows.push(...batch)
  zip.close()
  return rows
}

/** What another reader makes of it, which takes XML apart in full; its dates as text, as they are read here. */
async function readOtherwise(bytes: Uint8Array): Promise<TableRow[]> {
  const rows: TableRow[] = []
  for await (const { index, values } of streamXlsxRows(bytes)) {
    if (values.length > 0) rows.push({ number: index + 1, values: values.map(asText) })
  }
  return rows
}

function asText(value: CellValue): unknown {
  if (!(value instanceof Date)) return value ?? ''
  const year = value.getUTCFullYear()
  if (value.getTime() < Date.UTC(1899, 11, 31)) return '#NUM!'
  if (year === 1899) return dateText(value).slice(11) || '00:00:00'
  return year >= 1900 && year <= 9999 ? dateText(value) : '#NUM!'
}

const MAIN = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main'
const OFFICE = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships'
const PACKAGE = 'http://schemas.openxmlformats.org/package/2006'
// The styles, by number: plain, a date, a date and time, a time, an amount in rupees, elapsed time.
const STYLES = `<styleSheet xmlns="${MAIN}"><numFmts><numFmt numFmtId="164" formatCode="yyyy\\-mm\\-dd&quot;d&quot;"/>
<numFmt numFmtId='165' formatCode='[$Rs. -4009]#,##0.00'/></numFmts><cellStyleXfs><xf numFmtId="14"/></cellStyleXfs>
<cellXfs><xf numFmtId="0"/><xf numFmtId="164"/><xf numFmtId="22"><alignment/></xf><xf numFmtId="21"/><xf numFmtId="165"/><xf numFmtId="46"/></cellXfs></styleSheet>`

/** The bytes of a workbook with this XML as its sheet. */
function workbookOf(
  sheet: string | Buffer,
  { texts = '<sst/>', date1904 = false }: { texts?: string | Buffer; date1904?: boolean } = {},
): Buffer {
  const relationship = (id: string, type: string, target: string) =>
    `<Relationship Id="${id}" Type="${OFFICE}/${type}" Target="${target}"/>`
  const related = (list: string) => `<Relationships xmlns="${PACKAGE}/relationships">${list}</Relationships>`
  const parts = {
    '[Content_Types].xml': `<Types xmlns="${PACKAGE}/content-types"/>`,
    '_rels/.rels': related(relationship('rId1', 'officeDocument', 'xl/workbook.xml')),
    'xl/workbook.xml':
      `<workbook xmlns="${MAIN}" xmlns:r="${OFFICE}"><workbookPr date1904="${date1904 ? 1 : 0}"/>` +
      '<sheets><sheet name="S" sheetId="1" r:id="rId1"/></sheets></workbook>',
    'xl/_rels/workbook.xml.rels': related(
      relationship('rId1', 'worksheet', 'worksheets/sheet1.xml') +
        relationship('rId2', 'sharedStrings', 'sharedStrings.xml') +
        relationship('rId3', 'styles', 'styles.xml'),
    ),
    'xl/sharedStrings.xml': texts,
    'xl/styles.xml': STYLES,
    'xl/worksheets/sheet1.xml': sheet,
  }
  return zipOf(...Object.entries(parts).map(([name, content]) => ({ name, content })))
}

const sheetXml = (rows: string) => `<worksheet xmlns="${MAIN}"><sheetData>${rows}</sheetData></worksheet>`
const valuesOf = async (cells: string) => (await read(workbookOf(sheetXml(`<row r="1">${cells}</row>`))))[0]?.values

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

  /** Mostly the first. */
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
      () => of('s', value(this.one('0', '1', '2', '3', '7', '-1', 'x'))),
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

test('a sheet is read like by another reader, in any spelling of its XML', async () => {
  for (let seed = SEED; seed < SEED + 300; seed++) {
    const hand = new Hand(seed)
    const sheet = hand.sheet()
    const workbook = workbookOf(sheet, { texts: hand.texts() })
    expect(await read(workbook), `${seed}: ${sheet}`).toEqual(await readOtherwise(workbook))
  }
}, 60_000)

test('the rows are the same from chunks of any size', async () => {
  const context = { texts: ['a', 'b', 'c'], dateStyles: [undefined, 'date' as const], date1904: false }
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

test('a workbook of another writer is read like by its own reader', async () => {
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
    expect(await read(workbook), `${seed}`).toEqual(await readOtherwise(workbook))
  }
}, 60_000)

const KANA = '<rPh sb="0" eb="1"><t>カ</t></rPh><phoneticPr fontId="1"/>'
const NO = '#NO RESULT!'

test.each<[string, cells: string[], values: unknown[]]>([
  ['phonetic hints are not part of a text', [`<c t="inlineStr"><is><t>東</t>${KANA}</is></c>`], ['東']],
  [
    'phonetic hints are not part of a text in runs',
    [`<c t="inlineStr"><is><r><t>東</t></r><r><t>京</t></r>${KANA}</is></c>`],
    ['東京'],
  ],
  [
    'text before the first run of a rich text, and after the last one, belongs to it',
    ['<c t="inlineStr"><is><t>a </t><r><t>b</t></r><t> c</t></is></c>'],
    ['a b c'],
  ],
  [
    'an empty boolean cell is empty',
    ['<c t="b"/>', '<c t="b"><v/></c>', '<c t="b"><v>0</v></c>', '<c t="b"><v>1</v></c>'],
    ['', '', false, true],
  ],
  [
    'a formula without a stored result is not an empty cell',
    [
      ...['<c><f>A1*2</f></c>', '<c><f>A1</f><v></v></c>', '<c><f>A1</f><v/></c>', '<c><f t="shared" si="0"/></c>'],
      ...["<c t='n'><f>A1</f></c>", "<c t='str'><f>A1</f></c>", '<c t="str"><f>A1</f></c>'],
    ],
    [NO, NO, NO, NO, NO, NO, NO],
  ],
  [
    'a formula with an empty text is an empty cell',
    [
      ...['<c t="str"><f>A1</f><v></v></c>', "<c t='str'><f>A1</f><v/></c>", '<c><v></v></c>', '<c/>'],
      '<c><f>1+1</f><v>2</v></c>',
    ],
    ['', '', '', '', 2],
  ],
])('%s', async (_name, cells, values) => {
  expect(await valuesOf(cells.join(''))).toEqual(values)
})

test('phonetic hints are not part of a shared text', async () => {
  const texts = `<sst><si><t>東</t>${KANA}</si></sst>`
  const workbook = workbookOf(sheetXml('<row><c t="s"><v>0</v></c></row>'), { texts })
  expect(await read(workbook)).toEqual([{ number: 1, values: ['東'] }])
})

test('a cell without a value is empty, not the first shared string', async () => {
  const workbook = workbookOf(
    sheetXml('<row r="3"><c r="A3" t="s"/><c r="B3" t="s"><v/></c><c r="C3"><v>1</v></c></row>'),
    { texts: '<sst><si><t>first</t></si></sst>' },
  )
  expect(await read(workbook)).toEqual([{ number: 3, values: ['', '', 1] }])
})

test.each([
  ['a column that no sheet has', '<row r="7"><c r="XFE7"/></row>', 'row 7, column XFE: ', 'XFE'],
  ['one that none can have', `<row r="7"><c r="${'Z'.repeat(40)}7"/></row>`, 'row 7, column ZZZZZZ: ', 'ZZZZZZ'],
  ['the one after the last', `<row r="7"><c r="XFD7"/><c/></row>`, 'row 7, column XFE: ', 'XFE'],
  [
    'a text without end',
    `<row r="7"><c r="C7" t="str"><v>${`<!---->${'text'.repeat(250)}`.repeat(2e4)}</v></c></row>`,
    'row 7, column C: ',
    'C',
  ],
  [
    'a row without end',
    `<row r="7">${`<c t="str"><v>${'x'.repeat(1e6)}</v></c>`.repeat(17)}</row>`,
    'row 7, column Q: the row is longer than 16 MiB',
    'Q',
  ],
])('%s is an error with row and column', async (_name, rows, words, column) => {
  await expect(read(workbookOf(sheetXml(rows)))).rejects.toMatchObject({
    code: 'INVALID_FILE',
    message: expect.stringContaining(words),
    details: { row: 7, column },
  })
})

test.each([
  ['in a row', `<worksheet><sheetData><row r="1"><c><v>1</v></c></row><row r="2"><c><v>2</v>`, 'cut off after row 2'],
  ['between rows', '<worksheet><sheetData><row r="1"><c><v>1</v></c></row>', 'cut off after row 1'],
  ['in a tag', '<worksheet><sheetData><row r="1"><c r="A', 'the middle of a tag'],
  ['in a comment', '<worksheet><sheetData><!-- ', 'the middle of a tag'],
  ['nowhere near its end', `<worksheet ${'a="b" '.repeat(3e6)}`, 'longer than 16 MiB'],
  ['in a text without end', `<worksheet>${' '.repeat(18e6)}`, 'longer than 16 MiB'],
])('a sheet that ends %s is refused', async (_name, sheet, words) => {
  await expect(read(workbookOf(sheet))).rejects.toThrow(words)
})

test('very wide rows are yielded a few at a time', async () => {
  const rows = Array.from({ length: 400 }, (_, i) => `<row><c r="XFD${i + 1}"/></row>`).join('')
  const zip = await openZip(workbookOf(sheetXml(rows)))
  let count = 0
  for await (const batch of sheetRows(zip, undefined)) {
    expect(batch.length).toBeLessThanOrEqual(2)
    count += batch.length
  }
  zip.close()
  expect(count).toBe(400)
})

test.each([
  ['dd.mm.yyyy', 'date'],
  ['m/d/yy h:mm', 'date'],
  ['[$-409]mmmm', 'date'],
  ['yyyy"年"', 'date'],
  ['[h]:mm', 'elapsed'],
  ['[mm]', 'elapsed'],
  ['h AM/PM', 'time'],
  ['h"时"mm"分"', 'time'],
  ['h\\.mm', 'time'],
  ['mm"m"ss"s"', 'time'],
  ['[Red]0.00', undefined],
  ['General', undefined],
  ['0 "days"', undefined],
  ['0\\d', undefined],
  ['_d0', undefined],
  ['[$din.-241A]#,##0', undefined],
  ['0 hours', undefined],
  ['@', undefined],
])('the format %s shows a number as: %s', (code, style) => {
  expect(dateStyleOf(code)).toBe(style)
})

const UTF_16 = Buffer.from('\uFEFF', 'utf16le')
const STYLED = (style: number, number: number) => `<c s="${style}"><v>${number}</v></c>`

test('a CR LF of Excel becomes LF, and an escaped line break stays', async () => {
  const texts = '<sst>\r\n<si><t>a\r\nb\rc\nd</t></si><si><t>e_x000D_\nf&#13;</t></si></sst>'
  const cells = '<c t="s"><v>0</v></c>\r\n<c t="s"><v>1</v></c><c t="inlineStr"><is><t>g\r\nh</t></is></c>'
  const [row] = await read(workbookOf(sheetXml(`<row>${cells}</row>`), { texts }))
  expect(row?.values).toEqual(['a\nb\nc\nd', 'e\r\nf\r', 'g\nh'])
})

test.each([
  ['2024-01-05T00:00:00', '2024-01-05'],
  ['2024-01-05', '2024-01-05'],
  ['2024-01-05T10:30:00.000Z', '2024-01-05T10:30:00'],
  ['2024-01-05T10:30', '2024-01-05T10:30:00'],
  ['10:30:00', '10:30:00'],
  ['T10:30', '10:30:00'],
  ['soon', 'soon'],
])('a cell with the ISO 8601 date %s is %s', async (date, value) => {
  expect(await valuesOf(`<c t="d"><v>${date}</v></c>`)).toEqual([value])
})

test.each([
  [false, '1900-01-01T12:00:00', ['#NUM!', '12:00:00']],
  [true, '1904-01-02T12:00:00', ['1903-12-31T12:00:00', '1904-01-01T12:00:00']],
])(
  'elapsed time exceeds 24 hours, and a date before the calendar is an error value (from 1904: %s)',
  async (date1904, day, dates) => {
    const times = [0.75, 0, 1.5].map((n) => STYLED(3, n))
    const elapsed = [0.75, 1.5, 40, -0.0625].map((n) => STYLED(5, n))
    const rows = sheetXml(`<row>${[...times, ...elapsed, STYLED(2, -0.5), STYLED(2, 0.5)].join('')}</row>`)
    expect((await read(workbookOf(rows, { date1904 })))[0]?.values).toEqual([
      ...['18:00:00', '00:00:00', day],
      ...['18:00:00', '36:00:00', '960:00:00', '-01:30:00'],
      ...dates,
    ])
  },
)

test('parts in UTF-16 are read, with a byte order mark and without', async () => {
  const xml = `<?xml version="1.0" encoding="UTF-16"?>${sheetXml(`<row><c t="s"><v>0</v></c>${'<c><v>1</v></c>'.repeat(300)}</row>`)}`
  const texts = '<sst><si><t>Größe 東京</t></si></sst>'
  const big = (text: string) => Buffer.from(text, 'utf16le').swap16()
  const little = workbookOf(Buffer.concat([UTF_16, Buffer.from(xml, 'utf16le')]), {
    texts: Buffer.from(texts, 'utf16le'),
  })
  expect((await read(little))[0]?.values.slice(0, 2)).toEqual(['Größe 東京', 1])
  expect((await read(workbookOf(big(xml), { texts: big(texts) })))[0]?.values.slice(0, 2)).toEqual(['Größe 東京', 1])
})

test("a number equals JavaScript's, to the last bit", () => {
  const property = fc.property(fc.oneof(aNumber, fc.stringMatching(/^-?[\d.]{0,18}$/)), (text) => {
    const number = decimal(`<v>${text}</v>`, 3, 3 + text.length)
    if (number !== undefined) expect(number, text).toBe(Number(text))
  })
  fc.assert(property, { numRuns: 20_000, seed: SEED })
  expect(decimal('12.5', 0, 4)).toBe(12.5)
  expect(decimal('-0', 0, 2)).toBe(-0)
})
