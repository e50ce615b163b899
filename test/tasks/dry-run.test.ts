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
      columns: ['SKU', 'Price', 'Note'],
      encoding: 'utf-8',
      complete: true,
      total: 3,
      valid: 2,
      invalid: 1,
      problems: [
        { row: 3, code: 'invalid', message: 'sku: is missing' },
        { row: 3, code: 'invalid', message: 'price: oops is no number' },
      ],
      preview: [
        { row: 2, value: { sku: 'a', price: 1 } },
        { row: 4, value: { sku: 'b', price: 2 } },
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
