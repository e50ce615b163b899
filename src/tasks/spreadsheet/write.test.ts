import { randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeEach, expect, test } from 'vitest'
import { openFile, type ReadFileOptions } from './file.ts'
import { escapeFormula, unescapeFormula } from './formula-injection.ts'
import type { Source } from './source.ts'
import { writeSpreadsheet } from './write.ts'

const dir = mkdtempSync(join(tmpdir(), 'sheet-test-'))
beforeEach(() => {
  rmSync(dir, { recursive: true, force: true })
  mkdirSync(dir)
})
afterAll(() => rmSync(dir, { recursive: true, force: true }))

const inDir = (name: string, content?: string | Uint8Array) => {
  const path = join(dir, name)
  if (content !== undefined) writeFileSync(path, content)
  return path
}

async function read(source: Source, options?: ReadFileOptions) {
  const { header = [], rows: all } = await openFile(source, options)
  const rows: unknown[][] = []
  for await (const { values } of all) rows.push(Object.values(values))
  return { header, rows }
}

const invalid = (words: string) => ({
  code: 'INVALID_FILE',
  message: expect.stringMatching(new RegExp(`^.*${words}.*$`)),
})

const TEXTS = [
  ['東京都', 'שלום עולם', 'مرحبا'],
  ['say "hi"', 'a,b;c\td|e', "it's"],
  ['line 1\nline 2', 'line 1\r\nline 2', 'tab\there'],
  [' spaces  around ', '😀 & <tag> ]]>', '_x0041_ \u0001 \uFFFE'],
  ['', 'middle', ''],
  ['007', '1e5', 'TRUE'],
]

test.each(['csv', 'xlsx'] as const)('texts of every kind are read back from %s unchanged', async (format) => {
  const path = inDir(`texts.${format}`)
  const header = ['名前', 'שם', 'with "quotes", and\ncomma']
  expect(await writeSpreadsheet(path, { header, rows: TEXTS })).toEqual({ rows: TEXTS.length })
  expect(await read(path)).toEqual({ header, rows: TEXTS })
  expect(readdirSync(dir)).toEqual([`texts.${format}`])
})

test('CSV has a byte order mark, CRLF and quotes where they are needed', async () => {
  const path = inDir('plain.csv')
  await writeSpreadsheet(path, {
    header: ['a', 'b'],
    rows: [['x,y', 'p"q'], ['1\n2', true], [1.5, new Date(0)], [null]],
  })
  expect(readFileSync(path, 'utf8')).toBe('\uFEFFa,b\r\n"x,y","p""q"\r\n"1\n2",true\r\n1.5,1970-01-01\r\n,\r\n')
})

test('CSV texts that look like formulas get an apostrophe, plain numbers do not', async () => {
  const path = inDir('formulas.csv')
  const dangerous = ['=1+1', '+cmd', '-2+3', '@SUM(A1)', '\t1', '\r1', '-1-2', '-']
  const harmless = ['-12.5', '+49', '-1,5', '-1e5', '-.5', 'a=b', '']
  await writeSpreadsheet(path, { header: ['=h', 'x'], rows: [...dangerous, ...harmless].map((text) => [text, 'x']) })
  const { header, rows } = await read(path)
  expect(header).toEqual(["'=h", 'x'])
  expect(rows.map(([text]) => text)).toEqual([...dangerous.map((text) => `'${text}`), ...harmless])
})

test('CSV texts get an apostrophe also where a spreadsheet that splits at ; or tabs begins a cell', async () => {
  const path = inDir('split.csv')
  const header = ['a;=h', 'x']
  const dangerous = ['x;=cmd', 'x;""=1;', 'x\t@SUM(A1)', 'x\n-cmd', 'x\r\n+cmd', '\t=1', "x;'=cmd", '=a;=b;c;=d']
  const harmless = ['a; b', 'a=b;c', 'line\nline', '1;2', 'x;', '; =x']
  await writeSpreadsheet(path, { header, rows: [...dangerous, ...harmless].map((text) => [text, 'x']) })
  const written = await read(path)
  expect(written.header).toEqual(["a;'=h", 'x'])
  const texts = written.rows.map(([text]) => text as string)
  expect(texts).toEqual([
    ...["x;'=cmd", 'x;\'""=1;', "x\t'@SUM(A1)", "x\n'-cmd", "x\r\n'+cmd", "'\t'=1", "x;''=cmd", "'=a;'=b;c;'=d"],
    ...harmless,
  ])
  expect(texts.map(unescapeFormula)).toEqual([...dangerous, ...harmless])
  // As a spreadsheet reads the file that splits at semicolons: a quote inside a cell is text, and a line break ends a row.
  const cells = readFileSync(path, 'utf8').split(/[;\t\r\n]/)
  expect(cells.filter((cell) => /^"*[=+\-@]/.test(cell))).toEqual([])
})

test('unescapeFormula restores every text exactly', () => {
  const random = randomFrom(7)
  const chars = ["'", '"', '=', '+', '-', '@', ';', '\t', '\r', '\n', 'x', '1', ',']
  for (let n = 0; n < 20_000; n++) {
    const text = Array.from({ length: random(8) }, () => chars[random(chars.length)]).join('')
    expect(unescapeFormula(escapeFormula(text)), JSON.stringify(text)).toBe(text)
  }
})

/** Returns a generator of whole numbers below its argument. */
function randomFrom(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return Math.floor((state / 2_147_483_648) * below)
  }
}

// Counted with Python's csv module.
test.each([
  ['zipcodes', 42_049, ['00501', '40.922326', '-72.637078', 'Holtsville', 'NY', 'Suffolk'], 1_766_048],
  ['airports', 3376, ['00M', 'Thigpen', 'Bay Springs', 'MS', 'USA', '31.95376472', '-89.23450472'], 186_663],
  ['seattle-weather', 1461, ['2012-01-01', '0.0', '12.8', '5.0', '4.7', 'drizzle'], 39_403],
])(
  'the public data set %s is read, and is the same after a way through XLSX',
  async (name, count, first, characters) => {
    const source = new URL(`../../../node_modules/vega-datasets/data/${name}.csv`, import.meta.url).pathname
    const original = await read(source)
    expect(original.rows).toHaveLength(count)
    expect(original.rows[0]).toEqual(first)
    expect(original.rows.flat().join('')).toHaveLength(characters)
    const path = inDir(`${name}.xlsx`)
    await writeSpreadsheet(path, original)
    const { header, rows } = await read(path)
    expect(header).toEqual(original.header)
    // One comparison of strings: toEqual takes seconds for so many cells.
    expect(JSON.stringify(rows) === JSON.stringify(original.rows)).toBe(true)
  },
)

test('the extension decides the format, else the first bytes', async () => {
  const xlsx = inDir('t.xlsx')
  await writeSpreadsheet(xlsx, { header: ['a'], rows: [[1]] })
  const bytes = readFileSync(xlsx)
  expect(await read(bytes)).toEqual({ header: ['a'], rows: [[1]] })
  expect(await read(inDir('upload', bytes))).toEqual({ header: ['a'], rows: [[1]] })
  expect(await read(inDir('T.TSV', 'a\tb\n1\t2'))).toEqual({ header: ['a', 'b'], rows: [['1', '2']] })
  expect(await read(Buffer.from('a\n1'))).toEqual({ header: ['a'], rows: [['1']] })
  await expect(read(inDir('zip.csv', bytes))).rejects.toMatchObject(invalid('its ending says CSV.*zip archive'))
  await expect(read(inDir('text.xlsx', 'a,b\n1,2'))).rejects.toMatchObject(
    invalid('its ending says XLSX.*not a workbook'),
  )
  await expect(read(bytes, { format: 'csv' })).rejects.toMatchObject(invalid('option format says CSV'))
  const old = Buffer.from('d0cf11e0a1b11ae1', 'hex')
  await expect(read(inDir('old.xls', old))).rejects.toMatchObject(invalid('password-protected workbook or .*old .xls'))
})

test("a path that can't be opened is an error with the reason", async () => {
  await expect(read(inDir('missing.csv'))).rejects.toMatchObject(invalid('ENOENT'))
  await expect(read(dir)).rejects.toMatchObject(invalid('EISDIR'))
})

test.each(['csv', 'xlsx'] as const)('the header of %s is required, trimmed and completed', async (format) => {
  const table = async (...rows: unknown[][]) => {
    const path = inDir(`${Math.random()}.${format}`)
    await writeSpreadsheet(path, { header: rows[0] as string[], rows: rows.slice(1) })
    return read(path)
  }
  expect(await table([' a ', '', 'c', '', ''])).toEqual({ header: ['a', 'column_B', 'c'], rows: [] })
  expect(await table(['', ''], ['a', ''], ['1', ''])).toEqual({ header: ['a'], rows: [['1']] })
  await expect(table(['', ''], ['', ''])).rejects.toMatchObject(invalid('is empty: '))
  await expect(table([' '])).rejects.toMatchObject(invalid('is empty: '))
  await expect(table(['x', 'a', 'b', 'a '])).rejects.toMatchObject(invalid('columns B and D are both named "a"'))
})

test('a file without any value is refused as empty', async () => {
  await expect(read(inDir('none.csv', ''))).rejects.toMatchObject(invalid('is empty: '))
  await expect(read(inDir('none.xlsx', ''))).rejects.toMatchObject(invalid('is empty: '))
  await expect(read(inDir('bom.csv', '\uFEFF'))).rejects.toMatchObject(invalid('is empty: '))
  await expect(read(inDir('blank.csv', '\n \n\r\n'))).rejects.toMatchObject(invalid('is empty: '))
})

test.each(['csv', 'xlsx'] as const)('%s: maxRows rows are yielded before the error for too many', async (format) => {
  const path = inDir(`many.${format}`)
  await writeSpreadsheet(path, { header: ['a'], rows: [['1'], ['2'], ['3'], ['4']] })
  expect((await read(path, { maxRows: 4 })).rows).toHaveLength(4)
  const sheet = await openFile(path, { maxRows: 3 })
  const seen: number[] = []
  const reading = (async () => {
    for await (const { number } of sheet.rows) seen.push(number)
  })()
  await expect(reading).rejects.toMatchObject({ code: 'TOO_MANY_ROWS', details: { row: 5, maxRows: 3 } })
  expect(seen).toEqual([2, 3, 4])
})

test.each(['csv', 'xlsx'] as const)('%s: a failed write leaves no file, and keeps an existing one', async (format) => {
  const path = inDir(`report.${format}`, 'old')
  const broken = new Error('the database is gone')
  let closed = false
  async function* rows() {
    try {
      for (let i = 0; i < 5000; i++) yield [i]
      throw broken
    } finally {
      closed = true
    }
  }
  await expect(writeSpreadsheet(path, { header: ['a'], rows: rows() })).rejects.toBe(broken)
  expect(closed).toBe(true)
  await expect(writeSpreadsheet(path, { header: ['a'], rows: [[1, 2]] })).rejects.toMatchObject({
    code: 'REPORT_FAILED',
    message: expect.stringContaining('row 2 has 2 cells'),
  })
  expect(readdirSync(dir)).toEqual([`report.${format}`])
  expect(readFileSync(path, 'utf8')).toBe('old')
})

test.each(['csv', 'xlsx'] as const)(
  '%s: when the disk fails that is REPORT_FAILED and the rows are closed',
  async (format) => {
    let open = 0
    async function* rows() {
      open++
      try {
        for (;;) {
          await sleep(0)
          yield ['x']
        }
      } finally {
        open--
      }
    }
    await expect(
      writeSpreadsheet(join(dir, 'no', `x.${format}`), { header: ['a'], rows: rows() }),
    ).rejects.toMatchObject({ code: 'REPORT_FAILED', message: expect.stringContaining('ENOENT') })
    // The target is a folder: known only when everything was written.
    mkdirSync(inDir(`folder.${format}`))
    await expect(writeSpreadsheet(inDir(`folder.${format}`), { header: ['a'], rows: [['x']] })).rejects.toMatchObject({
      code: 'REPORT_FAILED',
    })
    await expect.poll(() => open).toBe(0)
    expect(readdirSync(dir)).toEqual([`folder.${format}`])
  },
)

test('a target without a known extension needs the option format', async () => {
  await expect(writeSpreadsheet(inDir('x.dat'), { header: ['a'], rows: [] })).rejects.toMatchObject({
    code: 'REPORT_FAILED',
  })
  await writeSpreadsheet(inDir('x.dat'), { header: ['a'], rows: [], format: 'csv' })
  expect(readFileSync(inDir('x.dat'), 'utf8')).toBe('\uFEFFa\r\n')
})

test.each([
  ['csv', 1],
  ['xlsx', 0.45],
] as const)('%s: rows are read only as fast as they are written', async (format, bytesPerCharacter) => {
  let waiting = 0
  function* rows() {
    for (let given = 0; given < 8000; given++) {
      if (given % 500 === 0) {
        const part = readdirSync(dir).find((name) => name.includes(`slow.${format}`))
        const written = part === undefined ? 0 : statSync(inDir(part)).size
        waiting = Math.max(waiting, given * 1000 * bytesPerCharacter - written)
      }
      yield [randomBytes(500).toString('hex')]
    }
  }
  await writeSpreadsheet(inDir(`slow.${format}`), { header: ['a'], rows: rows() })
  expect(waiting).toBeLessThan(2 * 1024 ** 2)
})
