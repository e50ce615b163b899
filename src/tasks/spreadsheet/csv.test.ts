import { existsSync, mkdtempSync, readdirSync, readlinkSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ReadSpreadsheetOptions, readSpreadsheet, type Source } from './spreadsheet.ts'

let dir: string
let big: string
const BIG_ROWS = 200_000

beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'csv-test-'))
  big = join(dir, 'big.csv')
  const lines = ['id,name,city,price,email']
  for (let i = 1; i <= BIG_ROWS; i++) lines.push(`${i},"Item, no. ${i}",München,${i * 1.5},x${i}@example.com`)
  writeFileSync(big, lines.join('\n'))
})
afterAll(() => rmSync(dir, { recursive: true, force: true }))

/** Header and rows of a CSV text; the rows as [number, ...values]. */
async function read(source: Source, options: ReadSpreadsheetOptions = {}) {
  const sheet = await readSpreadsheet(typeof source === 'string' ? Buffer.from(source) : source, {
    format: 'csv',
    ...options,
  })
  const rows: unknown[][] = []
  for await (const { number, values } of sheet.rows) rows.push([number, ...values])
  return { header: sheet.header, rows }
}

const gc: () => void = (() => {
  setFlagsFromString('--expose-gc')
  return runInNewContext('gc')
})()

function heapMegabytes(): number {
  gc()
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

test('values are unchanged strings', async () => {
  expect(await read('id, name ,price\n007, Ann ,1.50\n')).toEqual({
    header: ['id', 'name', 'price'],
    rows: [[2, '007', ' Ann ', '1.50']],
  })
})

test('quoted cells may contain delimiters, quotes and line breaks', async () => {
  const { rows } = await read('a,b\n"x,""y""","line 1\r\nline 2"\n"","z"\n')
  expect(rows).toEqual([
    [2, 'x,"y"', 'line 1\r\nline 2'],
    [3, '', 'z'],
  ])
})

test.each([
  ['comma', 'a,"x;y;z|t",c', ['a', 'x;y;z|t', 'c']],
  ['semicolon', 'a;"x,y,z,t";c', ['a', 'x,y,z,t', 'c']],
  ['tab', 'a\tb\tc', ['a', 'b', 'c']],
  ['bar', 'a|b|c', ['a', 'b', 'c']],
  ['none', 'only', ['only']],
])('the delimiter is found in the header line: %s', async (_name, line, header) => {
  expect((await read(`${line}\n`)).header).toEqual(header)
})

test('a given delimiter is used instead of the most frequent one', async () => {
  expect((await read('a,b;c,d\n', { delimiter: ';' })).header).toEqual(['a,b', 'c,d'])
})

test('line ends may be mixed and may fall between two pieces of a stream', async () => {
  const pieces = ['a,b\r', '\n1,2', '\r\n3,4\n5', ',6\r7,8']
  const { rows } = await read(Readable.from(pieces.map((piece) => Buffer.from(piece))))
  expect(rows).toEqual([
    [2, '1', '2'],
    [3, '3', '4'],
    [4, '5', '6'],
    [5, '7', '8'],
  ])
})

test('blank lines and rows without any value are skipped and counted', async () => {
  const { header, rows } = await read('\n\na,b\n1,2\n\n,\n3,4\n\n')
  expect(header).toEqual(['a', 'b'])
  expect(rows).toEqual([
    [4, '1', '2'],
    [7, '3', '4'],
  ])
})

test('a row with a line break in a quoted cell counts as one row', async () => {
  const { rows } = await read('a,b\n"1\n\n1",2\n3,4')
  expect(rows.map(([number]) => number)).toEqual([2, 3])
})

test('a short row is filled up', async () => {
  expect((await read('a,b,c\n1\n')).rows).toEqual([[2, '1', '', '']])
})

test('a long row is an error with its number, unless its extra cells are empty', async () => {
  expect((await read('a,b,\n1,2,\n3,4,,,\n')).rows).toEqual([
    [2, '1', '2'],
    [3, '3', '4'],
  ])
  await expect(read('a,b\n1,2\n1,2,3\n')).rejects.toMatchObject({
    code: 'INVALID_FILE',
    message: expect.stringContaining('row 3, column C'),
    details: { row: 3, column: 'C' },
  })
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
  expect(await read(bytes)).toEqual(expected)
  expect(await read(Readable.from([...bytes].map((byte) => Buffer.from([byte]))))).toEqual(expected)
})

test('a web stream is read', async () => {
  expect((await read(new Blob(['a,b\n1,2\n']).stream())).rows).toEqual([[2, '1', '2']])
})

test('ISO 8859-1 is read as windows-1252', async () => {
  const { rows } = await read(Buffer.from('a,b\n1,x\n2,M\xfcnchen\n', 'latin1'))
  expect(rows.at(-1)).toContain('München')
})

test.each([
  ['bytes that no encoding has', Buffer.from('a,b\n1,x\n2,M\x810nchen\n3,y\n', 'latin1'), 3],
  ['cut in the middle of a character', Buffer.from('a,b\n1,ü').subarray(0, -1), 2],
  ['in the header', Buffer.from('a,M\x810ller\n1,2\n', 'latin1'), 1],
])('text that is not UTF-8 is an error with its row and says what to do: %s', async (_name, bytes, row) => {
  for (const source of [bytes, Readable.from([...bytes].map((byte) => Buffer.from([byte])))]) {
    const error = await read(source).catch((thrown) => thrown)
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
  await expect(read(text)).rejects.toMatchObject({
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
  await expect(read(endless)).rejects.toMatchObject({ code: 'INVALID_FILE', message: expect.stringContaining('row 2') })
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
      expect((await read(Readable.from(pieces))).rows.map((values) => values.slice(1))).toEqual(rows)
    }),
    { numRuns: 100 },
  )
})

test('200,000 rows are read with little memory', async () => {
  const before = heapMegabytes()
  let most = 0
  let count = 0
  const sheet = await readSpreadsheet(big)
  for await (const row of sheet.rows) {
    count++
    if (count % 40_000 === 0) most = Math.max(most, heapMegabytes())
    if (count === BIG_ROWS)
      expect(row).toEqual({
        number: 200_001,
        values: ['200000', 'Item, no. 200000', 'München', '300000', 'x200000@example.com'],
      })
  }
  expect(count).toBe(BIG_ROWS)
  expect(most - before).toBeLessThan(15)
  await expect.poll(openFiles).toBe(0)
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
  const sheet = await readSpreadsheet(Readable.from(bytes()), { format: 'csv' })
  let count = 0
  for await (const _row of sheet.rows) {
    if (++count < 5) continue
    await sleep(50)
    break
  }
  expect(given).toBeLessThan(100)
  await expect.poll(() => finished).toBe(true)
})

test('leaving the loop, an error and close() each close the file', async () => {
  const left = await readSpreadsheet(big)
  for await (const _row of left.rows) break
  const failed = await readSpreadsheet(big, { maxRows: 3 })
  await expect(
    (async () => {
      for await (const _row of failed.rows);
    })(),
  ).rejects.toMatchObject({ code: 'TOO_MANY_ROWS' })
  const closed = await readSpreadsheet(big)
  await closed.close()
  await closed.close()
  await expect.poll(openFiles).toBe(0)
})

test('an error of the given stream is passed on unchanged', async () => {
  const lost = new Error('connection lost')
  const source = Readable.from(
    (async function* () {
      yield Buffer.from('a,b\n1,2\n')
      throw lost
    })(),
  )
  await expect(read(source)).rejects.toBe(lost)
})
