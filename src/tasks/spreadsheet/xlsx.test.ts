import { existsSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { streamXlsxRows, writeXlsx as writeWorkbook } from 'hucre/xlsx'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ReadSpreadsheetOptions, readSpreadsheet, type Source, writeSpreadsheet } from './spreadsheet.ts'

let dir: string
let big: string
const BIG_ROWS = 200_000
const systemTemp = process.env.TMPDIR

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'xlsx-test-'))
  // Spooled files go there too, so that a test can see whether they are removed.
  process.env.TMPDIR = dir
  big = join(dir, 'big.xlsx')
  await writeSpreadsheet(big, {
    header: ['id', 'name'],
    rows: Array.from({ length: BIG_ROWS }, (_, i) => [i, `Item ${i}`]),
  })
}, 60_000)
afterAll(() => {
  if (systemTemp === undefined) delete process.env.TMPDIR
  else process.env.TMPDIR = systemTemp
  rmSync(dir, { recursive: true, force: true })
})

/** Header and rows of a workbook; the rows as [number, ...values]. */
async function read(source: Source, options: ReadSpreadsheetOptions = {}) {
  const sheet = await readSpreadsheet(source, { format: 'xlsx', ...options })
  const rows: unknown[][] = []
  for await (const { number, values } of sheet.rows) rows.push([number, ...values])
  return { header: sheet.header, rows }
}

function heapMegabytes(): number {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
  return process.memoryUsage().heapUsed / 1024 ** 2
}

/** How many descriptors this process has open below the test's folder; 0 where the system does not tell. */
function openFiles(): number {
  if (!existsSync('/proc/self/fd')) return 0
  return readdirSync('/proc/self/fd').filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`).startsWith(dir)
    } catch {
      return false
    }
  }).length
}

const spooled = () => readdirSync(dir).filter((name) => name.startsWith('highkiq-'))

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
  expect(await read(workbook)).toEqual({
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
  expect((await read(workbook)).rows).toEqual([[2, '2024-05-05']])
})

test('empty rows are skipped and counted, short rows filled up', async () => {
  const rows = [[], ['a', 'b', 'c', null], [], [1, 2, 3], [null, '', null], [4]]
  const workbook = await writeWorkbook({ sheets: [{ name: 'S', rows }] })
  expect(await read(workbook)).toEqual({
    header: ['a', 'b', 'c'],
    rows: [
      [4, 1, 2, 3],
      [6, 4, '', ''],
    ],
  })
})

test('a value right of the header is an error with row and column', async () => {
  const workbook = await writeWorkbook({ sheets: [{ name: 'S', rows: [['a'], [1], [2, null, 'note']] }] })
  await expect(read(workbook)).rejects.toMatchObject({
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
  expect((await read(workbook)).header).toEqual(['y'])
  expect((await read(workbook, { sheet: 0 })).header).toEqual(['x'])
  expect((await read(workbook, { sheet: '顧客' })).header).toEqual(['z'])
  await expect(read(workbook, { sheet: 'prices' })).rejects.toMatchObject({
    code: 'INVALID_FILE',
    message: 'the workbook does not have the sheet "prices": its sheets are "Lists", "Prices & more", "顧客"',
  })
})

test.each([
  ['a path', (path: string) => path],
  ['bytes', (path: string) => readFileSync(path)],
  ['a view into a larger buffer', (path: string) => Buffer.concat([Buffer.alloc(9), readFileSync(path)]).subarray(9)],
  ['a Node stream', (path: string) => Readable.from([readFileSync(path)])],
  ['a web stream', (path: string) => new Blob([readFileSync(path)]).stream()],
])('a workbook is read from %s and nothing is left open or behind', async (_name, sourceOf) => {
  const path = join(dir, 'small.xlsx')
  await writeSpreadsheet(path, { header: ['a'], rows: [['x'], ['y']] })
  expect((await read(sourceOf(path))).rows).toEqual([
    [2, 'x'],
    [3, 'y'],
  ])
  expect(spooled()).toEqual([])
  await expect.poll(openFiles).toBe(0)
})

test('leaving the loop, an error and close() each close the file and remove the temporary one', async () => {
  const stream = () => Readable.from([readFileSync(big)])
  const left = await readSpreadsheet(stream())
  expect(spooled()).toHaveLength(1)
  for await (const _row of left.rows) break
  expect(spooled()).toEqual([])
  await expect(read(stream(), { maxRows: 3 })).rejects.toMatchObject({ code: 'TOO_MANY_ROWS' })
  const closed = await readSpreadsheet(stream())
  await closed.close()
  await closed.close()
  await expect(read(Readable.from([Buffer.from('PK\x03\x04 nonsense')]))).rejects.toMatchObject({
    code: 'INVALID_FILE',
  })
  expect(spooled()).toEqual([])
  await expect.poll(openFiles).toBe(0)
})

test('200,000 rows are read with little memory, and only as fast as they are consumed', async () => {
  const before = heapMegabytes()
  const sheet = await readSpreadsheet(big)
  let count = 0
  let most = 0
  for await (const row of sheet.rows) {
    count++
    // Time for the parser to run ahead, if it did.
    if (count === 1) await sleep(200)
    if (count === 1 || count % 50_000 === 0) most = Math.max(most, heapMegabytes())
    if (count === BIG_ROWS) expect(row).toEqual({ number: 200_001, values: [199_999, 'Item 199999'] })
  }
  expect(count).toBe(BIG_ROWS)
  expect(most - before).toBeLessThan(20)
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
  await expect(read((await bytes[kind]?.()) as Uint8Array)).rejects.toMatchObject({
    code: 'INVALID_FILE',
    message: expect.stringMatching(new RegExp(`^[^\\n]*${words}[^\\n]*$`)),
  })
})

test('a text that looks like a formula is written as text', async () => {
  const path = join(dir, 'formula.xlsx')
  await writeSpreadsheet(path, { header: ['a'], rows: [['=1+1'], ['@x'], ['-12.5']] })
  const rows: unknown[] = []
  for await (const row of streamXlsxRows(readFileSync(path))) rows.push(row.values)
  expect(rows).toEqual([['a'], ['=1+1'], ['@x'], ['-12.5']])
  expect((await read(path)).rows.map((row) => row[1])).toEqual(['=1+1', '@x', '-12.5'])
})

test('values of every type are read back; those without a type in a workbook as text', async () => {
  const path = join(dir, 'types.xlsx')
  const row = [1, -0.25, true, 12n, { a: [1] }, Number.POSITIVE_INFINITY, new Date(Date.UTC(1812, 0, 2)), undefined]
  const dates = [new Date(Date.UTC(1900, 0, 1)), new Date(Date.UTC(2024, 1, 29, 23, 59, 59)), new Date(Number.NaN)]
  await writeSpreadsheet(path, { header: [...'abcdefgh'], rows: [row, dates] })
  expect((await read(path)).rows).toEqual([
    [2, 1, -0.25, true, '12', '{"a":[1]}', 'Infinity', '1812-01-02', ''],
    [3, '1900-01-01', '2024-02-29T23:59:59', '', '', '', '', '', ''],
  ])
})

test("a text above Excel's limit is an error with its cell", async () => {
  const rows = [['x'.repeat(32_767)], ['x'.repeat(32_768)]]
  await expect(writeSpreadsheet(join(dir, 'long.xlsx'), { header: ['a'], rows })).rejects.toMatchObject({
    code: 'REPORT_FAILED',
    message: expect.stringContaining('row 3, column A'),
  })
})

test('a file that is not a workbook is refused when it is read from a path', async () => {
  const path = join(dir, 'broken.xlsx')
  writeFileSync(path, readFileSync(big).subarray(0, 5000))
  await expect(read(path)).rejects.toMatchObject({ code: 'INVALID_FILE' })
  await expect.poll(openFiles).toBe(0)
})

test('half a surrogate pair in a workbook is read as a replacement character', async () => {
  const rows = [
    ['na_xD83D_me', 'b'],
    ['_xDC0E_ x', '🐎'],
  ]
  const workbook = await writeWorkbook({ sheets: [{ name: 'S', rows }] })
  expect(await read(Buffer.from(workbook))).toEqual({ header: ['na\ufffdme', 'b'], rows: [[2, '\ufffd x', '🐎']] })
})
