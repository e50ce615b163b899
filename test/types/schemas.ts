/** Schemas of real libraries. `versions.test.ts` compiles these functions, and nothing calls them. */

import { Highkiq } from 'highkiq'
import * as v from 'valibot'
import { expectTypeOf } from 'vitest'
import { z } from 'zod'

const hq = new Highkiq()

interface Product {
  sku: string
  price: number
}

export async function ofZod(): Promise<void> {
  const schema = z.object({ sku: z.string().min(1), price: z.coerce.number() })
  const Import = hq.job('Import', { validate: schema, retry: 3 }, async (_ctx, row) => row.price)
  expectTypeOf(Import.performAsync).parameters.toEqualTypeOf<[row: Product]>()
  await hq.tasks.import(Import, 'a.csv')
  const Stock = hq.job('Stock', async (_ctx, row: Product) => row.sku)
  await hq.tasks.import(Stock, 'a.csv', { validate: schema })
  // @ts-expect-error: the handler takes another row than the schema returns
  await hq.tasks.import(Stock, 'a.csv', { validate: z.object({ name: z.string() }) })
  // @ts-expect-error: the handler takes another row than the schema of its job returns
  hq.job('Wrong', { validate: schema }, async (_ctx, row: { name: string }) => row.name)
  hq.job('Rows', { validate: schema }, async (_ctx, rows: Product[]) => rows.length)
}

export async function ofValibot(): Promise<void> {
  const schema = v.object({
    sku: v.pipe(v.string(), v.minLength(1)),
    price: v.pipe(v.string(), v.transform(Number)),
  })
  const Import = hq.job('Import', { validate: schema, retry: 3 }, async (_ctx, row) => row.price)
  expectTypeOf(Import.performAsync).parameters.toEqualTypeOf<[row: Product]>()
  await hq.tasks.import(Import, 'a.csv')
  const Stock = hq.job('Stock', async (_ctx, row: Product) => row.sku)
  await hq.tasks.import(Stock, 'a.csv', { validate: schema })
  // @ts-expect-error: the handler takes another row than the schema returns
  await hq.tasks.import(Stock, 'a.csv', { validate: v.object({ name: v.string() }) })
  // @ts-expect-error: the handler takes another row than the schema of its job returns
  hq.job('Wrong', { validate: schema }, async (_ctx, row: { name: string }) => row.name)
  hq.job('Rows', { validate: schema }, async (_ctx, rows: Product[]) => rows.length)
}
