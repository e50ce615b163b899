import { Readable } from 'node:stream'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readCsv } from '../../../test/spreadsheet.ts'

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
  // The stream is the caller's to end.
  expect(endless.destroyed).toBe(false)
  endless.destroy()
})

test('a long header in tiny pieces is read in linear time', async () => {
  const names = Array.from({ length: 10_000 }, (_, i) => `column number ${i}`)
  const text = `${names.join(',')}\n${names.map(() => '1').join(',')}\n`
  const { header } = await readCsv(Readable.from(text.match(/.{1,2}/gs) ?? []))
  expect(header).toEqual(names)
})

test('a table whose rows are nearly empty, below a very wide header, is refused', async () => {
  const text = `${','.repeat(16_383)}last\n${'1\n'.repeat(2000)}`
  await expect(readCsv(text)).rejects.toMatchObject({
    code: 'INVALID_FILE',
    message: expect.stringMatching(/^row \d+: nearly all cells of the 16384 columns are empty/),
  })
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
