import { expect, test } from 'vitest'
import { read, sheetXml, valuesOf, workbookOf } from '../../../test/workbook.ts'
import { sheetRows } from './workbook.ts'
import { openZip } from './zip-check.ts'

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

test('an empty cell far to the right makes no row and no wider row', async () => {
  const rows = '<row r="1"><c r="XFD1"/></row><row r="2"><c r="B2"/><c r="D2"><v>1</v></c><c r="F2" t="s"/></row>'
  expect(await read(workbookOf(sheetXml(rows)))).toEqual([{ number: 2, values: ['', '', '', 1] }])
})

test('a sheet with far more empty columns than values is refused', async () => {
  const rows = Array.from({ length: 2000 }, (_, i) => `<row r="${i + 1}"><c r="XFD${i + 1}"><v>1</v></c></row>`).join(
    '',
  )
  const zip = await openZip(workbookOf(sheetXml(rows)))
  const reading = async () => {
    let last = 0
    for await (const batch of sheetRows(zip, undefined)) last = batch.at(-1)?.number ?? last
    return last
  }
  await expect(reading()).rejects.toMatchObject({
    code: 'INVALID_FILE',
    message: expect.stringMatching(/^row \d+, column XFD: .*delete the empty columns/),
  })
  zip.close()
})

test.each([
  ['a row', `<row x'=" y'></row>`],
  ['a cell', `<row><c x'=" y'></c></row>`],
])('%s with an attribute that does not end is refused', async (_name, rows) => {
  await expect(read(workbookOf(sheetXml(rows)))).rejects.toThrow('the value of an attribute does not end')
})

test.each([
  ['usual', '<c r="B7" t="s"><v>1</v></c>'],
  ['unusual', "<c t='s' r='B7'><v>1</v></c>"],
  ['wrong', '<c r="B7" t="s"><v>-1</v></c>'],
])('a cell of %s shape whose text is not in the workbook is refused', async (_name, cell) => {
  const workbook = workbookOf(sheetXml(`<row r="7">${cell}</row>`), { texts: '<sst><si><t>only</t></si></sst>' })
  await expect(read(workbook)).rejects.toMatchObject({
    code: 'INVALID_FILE',
    message: expect.stringContaining('row 7, column B: the workbook does not have the text of this cell'),
  })
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
  const rows = Array.from({ length: 400 }, (_, i) => `<row><c r="XFD${i + 1}"><v>1</v></c></row>`).join('')
  const zip = await openZip(workbookOf(sheetXml(rows)))
  let count = 0
  for await (const batch of sheetRows(zip, undefined)) {
    expect(batch.length).toBeLessThanOrEqual(2)
    count += batch.length
  }
  zip.close()
  expect(count).toBe(400)
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
