import { existsSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { streamXlsxRows, writeXlsx as writeWorkbook } from 'hucre/xlsx'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openFile, type ReadFileOptions } from './file.ts'
import type { Source } from './source.ts'
import { writeSpreadsheet } from './write.ts'

const BIG_ROWS = 200_000
const systemTemp = process.env.TMPDIR
const dir = mkdtempSync(join(tmpdir(), 'file-test-'))
const big = { csv: join(dir, 'big.csv'), xlsx: join(dir, 'big.xlsx') }

beforeAll(async () => {
  // Spooled files go there too, so that a test can see whether they are removed.
  process.env.TMPDIR = dir
  const lines = ['id,name,city,price,email']
  for (let i = 1; i <= BIG_ROWS; i++) lines.push(`${i},"Item, no. ${i}",München,${i * 1.5},x${i}@example.com`)
  writeFileSync(big.csv, lines.join('\n'))
  const rows = Array.from({ length: BIG_ROWS }, (_, i) => [i, `Item ${i}`])
  await writeSpreadsheet(big.xlsx, { header: ['id', 'name'], rows })
}, 60_000)
afterAll(() => {
  if (systemTemp === undefined) delete process.env.TMPDIR
  else process.env.TMPDIR = systemTemp
  rmSync(dir, { recursive: true, force: true })
})

/** Returns the header and the rows, each as [number, ...values]. */
async function read(source: Source, options: ReadFileOptions = {}) {
  const { header, rows } = await openFile(source, options)
  const all: unknown[][] = []
  for await (const { number, values } of rows) all.push([number, ...Object.values(values)])
  return { header, rows: all }
}

const readCsv = (source: Source, options: ReadFileOptions = {}) =>
  read(typeof source === 'string' ? Buffer.from(source) : source, { format: 'csv', ...options })

const readXlsx = (source: Source, options: ReadFileOptions = {}) => read(source, { format: 'xlsx', ...options })

const gc: () => void = (() => {
  setFlagsFromString('--expose-gc')
  return runInNewContext('gc')
})()

function heapMegabytes(): number {
  gc()
  return process.memoryUsage().heapUsed / 1024 ** 2
}

/** Returns how many files of the test's folder this process has open; 0 where the system does not tell. */
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

test.each([
  ['csv', 15, ['200000', 'Item, no. 200000', 'München', '300000', 'x200000@example.com']],
  ['xlsx', 20, [199_999, 'Item 199999']],
] as const)(
  '200,000 rows of %s are read with little memory, only as fast as they are consumed',
  async (format, megabytes, last) => {
    const before = heapMegabytes()
    let count = 0
    let most = 0
    for await (const { number, values } of (await openFile(big[format])).rows) {
      count++
      // Time for the parser to run ahead, if it did.
      if (count === 1) await sleep(200)
      if (count === 1 || count % 40_000 === 0) most = Math.max(most, heapMegabytes())
      if (count === BIG_ROWS) expect([number, ...Object.values(values)]).toEqual([200_001, ...last])
    }
    expect(count).toBe(BIG_ROWS)
    expect(most - before).toBeLessThan(megabytes)
    await expect.poll(openFiles).toBe(0)
  },
)

test.each<[string, copies: number, sourceOf: () => Source]>([
  ['a CSV file', 0, () => big.csv],
  ['a workbook that came as a stream', 1, () => Readable.from([readFileSync(big.xlsx)])],
])(
  'leaving the loop, an error and close() each close %s and remove its temporary copy',
  async (_name, copies, sourceOf) => {
    const left = await openFile(sourceOf())
    expect(spooled()).toHaveLength(copies)
    for await (const _row of left.rows) break
    expect(spooled()).toEqual([])
    await expect(read(sourceOf(), { maxRows: 3 })).rejects.toMatchObject({ code: 'TOO_MANY_ROWS' })
    const closed = await openFile(sourceOf())
    await closed.close()
    await closed.close()
    expect(spooled()).toEqual([])
    await expect.poll(openFiles).toBe(0)
  },
)

// CSV -----------------------------------------------------------------------------------------------------------

test.each<[string, text: string, header: string[], rows: unknown[][]]>([
  [
    'values are unchanged strings',
    'id, name ,price\n007, Ann ,1.50\n',
    ['id', 'name', 'price'],
    [[2, '007', ' Ann ', '1.50']],
  ],
  [
    'quoted cells may contain delimiters, quotes and line breaks',
    'a,b\n"x,""y""","line 1\r\nline 2"\n"","z"\n',
    ['a', 'b'],
    [
      [2, 'x,"y"', 'line 1\r\nline 2'],
      [3, '', 'z'],
    ],
  ],
  [
    'blank lines and rows without any value are skipped and counted',
    '\n\na,b\n1,2\n\n,\n3,4\n\n',
    ['a', 'b'],
    [
      [4, '1', '2'],
      [7, '3', '4'],
    ],
  ],
  [
    'a row with a line break in a quoted cell counts as one row',
    'a,b\n"1\n\n1",2\n3,4',
    ['a', 'b'],
    [
      [2, '1\n\n1', '2'],
      [3, '3', '4'],
    ],
  ],
  ['a short row is filled up', 'a,b,c\n1\n', ['a', 'b', 'c'], [[2, '1', '', '']]],
  [
    'a long row may have empty extra cells',
    'a,b,\n1,2,\n3,4,,,\n',
    ['a', 'b'],
    [
      [2, '1', '2'],
      [3, '3', '4'],
    ],
  ],
])('%s', async (_name, text, header, rows) => {
  expect(await readCsv(text)).toEqual({ header, rows })
})

test('a long row is an error with its number', async () => {
  await expect(readCsv('a,b\n1,2\n1,2,3\n')).rejects.toMatchObject({
    code: 'INVALID_FILE',
    message: expect.stringContaining('row 3, column C'),
    details: { row: 3, column: 'C' },
  })
})

test.each([
  ['comma', 'a,"x;y;z|t",c', ['a', 'x;y;z|t', 'c']],
  ['semicolon', 'a;"x,y,z,t";c', ['a', 'x,y,z,t', 'c']],
  ['tab', 'a\tb\tc', ['a', 'b', 'c']],
  ['bar', 'a|b|c', ['a', 'b', 'c']],
  ['none', 'only', ['only']],
])('the delimiter is found in the header line: %s', async (_name, line, header) => {
  expect((await readCsv(`${line}\n`)).header).toEqual(header)
})

test('a given delimiter is used instead of the most frequent one', async () => {
  expect((await readCsv('a,b;c,d\n', { delimiter: ';' })).header).toEqual(['a,b', 'c,d'])
})

test('line ends may be mixed and may fall between two pieces of a stream', async () => {
  const pieces = ['a,b\r', '\n1,2', '\r\n3,4\n5', ',6\r7,8']
  const { rows } = await readCsv(Readable.from(pieces.map((piece) => Buffer.from(piece))))
  expect(rows).toEqual([
    [2, '1', '2'],
    [3, '3', '4'],
    [4, '5', '6'],
    [5, '7', '8'],
  ])
})

const TEXT = 'naïve,東京\n"שלום, עולם",😀\n'
const utf16le = Buffer.from(`\uFEFF${TEXT}`, 'utf16le')

test.each([
  ['UTF-8', Buffer.from(TEXT)],
  ['UTF-8 with BOM', Buffer.from(`\uFEFF${TEXT}`)],
  ['UTF-16LE with BOM', utf16le],
  ['UTF-16BE with BOM', Buffer.from(utf16le).swap16()],
  ['UTF-16LE without BOM', utf16le.subarray(2)],
  ['UTF-16BE without BOM', Buffer.from(utf16le).swap16().subarray(2)],
])('%s is read, also one byte at a time', async (_name, bytes) => {
  const expected = { header: ['naïve', '東京'], rows: [[2, 'שלום, עולם', '😀']] }
  expect(await readCsv(bytes)).toEqual(expected)
  expect(await readCsv(Readable.from([...bytes].map((byte) => Buffer.from([byte]))))).toEqual(expected)
})

test('a web stream is read', async () => {
  expect((await readCsv(new Blob(['a,b\n1,2\n']).stream())).rows).toEqual([[2, '1', '2']])
})

test('ISO 8859-1 is read as windows-1252', async () => {
  const { rows } = await readCsv(Buffer.from('a,b\n1,x\n2,M\xfcnchen\n', 'latin1'))
  expect(rows.at(-1)).toContain('München')
})

test.each([
  ['bytes that no encoding has', Buffer.from('a,b\n1,x\n2,M\x810nchen\n3,y\n', 'latin1'), 3],
  ['cut in the middle of a character', Buffer.from('a,b\n1,ü').subarray(0, -1), 2],
  ['in the header', Buffer.from('a,M\x810ller\n1,2\n', 'latin1'), 1],
])('text that is not UTF-8 is an error with its row and says what to do: %s', async (_name, bytes, row) => {
  for (const source of [bytes, Readable.from([...bytes].map((byte) => Buffer.from([byte])))]) {
    const error = await readCsv(source).catch((thrown) => thrown)
    expect(error).toMatchObject({
      code: 'INVALID_FILE',
      message: expect.stringContaining('save the file as "CSV UTF-8"'),
    })
    expect(error.details.row).toBe(row)
  }
})

test.each([
  ['a quote that is not closed', 'a,b\n1,2\n3,"4\n5,6\n7,8\n', 3, 'never closed'],
  ['text after a closing quote', 'a,b\n1,2\n"3" x,4\n', 3, 'closing quote'],
  ['a quote inside a plain cell', 'a,b\n1,5" pipe\n', 2, 'in the middle of a cell'],
  ['a NUL character', 'a,b\n1,2\n3,\0\n', 3, 'NUL'],
])('%s is an error with its row', async (_name, text, row, words) => {
  await expect(readCsv(text)).rejects.toMatchObject({
    code: 'INVALID_FILE',
    message: expect.stringMatching(new RegExp(`^row ${row}\\b.*${words}[^\\n]*$`)),
    details: { row },
  })
})

test('an unclosed quote does not load the file into memory', async () => {
  const endless = Readable.from(
    (function* () {
      yield Buffer.from('a,b\n1,"')
      for (;;) yield Buffer.alloc(1024 ** 2, 'x')
    })(),
  )
  await expect(readCsv(endless)).rejects.toMatchObject({
    code: 'INVALID_FILE',
    message: expect.stringContaining('row 2'),
  })
  expect(endless.destroyed).toBe(true)
})

test('any table is read back unchanged, from chunks of any size', async () => {
  const cell = fc.string({ unit: fc.constantFrom('a', ' ', ',', ';', '"', '\n', '\r', 'é', '漢', '😀') })
  const row = fc.tuple(cell, cell, fc.constant('.'))
  await fc.assert(
    fc.asyncProperty(fc.array(row), fc.integer({ min: 1, max: 9 }), async (rows, size) => {
      const quoted = rows.map((cells) => cells.map((text) => `"${text.replaceAll('"', '""')}"`).join(','))
      const bytes = Buffer.from(['x,y,z', ...quoted].join('\r\n'))
      const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) =>
        bytes.subarray(i * size, (i + 1) * size),
      )
      expect((await readCsv(Readable.from(pieces))).rows.map((values) => values.slice(1))).toEqual(rows)
    }),
    { numRuns: 100 },
  )
})

test('a stream is read only as fast as its rows are consumed, and stays open when the loop ends', async () => {
  let given = 0
  let finished = false
  async function* bytes() {
    try {
      yield Buffer.from('a,b\n')
      for (let i = 0; i < 10_000; i++) {
        given++
        yield Buffer.from('1,2\n'.repeat(1000))
      }
    } finally {
      finished = true
    }
  }
  const { rows } = await openFile(Readable.from(bytes()), { format: 'csv' })
  let count = 0
  for await (const _row of rows) {
    if (++count < 5) continue
    await sleep(50)
    break
  }
  expect(given).toBeLessThan(100)
  await expect.poll(() => finished).toBe(true)
})

test('an error of the given stream is passed on unchanged', async () => {
  const lost = new Error('connection lost')
  const source = Readable.from(
    (async function* () {
      yield Buffer.from('a,b\n1,2\n')
      throw lost
    })(),
  )
  await expect(readCsv(source)).rejects.toBe(lost)
})

// XLSX ----------------------------------------------------------------------------------------------------------

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
  ['a path', (path: string) => path],
  ['bytes', (path: string) => readFileSync(path)],
  ['a view into a larger buffer', (path: string) => Buffer.concat([Buffer.alloc(9), readFileSync(path)]).subarray(9)],
  ['a Node stream', (path: string) => Readable.from([readFileSync(path)])],
  ['a web stream', (path: string) => new Blob([readFileSync(path)]).stream()],
])('a workbook is read from %s and nothing is left open or behind', async (_name, sourceOf) => {
  const path = join(dir, 'small.xlsx')
  await writeSpreadsheet(path, { header: ['a'], rows: [['x'], ['y']] })
  expect((await readXlsx(sourceOf(path))).rows).toEqual([
    [2, 'x'],
    [3, 'y'],
  ])
  expect(spooled()).toEqual([])
  await expect.poll(openFiles).toBe(0)
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
  const path = join(dir, 'formula.xlsx')
  await writeSpreadsheet(path, { header: ['a'], rows: [['=1+1'], ['@x'], ['-12.5']] })
  const rows: unknown[] = []
  for await (const row of streamXlsxRows(readFileSync(path))) rows.push(row.values)
  expect(rows).toEqual([['a'], ['=1+1'], ['@x'], ['-12.5']])
  expect((await readXlsx(path)).rows.map((row) => row[1])).toEqual(['=1+1', '@x', '-12.5'])
})

test('values of every type are read back; those without a type in a workbook as text', async () => {
  const path = join(dir, 'types.xlsx')
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
  await expect(writeSpreadsheet(join(dir, 'long.xlsx'), { header: ['a'], rows })).rejects.toMatchObject({
    code: 'REPORT_FAILED',
    message: expect.stringContaining('row 3, column A'),
  })
})

test('a file that is not a workbook is refused, also as a stream', async () => {
  const path = join(dir, 'broken.xlsx')
  writeFileSync(path, readFileSync(big.xlsx).subarray(0, 5000))
  await expect(readXlsx(path)).rejects.toMatchObject({ code: 'INVALID_FILE' })
  const nonsense = Readable.from([Buffer.from('PK\x03\x04 nonsense')])
  await expect(readXlsx(nonsense)).rejects.toMatchObject({ code: 'INVALID_FILE' })
  expect(spooled()).toEqual([])
  await expect.poll(openFiles).toBe(0)
})

test('half a surrogate pair in a workbook is read as a replacement character', async () => {
  const rows = [
    ['na_xD83D_me', 'b'],
    ['_xDC0E_ x', '🐎'],
  ]
  const workbook = await writeWorkbook({ sheets: [{ name: 'S', rows }] })
  expect(await readXlsx(Buffer.from(workbook))).toEqual({ header: ['na\ufffdme', 'b'], rows: [[2, '\ufffd x', '🐎']] })
})
