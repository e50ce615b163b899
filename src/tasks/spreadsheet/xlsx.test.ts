import { readFileSync } from 'node:fs'
import { streamXlsxRows, writeXlsx as writeWorkbook } from 'hucre/xlsx'
import { expect, test } from 'vitest'
import { readXlsx, SpreadsheetFolder } from '../../../test/spreadsheet.ts'
import { writeSpreadsheet } from './write.ts'

const folder = new SpreadsheetFolder()

test('each kind of cell is read as its value', async () => {
  const cells = new Map(
    [
      { value: 8, formula: 'SUM(3,5)', formulaResult: 8 },
      { value: 'ab', formula: '"a"&"b"', formulaResult: 'ab' },
      { value: '#N/A', type: 'error' as const },
      { richText: [{ text: 'bold', font: { bold: true } }, { text: ' plain' }] },
      { value: 0.75, style: { numFmt: 'hh:mm' } },
      { value: 12.5, style: { numFmt: '0.00 "days"' } },
    ].map((cell, index) => [`2,${index}`, cell] as const),
  )
  const workbook = await writeWorkbook({
    sheets: [
      {
        name: 'S',
        rows: [
          ['a', 'b', 'c', 'd', 'e', 'f'],
          [1.5, true, 'text', new Date(Date.UTC(2024, 1, 29)), new Date(Date.UTC(2024, 0, 2, 12, 29, 59)), null],
        ],
        cells,
      },
    ],
  })
  expect(await readXlsx(workbook)).toEqual({
    header: ['a', 'b', 'c', 'd', 'e', 'f'],
    rows: [
      [2, 1.5, true, 'text', '2024-02-29', '2024-01-02T12:29:59', ''],
      [3, 8, 'ab', '#N/A', 'bold plain', '18:00:00', 12.5],
    ],
  })
})

test('dates of a workbook that counts from 1904 are right', async () => {
  const rows = [['day'], [new Date(Date.UTC(2024, 4, 5))]]
  const workbook = await writeWorkbook({ sheets: [{ name: 'S', rows }], dateSystem: '1904' })
  expect((await readXlsx(workbook)).rows).toEqual([[2, '2024-05-05']])
})

test('empty rows are skipped and counted, short rows filled up', async () => {
  const rows = [[], ['a', 'b', 'c', null], [], [1, 2, 3], [null, '', null], [4]]
  const workbook = await writeWorkbook({ sheets: [{ name: 'S', rows }] })
  expect(await readXlsx(workbook)).toEqual({
    header: ['a', 'b', 'c'],
    rows: [
      [4, 1, 2, 3],
      [6, 4, '', ''],
    ],
  })
})

test('a value right of the header is an error with row and column', async () => {
  const workbook = await writeWorkbook({ sheets: [{ name: 'S', rows: [['a'], [1], [2, null, 'note']] }] })
  await expect(readXlsx(workbook)).rejects.toMatchObject({
    code: 'INVALID_FILE',
    message: expect.stringContaining('row 3, column C'),
  })
})

test('a sheet is chosen by name or index, by default the first that is not hidden', async () => {
  const workbook = await writeWorkbook({
    sheets: [
      { name: 'Lists', rows: [['x']], hidden: true },
      { name: 'Prices & more', rows: [['y']] },
      { name: '顧客', rows: [['z']] },
    ],
  })
  expect((await readXlsx(workbook)).header).toEqual(['y'])
  expect((await readXlsx(workbook, { sheet: 0 })).header).toEqual(['x'])
  expect((await readXlsx(workbook, { sheet: '顧客' })).header).toEqual(['z'])
  await expect(readXlsx(workbook, { sheet: 'prices' })).rejects.toMatchObject({
    code: 'INVALID_FILE',
    message: 'the workbook does not have the sheet "prices": its sheets are "Lists", "Prices & more", "顧客"',
  })
})

test.each([
  ['protected by a password', 'password-protected'],
  ['cut off', 'damaged or cut off'],
  ['damaged inside', 'damaged'],
  ['another kind of zip', 'not an .xlsx workbook'],
])('a file that is %s is refused', async (kind, words) => {
  const sheets = [{ name: 'S', rows: Array.from({ length: 500 }, (_, i) => [`name ${i}`, Math.sin(i)]) }]
  const good = Buffer.from(await writeWorkbook({ sheets }))
  const half = good.length >> 1
  const bytes: Record<string, () => Promise<Uint8Array>> = {
    'protected by a password': () => writeWorkbook({ sheets, encryption: { password: 'x', spinCount: 10 } }),
    'cut off': async () => good.subarray(0, half),
    'damaged inside': async () => {
      const at = good.indexOf('xl/worksheets/sheet1.xml') + 60
      return Buffer.concat([good.subarray(0, at), Buffer.alloc(20, 0x55), good.subarray(at + 20)])
    },
    'another kind of zip': async () => Buffer.from(`PK\x05\x06${'\0'.repeat(18)}`),
  }
  await expect(readXlsx((await bytes[kind]?.()) as Uint8Array)).rejects.toMatchObject({
    code: 'INVALID_FILE',
    message: expect.stringMatching(new RegExp(`^[^\\n]*${words}[^\\n]*$`)),
  })
})

test('a text that looks like a formula is written as text', async () => {
  const path = folder.at('formula.xlsx')
  await writeSpreadsheet(path, { header: ['a'], rows: [['=1+1'], ['@x'], ['-12.5']] })
  const rows: unknown[] = []
  for await (const row of streamXlsxRows(readFileSync(path))) rows.push(row.values)
  expect(rows).toEqual([['a'], ['=1+1'], ['@x'], ['-12.5']])
  expect((await readXlsx(path)).rows.map((row) => row[1])).toEqual(['=1+1', '@x', '-12.5'])
})

test('values of every type are read back; those without a type in a workbook as text', async () => {
  const path = folder.at('types.xlsx')
  const row = [1, -0.25, true, 12n, { a: [1] }, Number.POSITIVE_INFINITY, new Date(Date.UTC(1812, 0, 2)), undefined]
  const dates = [new Date(Date.UTC(1900, 0, 1)), new Date(Date.UTC(2024, 1, 29, 23, 59, 59)), new Date(Number.NaN)]
  await writeSpreadsheet(path, { header: [...'abcdefgh'], rows: [row, dates] })
  expect((await readXlsx(path)).rows).toEqual([
    [2, 1, -0.25, true, '12', '{"a":[1]}', 'Infinity', '1812-01-02', ''],
    [3, '1900-01-01', '2024-02-29T23:59:59', '', '', '', '', '', ''],
  ])
})

test("a text above Excel's limit is an error with its cell", async () => {
  const rows = [['x'.repeat(32_767)], ['x'.repeat(32_768)]]
  await expect(writeSpreadsheet(folder.at('long.xlsx'), { header: ['a'], rows })).rejects.toMatchObject({
    code: 'REPORT_FAILED',
    message: expect.stringContaining('row 3, column A'),
  })
})

test('half a surrogate pair in a workbook is read as a replacement character', async () => {
  const rows = [
    ['na_xD83D_me', 'b'],
    ['_xDC0E_ x', '🐎'],
  ]
  const workbook = await writeWorkbook({ sheets: [{ name: 'S', rows }] })
  expect(await readXlsx(Buffer.from(workbook))).toEqual({ header: ['na\ufffdme', 'b'], rows: [[2, '\ufffd x', '🐎']] })
})
