import type { StandardSchemaV1 } from '@standard-schema/spec'
import { expectTypeOf, test } from 'vitest'
import { Highkiq, type Jid, type JobOptions } from '#dist/index.js'

/** Never called: the compiler checks these types. */
async function types(
  schema: StandardSchemaV1<unknown, { sku: string }>,
  named: StandardSchemaV1<unknown, { name: string }>,
): Promise<void> {
  const hq = new Highkiq()
  const Sum = hq.job('Sum', { keepResult: 60 }, async (_ctx, a: number, b: number) => a + b)
  const jid = await Sum.performAsync(1, 2)
  expectTypeOf(jid).toEqualTypeOf<Jid<number> | null>()
  expectTypeOf(jid).toExtend<string | null>()
  expectTypeOf(await hq.result(jid)).toEqualTypeOf<number>()
  expectTypeOf(await hq.result((await Sum.performBulk([[1, 2]]))[0] ?? null)).toEqualTypeOf<number>()
  expectTypeOf(await hq.result('7d2a9f0b1c3e4d5f60718293')).toEqualTypeOf<unknown>()
  expectTypeOf(await hq.result<Date>('7d2a9f0b1c3e4d5f60718293')).toEqualTypeOf<Date>()

  const Import = hq.job('Import', { validate: schema }, async (_ctx, row) => row.sku.length)
  expectTypeOf(Import.performAsync).parameters.toEqualTypeOf<[row: { sku: string }]>()
  expectTypeOf(await hq.result(await Import.performAsync({ sku: 'a' }))).toEqualTypeOf<number>()
  // @ts-expect-error: the schema returns another row
  await Import.performAsync({ name: 'a' })
  await hq.tasks.import(Import, 'a.csv')
  const Stock = hq.job('Stock', async (_ctx, row: { sku: string }) => row.sku)
  await hq.tasks.import(Stock, 'a.csv', { validate: schema })
  // @ts-expect-error: the schema of the import returns another row than the handler takes
  await hq.tasks.import(Stock, 'a.csv', { validate: named })
  // @ts-expect-error: a dry run, too
  await hq.tasks.import(Stock, 'a.csv', { validate: named, dryRun: true })
  const Stocks = hq.job('Stocks', async (_ctx, rows: { sku: string }[]) => rows.length)
  await hq.tasks.import(Stocks, 'a.csv', { validate: schema, rowsPerJob: 100 })
  // @ts-expect-error: the schema of the import returns other rows than the handler takes
  await hq.tasks.import(Stocks, 'a.csv', { validate: named, rowsPerJob: 100 })
  // @ts-expect-error: the handler takes another row than the schema of its job returns
  hq.job('Wrong', { validate: schema }, async (_ctx, row: { name: string }) => row.name)
  hq.job('Rows', { validate: schema }, async (_ctx, rows: { sku: string }[]) => rows.length)
  // @ts-expect-error: there is no such option
  hq.job('Typo', { retyr: 5 }, async () => {})
  const options: JobOptions = { retry: 5 }
  hq.job('Plain', options, async (_ctx, name: string, count: number) => name.repeat(count))
}

test('a jid knows the type of its result, and a schema that of its row', () => {
  expectTypeOf(types).toBeFunction()
})
