import { expect, test } from 'vitest'
import { exportStream } from './export-file.ts'
import { openFile } from './file.ts'

async function bytes(stream: ReadableStream<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  for await (const chunk of stream as unknown as AsyncIterable<Uint8Array>) chunks.push(chunk)
  return Buffer.concat(chunks)
}

const PAGES = [
  [
    { id: 1, name: 'Ann', note: 'x' },
    { id: 2, name: '=cmd' },
  ],
  [],
  [{ name: 'Zoë', id: 3n }],
]

test.each([
  [
    'csv',
    [
      ['1', 'Ann'],
      ['2', "'=cmd"],
      ['3', 'Zoë'],
    ],
  ],
  [
    'xlsx',
    [
      [1, 'Ann'],
      [2, '=cmd'],
      ['3', 'Zoë'],
    ],
  ],
] as const)('%s has the rows of all pages in order, with the columns that were chosen', async (format, expected) => {
  const file = await bytes(exportStream(PAGES, { format, columns: ['id', 'name'] }))
  const { header, rows } = await openFile(file)
  expect(header).toEqual(['id', 'name'])
  const seen: unknown[] = []
  for await (const { values } of rows) seen.push(Object.values(values))
  expect(seen).toEqual(expected)
})

test('NDJSON has the chosen fields, or all', async () => {
  const text = async (columns?: string[]) =>
    (await bytes(exportStream(PAGES, { format: 'ndjson', ...(columns ? { columns } : {}) }))).toString()
  expect(await text(['name', 'note'])).toBe('{"name":"Ann","note":"x"}\n{"name":"=cmd"}\n{"name":"Zoë"}\n')
  expect(await text()).toBe('{"id":1,"name":"Ann","note":"x"}\n{"id":2,"name":"=cmd"}\n{"name":"Zoë","id":3}\n')
})

test('without columns the first row names them, and a later unknown field is an error', async () => {
  const page = [{ a: 1, b: 2 }, { b: 3 }]
  expect((await bytes(exportStream([page], { format: 'csv' }))).toString()).toBe('\uFEFFa,b\r\n1,2\r\n,3\r\n')
  await expect(bytes(exportStream([[...page, { c: 1 }]], { format: 'csv' }))).rejects.toMatchObject({
    code: 'REPORT_FAILED',
    message: expect.stringContaining('"c"'),
  })
  await expect(bytes(exportStream([[[1]]], { format: 'csv' }))).rejects.toMatchObject({ code: 'REPORT_FAILED' })
  await expect(bytes(exportStream([[[1, 2]]], { format: 'csv', columns: ['a'] }))).rejects.toThrow(/2 cells/)
  expect(() => exportStream([], { format: 'pdf' as 'csv' })).toThrow(/format must be one of/)
  expect(() => exportStream([], { format: 'csv', columns: ['a', 'a'] })).toThrow(/each once/)
})

test.each(['csv', 'xlsx', 'ndjson'] as const)('%s without rows is a valid file', async (format) => {
  const file = await bytes(exportStream([[]], { format, columns: ['id'] }))
  if (format === 'ndjson') expect(file).toHaveLength(0)
  else expect((await openFile(file)).header).toEqual(['id'])
})

test.each(['csv', 'xlsx', 'ndjson'] as const)(
  '%s: a page is read only when the stream needs it, and cancelling the stream ends the pages',
  async (format) => {
    let given = 0
    let ended = false
    async function* pages() {
      try {
        for (;;) {
          given++
          yield Array.from({ length: 1000 }, (_, id) => ({ id, text: Math.random().toString(36) }))
        }
      } finally {
        ended = true
      }
    }
    const reader = exportStream(pages(), { format, columns: ['id', 'text'] }).getReader()
    expect(given).toBe(0)
    await reader.read()
    expect(given).toBeLessThan(40)
    await reader.cancel()
    await expect.poll(() => ended).toBe(true)
  },
)

test('an error of a page becomes an error of the stream', async () => {
  const broken = new Error('the store is gone')
  async function* pages() {
    yield [{ a: 1 }]
    throw broken
  }
  for (const format of ['csv', 'xlsx', 'ndjson'] as const) {
    await expect(bytes(exportStream(pages(), { format, columns: ['a'] }))).rejects.toBe(broken)
  }
})

test.each(['csv', 'xlsx', 'ndjson'] as const)('%s is written in chunks of a useful size', async (format) => {
  const page = Array.from({ length: 5000 }, (_, i) => ({ id: i, name: `n${i}`, part: i / 7 }))
  const sizes: number[] = []
  const stream = exportStream([page, page, page], { format })
  for await (const piece of stream as unknown as AsyncIterable<Uint8Array>) sizes.push(piece.length)
  expect(sizes.length).toBeGreaterThan(2)
  expect(Math.min(...sizes.slice(0, -1))).toBeGreaterThan(60_000)
  expect(Math.max(...sizes)).toBeLessThan(200_000)
})
