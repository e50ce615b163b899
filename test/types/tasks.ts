/** The types of tasks: rows, schemas, files and callbacks. `versions.test.ts` compiles these functions, and nothing calls them. */

import type { StandardSchemaV1 } from '@standard-schema/spec'
import { type DryRun, Highkiq, type Job, type JobOptions, type Task } from 'highkiq'
import { expectTypeOf } from 'vitest'

interface Product {
  sku: string
  price: number
}
declare const schema: StandardSchemaV1<unknown, Product>
declare const named: StandardSchemaV1<unknown, { name: string }>
declare const path: string
declare const jobOptions: JobOptions

const hq = new Highkiq()
const HardJob = hq.job('HardJob', async (_ctx, name: string, count: number) => name.repeat(count))
/** Its rows come from a schema. Exported, because its type must have a name in declaration files. */
export const Checked = hq.job('Checked', { validate: schema }, async (_ctx, row) => row.price)
const Stock = hq.job('Stock', async (_ctx, row: Product) => row.sku)
const Stocks = hq.job('Stocks', async (_ctx, rows: Product[]) => rows.length)

export async function schemas(): Promise<void> {
  expectTypeOf(Checked.performAsync).parameters.toEqualTypeOf<[row: Product]>()
  expectTypeOf(Checked).toExtend<Job<[row: Product], number>>()
  expectTypeOf(await hq.result(await Checked.performAsync({ sku: 'a', price: 1 }))).toEqualTypeOf<number>()
  // @ts-expect-error: the schema returns another row
  await Checked.performAsync({ name: 'a' })
  // @ts-expect-error: the handler takes another row than the schema of its job returns
  hq.job('Wrong', { validate: schema }, async (_ctx, row: { name: string }) => row.name)
  // @ts-expect-error: there is no such option beside a schema, either
  hq.job('Typo', { validate: schema, retyr: 5 }, async (_ctx, row) => row.sku)
  // @ts-expect-error: the schema returns no such column
  hq.job('Column', { validate: schema }, async (_ctx, row) => row.name)
  hq.job('Rows', { validate: schema }, async (_ctx, rows: Product[]) => rows.length)
}

export async function imports(): Promise<void> {
  await hq.tasks.import(Stock, 'a.csv', { validate: schema })
  // @ts-expect-error: the schema of the import returns another row than the handler takes
  await hq.tasks.import(Stock, 'a.csv', { validate: named })
  // @ts-expect-error: a dry run, too
  await hq.tasks.import(Stock, 'a.csv', { validate: named, dryRun: true })
  await hq.tasks.import(Stocks, 'a.csv', { validate: schema, rowsPerJob: 100 })
  // @ts-expect-error: the schema of the import returns other rows than the handler takes
  await hq.tasks.import(Stocks, 'a.csv', { validate: named, rowsPerJob: 100 })
  // @ts-expect-error: there is no such option
  await hq.tasks.import(Checked, 'a.csv', { allowDuplicates: true })
  // @ts-expect-error: a row is one argument, and the job has two
  await hq.tasks.import(HardJob, 'a.csv')
  expectTypeOf(await hq.tasks.import(Checked, 'a.csv')).toEqualTypeOf<Task>()
  expectTypeOf(await hq.tasks.import(Checked, 'a.csv', { dryRun: true })).toEqualTypeOf<DryRun>()
}

/** Each value of a CSV file is a string, so a handler that takes others needs a schema. */
export async function csv(): Promise<void> {
  // @ts-expect-error: the price in the file is a string
  await hq.tasks.import(Stock, 'a.csv')
  // @ts-expect-error: with every ending of CSV
  await hq.tasks.import(Stocks, 'a.tsv', { rowsPerJob: 100 })
  // @ts-expect-error: of bytes, too
  await hq.tasks.import(Stock, Buffer.from(''), { format: 'csv' })
  // @ts-expect-error: after set, too
  await hq.tasks.import(Stock.set({ queue: 'low' }), 'a.csv')
  for (const job of [Checked, Checked.set({ queue: 'low' }), Checked.via('redis://eu')]) {
    await hq.tasks.import(job, 'a.csv')
  }
  await hq.tasks.import(Stock, 'a.xlsx')
  await hq.tasks.import(Stock, path)
  await hq.tasks.import(Stock, 'a.csv', { format: 'ndjson' })
  const Texts = hq.job('Texts', async (_ctx, row: { sku: string; note?: string }) => row.sku)
  await hq.tasks.import(Texts, 'a.csv')
  await hq.tasks.import(
    hq.job('Row', async (_ctx, row: Record<string, string>) => row),
    'a.csv',
  )
  await hq.tasks.import(
    hq.job('Row', async (_ctx, row) => row),
    'a.csv',
  )
  await hq.tasks.import(
    hq.job('Row', jobOptions, async (_ctx, row: Product) => row),
    'a.csv',
  )
}

export async function rows(task: Task): Promise<void> {
  await hq.tasks.create(HardJob, [['bob', 5]])
  // @ts-expect-error: the second argument is a number
  await hq.tasks.create(HardJob, [['bob', '5']])
  // @ts-expect-error: there are only two arguments
  await hq.tasks.create(HardJob, [['bob', 5, 6]])
  // @ts-expect-error: there is no such option
  await hq.tasks.create(HardJob, [['bob', 5]], { nmae: 'spring' })
  await hq.tasks.create(Stocks, [[{ sku: 'a', price: 1 }]], { rowsPerJob: 100 })
  // @ts-expect-error: the handler takes other rows
  await hq.tasks.create(Stocks, [[{ name: 'a' }]], { rowsPerJob: 100 })
  await task.add(HardJob, [['bob', 5]])
  // @ts-expect-error: there are only two arguments
  await task.add(HardJob, [['bob', 5, 6]])
  // @ts-expect-error: there are only two arguments
  await task.resumeAdding(HardJob, [['bob', 5, 6]])
  // @ts-expect-error: there is no such option
  await task.retry({ staus: ['failed'] })
}

export async function links(task: Task): Promise<void> {
  await task.link({ expires: '30d', rights: 'read' })
  await task.link({ expires: new Date() })
  // @ts-expect-error: there are no such rights
  await task.link({ rights: 'write' })
  // @ts-expect-error: there is no such option
  await task.link({ expire: '30d' })
}

export async function exports(): Promise<void> {
  const Page = hq.job('Page', async (_ctx, from: number, to: number) => [[from, to]])
  await hq.tasks.export(Page, [[1, 100]], { format: 'csv' })
  // @ts-expect-error: a page has numbers
  await hq.tasks.export(Page, [['a', 'b']])
  // @ts-expect-error: a page has two numbers
  await hq.tasks.export(Page, [[1, 100, 200]])
  // @ts-expect-error: there is no such option
  await hq.tasks.export(Page, [[1, 100]], { formt: 'csv' })
  // @ts-expect-error: a page is a list of rows
  await hq.tasks.export(HardJob, [['bob', 5]])
}

export async function callbacks(): Promise<void> {
  const Done = hq.job('Done', async (_ctx, _task: string, _run: number) => {})
  const OfTask = hq.job('OfTask', async (_ctx, _task: string) => {})
  const Nothing = hq.job('Nothing', async () => {})
  for (const onDone of [Done, OfTask, Nothing]) {
    await hq.tasks.create(HardJob, [['bob', 5]], { onDone, onFailure: onDone })
    await hq.tasks.import(Checked, 'a.csv', { onDone })
  }
  // @ts-expect-error: the job gets the id of the task, a string
  await hq.tasks.create(HardJob, [['bob', 5]], { onDone: Stock })
  const More = hq.job('More', async (_ctx, _task: string, _run: number, _more: string) => {})
  // @ts-expect-error: the job gets two arguments
  await hq.tasks.create(HardJob, [['bob', 5]], { onFailure: More })
}
