/** What comes in as a file that is none, or not the one it says, or not whole: a table of them, each with what is told. */

import { deflateRawSync, gzipSync } from 'node:zlib'
import { writeXlsx } from 'hucre/xlsx'
import { expect, test } from 'vitest'
import { zipOf } from '../zip.ts'
import { collect, newApp } from './bench.ts'

const workbookOf = (rows: unknown[][]) => [{ name: 'S', rows: rows as never }]
const workbook = async (rows: unknown[][]) => Buffer.from(await writeXlsx({ sheets: workbookOf(rows) }))
const numbers = Array.from({ length: 500 }, (_, i) => [`name ${i}`, Math.sin(i)])
const csv = (text: string) => Buffer.from(text)
const ndjson = (...lines: string[]) => Buffer.from(lines.join('\n'))

/** A zip archive whose one part claims to be of this size when it is unpacked. */
function bomb(size: number): Buffer {
  const packed = deflateRawSync(Buffer.alloc(100_000))
  const fields = Buffer.alloc(26)
  fields.writeUInt16LE(20, 0)
  fields.writeUInt16LE(8, 4)
  fields.writeUInt32LE(packed.length, 14)
  fields.writeUInt32LE(size, 18)
  fields.writeUInt16LE(1, 22)
  const body = Buffer.concat([Buffer.from('PK\x03\x04'), fields, Buffer.from('a'), packed])
  const list = Buffer.concat([Buffer.from('PK\x01\x02\x14\x00', 'latin1'), fields, Buffer.alloc(14), Buffer.from('a')])
  const end = Buffer.alloc(22)
  end.write('PK\x05\x06', 0, 'latin1')
  end.writeUInt16LE(1, 8)
  end.writeUInt16LE(1, 10)
  end.writeUInt32LE(list.length, 12)
  end.writeUInt32LE(body.length, 16)
  return Buffer.concat([body, list, end])
}

const cut = async () => {
  const whole = await workbook(numbers)
  return whole.subarray(0, whole.length >> 1)
}
const encrypted = async () =>
  Buffer.from(await writeXlsx({ sheets: workbookOf(numbers), encryption: { password: 'x', spinCount: 10 } }))

/** A zip archive with one part that is stored as it is. */
function stored(name: string, content: string): Buffer {
  const head = Buffer.alloc(30)
  head.write('PK\x03\x04', 0, 'latin1')
  head.writeUInt16LE(name.length, 26)
  return Buffer.concat([head, Buffer.from(name + content)])
}

function binaryWorkbook(): Buffer {
  const relationship = '<Relationship Id="r" Type="http://x/officeDocument" Target="xl/workbook.bin"/>'
  return zipOf(
    { name: '_rels/.rels', content: `<Relationships>${relationship}</Relationships>` },
    { name: 'xl/workbook.bin', content: 'x' },
  )
}

function lock(): Buffer {
  const user = 'Ann Example'
  const bytes = Buffer.alloc(165, ' ')
  bytes[0] = user.length
  bytes.write(user, 1)
  bytes.writeUInt16LE(user.length, 55)
  bytes.write(user, 57, 'utf16le')
  return bytes
}

type Case = [
  what: string,
  source: () => Buffer | Promise<Buffer>,
  options: object,
  expected: { code?: string; message: RegExp; details?: object },
]

test.each<Case>([
  ['an empty file', () => csv(''), {}, { message: /the file is empty/ }],
  ['an empty NDJSON file', () => ndjson('', ''), { format: 'ndjson' }, { message: /needs a JSON object/ }],
  ['only blank lines', () => csv('\n\n , \n'), {}, { message: /the file is empty/ }],
  ['a PDF', () => csv('%PDF-1.7 ...'), {}, { message: /is a PDF/ }],
  ['a packed file', () => gzipSync('a,b\n'), {}, { message: /gzip/ }],
  [
    'duplicate headers',
    () => csv('sku,price,sku\n1,2,3\n'),
    {},
    { message: /row 1: columns A and C are both named "sku"/, details: { row: 1, column: 'C' } },
  ],
  [
    'a row longer than its header',
    () => csv('a,b\n1,2\n3,4,5\n'),
    {},
    { message: /row 3, column C/, details: { row: 3, column: 'C' } },
  ],
  [
    'a note beside a table of two columns',
    () => csv('sku,price\na-1,12.50\na-2,x,ask Bob\na-3,3\n'),
    {},
    {
      message:
        /^row 3, column C: there is a value, but the header names only 2 columns: give the column a name, leave it out \(columns: \{"sku":"sku","price":"price"\} takes only these\), or put quotes around a cell that contains the delimiter$/,
      details: { row: 3, column: 'C' },
    },
  ],
  [
    'a note beside a table whose columns a list names',
    () => csv('Item no,Unit price,Size\na-1,12.50,1\na-2,x,2,ask Bob\n'),
    { columns: ['sku', 'price', 'size'] },
    { message: /columns: \{"Item no":"sku","Unit price":"price"\} takes only these/ },
  ],
  [
    'a note beside a table of one column',
    () => csv('sku\na-1\na-2,7\n'),
    {},
    { message: /names only 1 column: .*columns: \{"sku":"sku"\} takes only this one/ },
  ],
  [
    'two lines of title above the header',
    () => csv('Price list\nMay\nsku,name,price\na,b,1\n'),
    {},
    { message: /set headerRow: 3/ },
  ],
  [
    'a quote inside a cell',
    () => csv('a,b\n1,5" pipe\n'),
    {},
    { message: /row 2, column B: a quote/, details: { row: 2, column: 'B' } },
  ],
  [
    'text after a closing quote',
    () => csv('a,b\n"3" x,4\n'),
    {},
    { message: /row 2, column A: after a closing quote/, details: { row: 2, column: 'A' } },
  ],
  [
    'a quote that is never closed',
    () => csv('a,b\n1,2\n3,"4\n5,6\n'),
    {},
    { message: /row 3, column B: .* never closed/, details: { row: 3, column: 'B' } },
  ],
  [
    'a NUL byte',
    () => csv('a,b\n1,2\n3,x\0\n'),
    {},
    { message: /row 3, column B: there is a NUL/, details: { row: 3, column: 'B' } },
  ],
  [
    'mixed encodings',
    () => Buffer.concat([csv('a,b\nß,漢\n1,'), Buffer.from('caf\xe9\n', 'latin1')]),
    {},
    { message: /row 3, column B, byte 16: the text is not UTF-8/, details: { row: 3, column: 'B', byte: 16 } },
  ],
  [
    'mixed encodings in NDJSON',
    () => Buffer.concat([ndjson('{"a":"ß"}', '{"a":"'), Buffer.from('caf\xe9"}\n', 'latin1')]),
    {},
    { message: /row 2, byte 20: the text is not UTF-8/, details: { row: 2, byte: 20 } },
  ],
  ['a workbook said to be CSV', () => workbook(numbers), { format: 'csv' }, { message: /probably an Excel workbook/ }],
  ['CSV said to be a workbook', () => csv('a,b\n1,2\n'), { format: 'xlsx' }, { message: /not a workbook/ }],
  ['NDJSON said to be CSV', () => ndjson('{"a":1}'), { format: 'csv' }, { message: /has a JSON object/ }],
  ['a workbook said to be NDJSON', () => workbook(numbers), { format: 'ndjson' }, { message: /zip archive/ }],
  [
    'CSV said to be NDJSON',
    () => csv('a,b\n1,2\n'),
    { format: 'ndjson' },
    { message: /row 1: the line is not JSON/, details: { row: 1 } },
  ],
  [
    'a line of NDJSON that is a list',
    () => ndjson('{"a":1}', '[1,2]'),
    {},
    { message: /row 2: the line is a list/, details: { row: 2 } },
  ],
  [
    'a line of NDJSON that is cut',
    () => ndjson('{"a":1}', '', '{"a":'),
    {},
    { message: /row 3: the line is not JSON/, details: { row: 3 } },
  ],
  ['a workbook that is cut off', cut, {}, { message: /damaged or cut off/ }],
  ['a workbook with a password', encrypted, {}, { message: /password-protected/ }],
  ['a zip bomb', () => bomb(4_200_000_000), {}, { message: /more than is safe/ }],
  [
    'one row too many in CSV',
    () => csv('a\n1\n2\n3\n'),
    { maxRows: 2 },
    { code: 'TOO_MANY_ROWS', message: /row 4: .* more than 2 rows/, details: { row: 4 } },
  ],
  [
    'one row too many in a workbook',
    () => workbook([['a'], [1], [2], [3]]),
    { maxRows: 2 },
    { code: 'TOO_MANY_ROWS', message: /row 4/, details: { row: 4 } },
  ],
  [
    'one row too many in NDJSON',
    () => ndjson('{}', '{}', '{}'),
    { maxRows: 2 },
    { code: 'TOO_MANY_ROWS', message: /row 3/, details: { row: 3 } },
  ],
  [
    'a column that is missing',
    () => csv('Sku,Preis\n1,2\n'),
    { columns: { SKU: 'sku', Price: 'price' } },
    { message: /no column "SKU", "Price": its columns are "Sku", "Preis"; did you mean "Sku"/ },
  ],
  ['too few names', () => csv('a,b\n1,2\n'), { columns: ['x'] }, { message: /has 2 columns, but columns names 1/ }],
  [
    'a title above the header',
    () => csv('Price list 2026,,\n,,\nsku,name,price\na,b,1\n'),
    {},
    { message: /row 1 looks like a title, and row 3 like the names of the columns: set headerRow: 3/ },
  ],
  [
    'a title without a delimiter',
    () => csv('Price list 2026\n\nsku;name;price\na;b;1\nc;d;2\n'),
    {},
    { message: /set headerRow: 3/, details: { headerRow: 3 } },
  ],
  [
    'a title above a workbook whose columns are chosen',
    () => workbook([['Price list', null, '2026-05-01'], [null], ['sku', 'name', 'x', 'price'], ['a', 'b', null, 1]]),
    { columns: { sku: 'sku' } },
    { message: /set headerRow: 3/ },
  ],
  [
    'a title with gaps above a workbook',
    () =>
      workbook([
        ['Price list', null, null, 'May'],
        ['sku', 'name', 'x', 'price'],
        ['a', 'b', null, 1],
      ]),
    {},
    { message: /row 1 has no names for most .*set headerRow: 2/ },
  ],
  [
    'a header row that is empty',
    () => csv('a,b\n\n1,2\n'),
    { headerRow: 2 },
    { message: /row 2 is empty: headerRow/, details: { row: 2 } },
  ],
  ['a header row behind the end', () => csv('a,b\n1,2\n'), { headerRow: 9 }, { message: /row 9 is empty/ }],
  ['a header row that is none', () => csv('a\n'), { headerRow: 0 }, { code: 'INVALID_OPTION', message: /headerRow/ }],
  [
    'an empty first sheet',
    async () =>
      Buffer.from(
        await writeXlsx({
          sheets: [
            { name: 'Cover', rows: [] },
            { name: 'Data', rows: [['a']] },
          ],
        }),
      ),
    {},
    { message: /the sheet "Cover" is empty: name another sheet with sheet \(there are "Cover", "Data"\)/ },
  ],
  ['a web page', () => csv('\n<!DOCTYPE html><table><tr><td>sku'), {}, { message: /web page .*save it as \.xlsx/ }],
  [
    'an XML spreadsheet',
    () => csv('\ufeff<?xml version="1.0"?>\r\n<?mso-application progid="Excel.Sheet"?><Workbook/>'),
    {},
    { message: /XML Spreadsheet.*save it as \.xlsx/ },
  ],
  [
    'an OpenDocument table',
    () => stored('mimetype', 'application/vnd.oasis.opendocument.spreadsheet'),
    {},
    { message: /\.ods.*save it as \.xlsx/ },
  ],
  ['a binary workbook', () => binaryWorkbook(), {}, { message: /\.xlsb.*save it as \.xlsx/ }],
  ['the lock of an open workbook', lock, {}, { message: /~\$.*the workbook itself/ }],
  [
    'a zip archive with two parts of one name',
    () => zipOf({ name: 'xl/a.xml', content: '<a/>' }, { name: 'XL/A.xml', content: '<b/>' }),
    {},
    { message: /two parts named "XL\/A\.xml"/ },
  ],
  [
    'a JSON list that is cut',
    () => csv('[{"a":1},\n{"a":2},{"a"'),
    {},
    { message: /row 3: the file breaks off/, details: { row: 3 } },
  ],
  [
    'a JSON list with an element that is none',
    () => csv('[{"a":1}, 5]'),
    {},
    { message: /row 2: the element is a number/ },
  ],
  ['a JSON list with a comma too many', () => csv('[{"a":1},]'), {}, { message: /row 2: the element is not JSON/ }],
  ['text behind a JSON list', () => csv('[{"a":1}] x'), {}, { message: /row 1: there is text behind/ }],
  [
    'a column with an endless name',
    () => csv(`${'x'.repeat(5000)},b\n1,2\n`),
    { columns: { c: 'c' } },
    { message: /^.{0,200}$/ },
  ],
  [
    'two columns of one name',
    () => csv('a,b\n'),
    { columns: { a: 'x', b: 'x' } },
    { code: 'INVALID_OPTION', message: /two columns would become "x"/ },
  ],
])(
  '%s is refused, and says why and where',
  async (_what, source, options, { code = 'INVALID_FILE', message, details }) => {
    const { hq } = newApp()
    const Row = hq.job('Row', async (_ctx, _row: object) => {})
    const failure = await hq.tasks.import(Row, await source(), options).catch((error) => error)
    expect(failure).toMatchObject({ code, ...(details ? { details } : {}) })
    expect(failure.message).toMatch(message)
    // Nothing half-done is hidden: either no task, or one that says that it was interrupted.
    const { items } = await hq.tasks.list()
    expect(items.every(({ state, id }) => state === 'interrupted' && failure.details?.task === id)).toBe(true)
  },
)

test.each<[what: string, source: () => Buffer | Promise<Buffer>, rows: unknown[], options?: object]>([
  ['only a header', () => csv('a,b\n'), []],
  ['a table below its title', () => csv('Prices\n\nsku;n\na;1\n'), [{ sku: 'a', n: '1' }], { headerRow: 3 }],
  [
    'a workbook below its title',
    () => workbook([['Prices'], [null], ['sku', 'n'], ['a', 1]]),
    [{ sku: 'a', n: 1 }],
    { headerRow: 3 },
  ],
  [
    'a table with notes beside the wanted columns, and columns of one name',
    () => csv('a,note,note,b\n1,x,y,2,stray\n3,,,4,,more\n'),
    [
      { a: '1', b: '2' },
      { a: '3', b: '4' },
    ],
    { columns: { a: 'a', b: 'b' } },
  ],
  ['plain TSV', () => csv('a\tb\n5" pipe\t"x\n'), [{ a: '5" pipe', b: '"x' }], { quote: false }],
  ['a column called __proto__', () => csv('a,__proto__\n1,2\n'), [JSON.parse('{"a":"1","__proto__":"2"}')]],
  ['a list in JSON', () => csv(' [ {"a":"x,]}\\""},\n {"a":[{"b":2}]} ]\n'), [{ a: 'x,]}"' }, { a: [{ b: 2 }] }]],
  ['short rows', () => csv('a,b\n1\n'), [{ a: '1', b: '' }]],
  ['a 2 MB cell', () => csv(`a,b\n1,"${'x'.repeat(2e6)}"\n`), [{ a: '1', b: 'x'.repeat(2e6) }]],
  ['a line that names the delimiter', () => csv('sep=|\r\na|b,c\r\n1|2\r\n'), [{ a: '1', 'b,c': '2' }]],
  [
    'objects, also nested',
    () => ndjson('{"a":1}', '{"a":{"b":[2]},"id":9007199254740993}'),
    [{ a: 1 }, { a: { b: [2] }, id: 9007199254740993n }],
  ],
  ['columns by position', () => csv('x,x\n1,2\n'), [{ sku: '1', price: '2' }], { columns: ['sku', 'price'] }],
  [
    'columns by header',
    () => csv('SKU,Note,Price\n1,n,2\n'),
    [{ sku: '1', price: '2' }],
    { columns: { SKU: 'sku', Price: 'price' } },
  ],
  ['keys of NDJSON', () => ndjson('{"SKU":1,"n":2}', '{"n":3}'), [{ sku: 1 }, {}], { columns: { SKU: 'sku' } }],
])('%s is imported', async (_what, source, rows, options = {}) => {
  const { hq } = newApp({ maxArgsBytes: { warn: 3e6, refuse: 1e7 } })
  const seen: unknown[] = []
  const Row = hq.job('Row', async (_ctx, row: object) => {
    seen.push(row)
  })
  await hq.worker({ concurrency: 1 }).start()
  const task = await hq.tasks.import(Row, await source(), options)
  await task.wait({ every: 10 })
  expect(seen).toEqual(rows)
})

test("a formula without a result, or a value that JSON can't carry, fails its row alone", async () => {
  const { hq } = newApp()
  const Row = hq.job('Row', async (_ctx, _row: object) => {})
  const workbook = await writeXlsx({
    sheets: [
      {
        name: 'S',
        rows: [
          ['sku', 'price'],
          ['a', 1],
          ['b', null],
          ['c', 3],
        ],
        cells: new Map<string, object>([
          ['2,1', { value: '#REF!', type: 'error' }],
          ['3,1', { formula: 'B2*3' }],
        ]),
      },
    ],
  })
  const task = await hq.tasks.import(Row, Buffer.from(workbook))
  expect(await task.status()).toMatchObject({ total: 3, counts: { failed: 2, enqueued: 1 } })
  const [event, without] = await collect(task.events({ status: ['failed'] }))
  expect(event).toMatchObject({ number: 3, code: 'formula_error' })
  expect(event?.messages.at(-1)?.text).toBe('price: its formula has no result (#REF!)')
  expect(without).toMatchObject({ number: 4, code: 'formula_error' })
  expect(without?.messages.at(-1)?.text).toBe(
    'price: its formula has no result (the file does not hold it: open and save it in Excel)',
  )
  const half = await hq.tasks.import(Row, ndjson('{"a":"\\ud83d"}', '{"a":"b"}'))
  expect(await half.status()).toMatchObject({ total: 2, counts: { failed: 1, enqueued: 1 } })
})
