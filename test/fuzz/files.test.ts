/**
 * Malformed files of imports and corrected reports. Each is a task, a dry run or an error with a code, within a second of CPU,
 * and leaves no temporary file. A dry run and the import count the same rows.
 */

import { buffer } from 'node:stream/consumers'
import fc from 'fast-check'
import { HighkiqError } from 'highkiq'
import { expect, test } from 'vitest'
import { bench, until } from '../engine/bench.ts'
import { SpreadsheetFolder } from '../spreadsheet.ts'
import { sheetXml, workbookOf } from '../workbook.ts'
import { zipOf } from '../zip.ts'
import { byteEdits, editedBytes, editedText, FUZZ_TIME, fuzz, rarely } from './fuzz.ts'

const CSV = 'sku,name,price\r\na,"two ""words""",1.5\r\nb,"two\nlines",\r\n\r\nc,čau 😀,=1+1\r\n'
const NDJSON = '{"sku":"a","price":1.5}\n{"sku":"b","price":12345678901234567890}\n\n{"price":null,"sku":"c"}\n'
const ROWS =
  '<row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1" t="inlineStr"><is><t>name</t></is></c><c r="C1" t="str"><v>price</v></c></row>' +
  '<row r="2"><c r="A2" t="s"><v>1</v></c><c r="B2" s="1"><v>45000.5</v></c><c r="C2"><f>1+1</f><v>1e3</v></c></row>' +
  '<row r="4" hidden="1"><c r="A4" t="b"><v>1</v></c><c r="C4" t="e"><v>#N/A</v></c><c t="inlineStr"><is><r><t xml:space="preserve"> &#x1f600;&amp;</t></r></is></c></row>'
const TEXTS = '<sst><si><t>sku</t></si><si><r><t>one</t></r><r><t>_x000D_two</t></r><rPh><t>no</t></rPh></si></sst>'

const xml = byteEdits([
  '<',
  '>',
  '/',
  '"',
  '&',
  '&#0;',
  '&#1114112;',
  '<c r="XFD1048576"/>',
  '<c r="A0"/>',
  '<!--',
  '<![CDATA[',
  'xmlns:x="',
  '<row r="4294967296">',
  ']]>',
])
const size = rarely(3, fc.constantFrom(0, 1, 65_535, 2 ** 31, 2 ** 32 - 1))

/** A workbook: its sheet and texts are edited before they are packed, or the archive is, or a part claims to be of another size. */
const workbook = fc
  .record({
    sheet: xml,
    texts: xml,
    archive: fc.oneof(
      { arbitrary: fc.constant([]), weight: 2 },
      byteEdits(['PK\x01\x02', 'PK\x03\x04', 'PK\x05\x06', '\0', '\xff']),
    ),
    claims: rarely(4, fc.record({ size, packedSize: size, flags: size, crc: size })),
  })
  .map(({ sheet, texts, archive, claims }) => {
    const content = editedText(sheetXml(ROWS), sheet)
    const whole = workbookOf(content, { texts: editedText(TEXTS, texts) })
    if (!claims) return { name: 'a.xlsx', bytes: editedBytes(whole, archive) }
    const { flags, ...sizes } = claims
    const given = Object.fromEntries(
      Object.entries({ ...sizes, flags: flags === null ? null : flags & 0xffff }).filter(
        ([, one]) => one !== undefined,
      ),
    )
    return {
      name: 'a.xlsx',
      bytes: editedBytes(zipOf({ name: 'xl/worksheets/sheet1.xml', content, ...given }), archive),
    }
  })

const text = fc
  .record({
    file: fc.constantFrom(
      ['a.csv', CSV],
      ['a.jsonl', NDJSON],
      ['a.json', NDJSON],
      ['a', CSV],
      ['a', NDJSON],
      ['a.tsv', CSV.replaceAll(',', '\t')],
    ),
    edits: byteEdits([
      '"',
      '\n',
      '\r',
      ',',
      '\t',
      '\0',
      '{',
      '}',
      '[',
      '\\',
      '{"__proto__":{"a":1}}\n',
      '9'.repeat(5000),
      '\ufeff',
      '""',
      ';',
      'sku,sku\n',
    ]),
    encoding: fc.constantFrom('utf8' as const, 'utf8' as const, 'utf16le' as const, 'latin1' as const),
    bom: fc.boolean(),
  })
  .map(({ file: [name = '', content = ''], edits, encoding, bom }) => {
    const edited = editedText(content, edits)
    return { name, bytes: Buffer.from(bom ? `\ufeff${edited}` : edited, encoding) }
  })

const options = fc.record(
  {
    headerRow: fc.constantFrom(1, 2, 1000),
    format: fc.constantFrom('csv', 'xlsx', 'ndjson'),
    delimiter: fc.constantFrom(',', ';', '\t', '"'),
    encoding: fc.constantFrom('utf-8', 'windows-1252', 'shift_jis', 'utf-16le'),
    quote: fc.constant(false),
    columns: fc.constantFrom(['sku'], { sku: 'id', name: '__proto__' }, { sku: 'constructor' }),
    rowKey: fc.constantFrom('sku', '__proto__', 'toString'),
  },
  { requiredKeys: [] },
)

const rare = <T>(arbitrary: fc.Arbitrary<T>, otherwise: T) =>
  fc.oneof({ arbitrary: fc.constant(otherwise), weight: 3 }, arbitrary)

/** Returns what `work` resolves with, or the code of its error. */
async function outcome<T>(work: Promise<T>): Promise<T | string> {
  try {
    return await work
  } catch (thrown) {
    expect(thrown).toBeInstanceOf(HighkiqError)
    const { code, message } = thrown as HighkiqError
    expect(
      ['INVALID_FILE', 'INVALID_ARGS', 'INVALID_OPTION', 'TOO_MANY_ROWS', 'ARGS_TOO_LARGE', 'ALREADY_IMPORTED'],
      message,
    ).toContain(code)
    return code
  }
}

const folder = new SpreadsheetFolder()

test('a malformed file is imported, or refused with a reason', { timeout: FUZZ_TIME }, async () => {
  const t = bench()
  const Row = t.hq.job('Row', async (_ctx, _row: object) => {})
  const file = fc.oneof(workbook, text)
  await fuzz({ percent: 10 }, fc.tuple(file, rare(options, {})), async ([{ name, bytes }, options]) => {
    const start = process.cpuUsage()
    const about = { name, ...options } as object
    const run = await outcome(t.hq.tasks.import(Row, bytes, { ...about, dryRun: true }))
    const task = await outcome(t.hq.tasks.import(Row, bytes, { ...about, allowDuplicate: true }))
    const { user, system } = process.cpuUsage(start)
    expect(user + system, bytes.toString('base64')).toBeLessThan(2_000_000)
    if (typeof run === 'string' || typeof task === 'string') return
    expect(run.complete).toBe(true)
    expect((await task.status())?.total).toBe(run.total)
    await task.delete()
  })
  expect(folder.spooled().filter((name) => !name.startsWith('highkiq-engine-'))).toEqual([])
})

test('a malformed report of rejected rows runs rows of its task again, or is refused', {
  timeout: FUZZ_TIME,
}, async () => {
  const t = bench()
  const Row = t.hq.job('Row', { retry: false }, async (_ctx, row: { sku: string }) => {
    if (row.sku !== 'a') throw new Error('rejected')
  })
  const task = await t.hq.tasks.import(Row, Buffer.from(CSV), { name: 'a.csv' })
  const worker = await t.work()
  await until(async () => (await task.status())?.state === 'done')
  await worker.stop()
  const reports = await Promise.all(
    (['csv', 'xlsx', 'ndjson'] as const).map(async (format) => ({
      format,
      bytes: await buffer((await task.report({ format })) as never),
    })),
  )
  const edits = byteEdits(['"', ',', '\n', ':', task.id, ':0:1', ':1:1', ':99:1', '{', '\0', 'row key', '\t'])
  await fuzz({ percent: 2 }, fc.tuple(fc.constantFrom(...reports), edits), async ([{ format, bytes }, edits]) => {
    const answer = await outcome(task.retry({ report: editedBytes(bytes, edits), as: { format } }))
    if (typeof answer === 'string') return
    const { total = 0, counts } = (await task.status()) ?? {}
    expect(total).toBe(3)
    expect(answer.rows).toBeLessThanOrEqual(3)
    if (answer.rows === 0) return
    // The next case begins with rejected rows, too.
    const worker = await t.work()
    await until(async () => (await task.status())?.state === 'done')
    await worker.stop()
    expect(counts).toBeDefined()
  })
})
