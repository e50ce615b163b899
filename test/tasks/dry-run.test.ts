import { writeXlsx } from 'hucre/xlsx'
import * as v from 'valibot'
import { expect, test } from 'vitest'
import { newApp } from './bench.ts'

/** A Standard Schema, as zod or valibot would give, that answers at once or later. */
const priced = (later: boolean) =>
  ({
    '~standard': {
      version: 1,
      vendor: 'test',
      validate: (value: unknown) => {
        const { sku, price } = value as Record<string, string>
        const issues = [
          ...(sku === '' ? [{ message: 'is missing', path: ['sku'] }] : []),
          ...(Number.isNaN(Number(price)) ? [{ message: `${price} is no number`, path: [{ key: 'price' }] }] : []),
        ]
        const answer = issues.length > 0 ? { issues } : { value: { sku, price: Number(price) } }
        return later ? Promise.resolve(answer) : answer
      },
    },
  }) as const

for (const later of [false, true]) {
  test(`a dry run returns counts, problems and a preview, and pushes nothing (${later ? 'async' : 'sync'} schema)`, async () => {
    const { hq } = newApp()
    const Row = hq.job('Row', async (_ctx, _row: { sku: string; price: number }) => {})
    const source = Buffer.from('SKU;Price;Note\na;1;x\n;oops;y\nb;2;z\n')
    const columns = { SKU: 'sku', Price: 'price' }
    const dry = await hq.tasks.import(Row, source, { columns, validate: priced(later), dryRun: true })
    expect(dry).toEqual({
      format: 'csv',
      encoding: 'utf-8',
      delimiter: ';',
      sheet: null,
      sheets: null,
      columns: ['SKU', 'Price', 'Note'],
      fields: [],
      mapping: columns,
      suggested: {},
      complete: true,
      total: 3,
      valid: 2,
      invalid: 1,
      problems: [
        { row: 3, code: 'invalid', message: 'sku: is missing' },
        { row: 3, code: 'invalid', message: 'price: oops is no number' },
      ],
      groups: [
        { code: 'invalid', field: 'sku', message: 'sku: is missing', count: 1, rows: [3] },
        { code: 'invalid', field: 'price', message: 'price: oops is no number', count: 1, rows: [3] },
      ],
      preview: [
        { row: 2, value: { sku: 'a', price: 1 } },
        { row: 4, value: { sku: 'b', price: 2 } },
      ],
      sample: [
        { row: 2, values: { SKU: 'a', Price: '1', Note: 'x' } },
        { row: 3, values: { SKU: '', Price: 'oops', Note: 'y' } },
        { row: 4, values: { SKU: 'b', Price: '2', Note: 'z' } },
      ],
    })
    expect((await hq.tasks.list()).items).toEqual([])
    expect((await hq.stats()).enqueued).toBe(0)
  })
}

test('a dry run lists the first 100 problems and, last, what ends the file', async () => {
  const { hq } = newApp()
  const Row = hq.job('Row', async (_ctx, _row: object) => {})
  const rows = Array.from({ length: 150 }, (_, i) => `s${i},x`)
  const dry = await hq.tasks.import(Row, Buffer.from(`sku,price\n${rows.join('\n')}\nlast,"5\n`), {
    validate: priced(false),
    dryRun: true,
  })
  expect(dry).toMatchObject({ complete: false, total: 150, valid: 0, invalid: 150, preview: [] })
  expect(dry.problems).toHaveLength(101)
  expect(dry.problems.at(-1)).toMatchObject({ row: 152, code: 'INVALID_FILE' })
  await expect(hq.tasks.import(Row, Buffer.from(''), { dryRun: true })).rejects.toMatchObject({ code: 'INVALID_FILE' })
})

test('a dry run counts all problems by their message, with the first rows of each, the most frequent first', async () => {
  const { hq } = newApp()
  const Row = hq.job('Row', async (_ctx, _row: object) => {})
  // 150 rows without a sku, and every second of them with a price of its own that is no number.
  const rows = Array.from({ length: 150 }, (_, i) => `,${i % 2 === 0 ? 1 : `x${i}`}`)
  const dry = await hq.tasks.import(Row, Buffer.from(`sku,price\n${rows.join('\n')}\n`), {
    validate: priced(false),
    dryRun: true,
  })
  expect(dry.problems).toHaveLength(100)
  expect(dry.groups).toHaveLength(76)
  expect(dry.groups.slice(0, 2)).toEqual([
    { code: 'invalid', field: 'sku', message: 'sku: is missing', count: 150, rows: [2, 3, 4, 5, 6] },
    { code: 'invalid', field: 'price', message: 'price: x1 is no number', count: 1, rows: [3] },
  ])
  expect(dry.groups.reduce((sum, { count }) => sum + count, 0)).toBe(225)
  // The first rows are shown although none is valid.
  expect(dry.preview).toEqual([])
  expect(dry.sample).toHaveLength(10)
  expect(dry.sample[1]).toEqual({ row: 3, values: { sku: '', price: 'x1' } })
})

test('of more than 1000 messages a dry run counts the others by code and field', async () => {
  const { hq } = newApp()
  const Row = hq.job('Row', async (_ctx, _row: object) => {})
  const rows = Array.from({ length: 1500 }, (_, i) => `s${i},x${i}`)
  const { groups } = await hq.tasks.import(Row, Buffer.from(`sku,price\n${rows.join('\n')}\n`), {
    validate: priced(false),
    dryRun: true,
  })
  expect(groups).toHaveLength(1001)
  expect(groups[0]).toEqual({
    code: 'invalid',
    field: 'price',
    message: 'price: x1000 is no number',
    count: 500,
    rows: [1002, 1003, 1004, 1005, 1006],
  })
})

test('a dry run tells the fields that the schema takes, and suggests columns for them', async () => {
  const { hq } = newApp()
  const validate = v.object({ sku: v.string(), price: v.string(), note: v.optional(v.string()) })
  const Row = hq.job('Row', { validate }, async (_ctx, _row: object) => {})
  // A column has its own name, one is like a field, two are like the same field, and one is like none.
  const dry = (header: string) => hq.tasks.import(Row, Buffer.from(`${header}\na,b,c,d\n`), { dryRun: true })
  expect(await dry('sku, P-R-I-C-E ,NOTE,Note,Color')).toMatchObject({
    fields: ['sku', 'price', 'note'],
    suggested: { 'P-R-I-C-E': 'price' },
    mapping: null,
  })
  // A field that has its column needs no other one.
  expect(await dry('sku,SKU,Price,x')).toMatchObject({ suggested: { Price: 'price' } })
})

test('a dry run names the sheets of a workbook, and so does the error of an empty one', async () => {
  const { hq } = newApp()
  const Row = hq.job('Row', async (_ctx, _row: object) => {})
  const workbook = await writeXlsx({
    sheets: [
      { name: 'Notes', rows: [] },
      { name: 'Prices', rows: [['sku'], ['a']] },
    ],
  })
  const dry = await hq.tasks.import(Row, workbook, { sheet: 'Prices', dryRun: true })
  expect(dry).toMatchObject({ delimiter: null, sheet: 'Prices', sheets: ['Notes', 'Prices'], total: 1 })
  await expect(hq.tasks.import(Row, workbook, { dryRun: true })).rejects.toMatchObject({
    code: 'INVALID_FILE',
    details: { sheets: ['Notes', 'Prices'] },
  })
})
