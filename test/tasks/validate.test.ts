/** What an import knows of its rows is known to its dry run and to its corrected reports, too. */
import type { StandardSchemaV1 } from '@standard-schema/spec'
import { BusinessFailure, Highkiq, type Task, type TaskStatus } from 'highkiq'
import { expect, test } from 'vitest'
import { all, bench, Collector, gate, until } from '../engine/bench.ts'

/** A Standard Schema. */
function schema(validate: (row: Record<string, string>) => unknown) {
  return { '~standard': { version: 1, vendor: 'test', validate } } as unknown as StandardSchemaV1
}

const priced = schema(({ price = '' }) =>
  Number(price) >= 0 ? { value: { price: Number(price) } } : { issues: [{ message: 'no price', path: ['price'] }] },
)

async function report(task: Task): Promise<string> {
  return new Response((await task.report({ format: 'csv' })) as never).text()
}

test('the schema of a job checks its imports, their dry runs and corrected reports, with the columns of the import', async () => {
  const { hq, work } = bench()
  const ran = new Collector<unknown>()
  const Price = hq.job('Price', { validate: priced }, async (_ctx, row: object) => ran.add(row))
  const file = Buffer.from('Unit price,Note\n1,a\nx,b\ny,c\n')
  const columns = { 'Unit price': 'price' }
  expect(await hq.tasks.import(Price, file, { columns, dryRun: true })).toMatchObject({ valid: 1, invalid: 2 })
  const task = await hq.tasks.import(Price, file, { columns })
  await work()
  expect(await task.wait({ every: 10 })).toMatchObject({ counts: { finished: 1, failed: 2 } })
  const corrected = Buffer.from((await report(task)).replace('x,b', '2,b'))
  expect(await task.retry({ report: corrected })).toMatchObject({ rows: 1, refused: 1 })
  expect(await task.wait({ every: 10 })).toMatchObject({ counts: { finished: 2, failed: 1 } })
  expect(ran.all).toEqual([{ price: 1 }, { price: 2 }])
  // What it came from is told of what it is by now.
  expect(await all(task.events({ status: ['finished'] }))).toHaveLength(2)
})

test('the schema of an import or retry overrides that of the job', async () => {
  const { hq, work } = bench()
  const Price = hq.job('Price', { validate: schema(() => ({ issues: [{ message: 'never' }] })) }, async () => {})
  const any = schema((value) => ({ value }))
  const file = Buffer.from('price\n1\n')
  const task = await hq.tasks.import(Price as never, file)
  await work()
  expect(await task.wait({ every: 10 })).toMatchObject({ counts: { failed: 1 } })
  const again = Buffer.from(await report(task))
  expect(await task.retry({ report: again })).toMatchObject({ run: 1, rows: 0, refused: 1 })
  expect(await task.retry({ report: again, as: { validate: any } })).toMatchObject({ run: 2, rows: 1, refused: 0 })
  const other = await hq.tasks.import(Price as never, file, { validate: any, allowDuplicate: true })
  expect(await other.wait({ every: 10 })).toMatchObject({ counts: { finished: 1 } })
})

test('the source of a corrected row is its corrected form', async () => {
  const { hq, work } = bench()
  const Row = hq.job('Row', async () => {
    throw new BusinessFailure('no')
  })
  const task = await hq.tasks.import(Row as never, Buffer.from('sku\na\n'), { columns: { sku: 'name' } })
  await work()
  await task.wait({ every: 10 })
  const columns = { sku: 'title' }
  await task.retry({ report: Buffer.from((await report(task)).replace('\na,', '\nb,')), as: { columns } })
  await task.wait({ every: 10 })
  expect(await report(task)).toContain('\nb,')
  await task.retry({ rows: [{ index: 0, args: [{ sku: 'c' }] }] })
  await task.wait({ every: 10 })
  expect(await report(task)).toContain('\nc,')
})

test('a schema that throws ends the import with its row and an interrupted task; a dry run throws, too', async () => {
  const { hq, work } = bench()
  const boom = new TypeError('price.trim is no function')
  const validate = schema(({ n }) => {
    if (n === '1500') throw boom
    return { value: { n } }
  })
  const Row = hq.job('Row', async (_ctx, _row: object) => {})
  const file = Buffer.from(`n\n${Array.from({ length: 2000 }, (_, i) => i).join('\n')}\n`)
  const thrown = await hq.tasks.import(Row, file, { validate }).catch((error) => error)
  expect(thrown).toMatchObject({
    code: 'VALIDATE_FAILED',
    message: expect.stringMatching(/^row 1502: validate threw an error \(price.trim is no function\).* in task /),
    details: { row: 1502, task: expect.stringMatching(/^[0-9a-f]{16}$/) },
  })
  expect(thrown.cause.cause).toBe(boom)
  await work()
  const task = hq.tasks.get(thrown.details.task)
  expect(await task.wait({ every: 10 })).toMatchObject({ state: 'interrupted', counts: { finished: 1500 } })
  await expect(hq.tasks.import(Row, file, { validate, dryRun: true })).rejects.toMatchObject({
    code: 'VALIDATE_FAILED',
    details: { row: 1502 },
  })
  const silent = schema(() => undefined)
  await expect(hq.tasks.import(Row, file, { validate: silent as never, allowDuplicate: true })).rejects.toMatchObject({
    code: 'VALIDATE_FAILED',
    details: { row: 2 },
  })
})

test('validate must be a schema, set where the job is defined', async () => {
  const hq = new Highkiq({ url: 'sqlite::memory:' })
  const wrong = { code: 'INVALID_OPTION', message: expect.stringContaining('Standard Schema') }
  expect(() => hq.job('Bad', { validate: (() => true) as never }, async () => {})).toThrow(
    expect.objectContaining(wrong),
  )
  const Row = hq.job('Row', async (_ctx, _row: object) => {})
  expect(() => Row.set({ validate: priced } as never)).toThrow(/is not an option of a push/)
  await expect(hq.tasks.import(Row, Buffer.from('a\n1\n'), { validate: 5 as never })).rejects.toMatchObject(wrong)
  await hq.close()
})

test('a report without row keys finds its rows by the rowKey column', async () => {
  const { hq, work } = bench()
  const Row = hq.job('Row', async (_ctx, { name }: { sku: string; name: string }) => {
    if (name.startsWith('bad')) throw new BusinessFailure('no')
  })
  const file = Buffer.from('sku,name\na,bad 1\nb,good\nc,bad 2\nd,bad 3\nd,bad 4\n')
  const task = await hq.tasks.import(Row, file, { rowKey: 'sku' })
  await work()
  await task.wait({ every: 10 })
  const retry = (text: string) => task.retry({ report: Buffer.from(text) })
  const wrong = (message: RegExp, row: number) => ({
    code: 'INVALID_FILE',
    message: expect.stringMatching(message),
    details: expect.objectContaining({ row }),
  })
  await expect(retry('sku,name\nc,x\nz,y\n')).rejects.toMatchObject(wrong(/row 3, column "sku": no rejected row/, 3))
  await expect(retry('sku,name\nc,x\nc,y\n')).rejects.toMatchObject(
    wrong(/row 3, column "sku": row 2 has the same row key/, 3),
  )
  await expect(retry('sku,name\nd,x\n')).rejects.toMatchObject(wrong(/indexes 3 and 4 both have "d"/, 2))
  expect(await task.status()).toMatchObject({ run: 1 })
  // One row by its key, one by what it is called: the cell was lost.
  const mixed = `name,sku,row key\ngood 2,c,\ngood 3,d,${task.id}:3:1\n`
  expect(await retry(mixed)).toMatchObject({ rows: 2 })
  expect(await task.wait({ every: 10 })).toMatchObject({ counts: { finished: 3, failed: 2 } })
  expect(await retry('sku,name\na,good 1\n')).toMatchObject({ rows: 1 })
  await expect(hq.tasks.import(Row, file, { rowKey: 'SKU', allowDuplicate: true })).rejects.toMatchObject({
    code: 'INVALID_FILE',
    message: expect.stringMatching(/no column "SKU", which rowKey names/),
  })
})

test('without the schema of the import its report is refused, and refused rows stay refused', async () => {
  const { hq, work, another } = bench()
  const ran = new Collector<unknown>()
  const handler = async (_ctx: unknown, row: object) => ran.add(row)
  const Price = hq.job('Price', { validate: priced }, handler)
  const file = Buffer.from('price,note\nx,a\ny,b\n3,c\n')
  const { id } = await hq.tasks.import(Price as never, file)
  const worker = await work()
  const task = hq.tasks.get(id)
  expect(await task.wait({ every: 10 })).toMatchObject({ counts: { finished: 1, failed: 2 } })
  const corrected = Buffer.from((await report(task)).replace('x,', '1,'))
  // A process that knows nothing of the job, and one that knows it without its schema.
  const bare = another()
  const blind = another()
  blind.hq.job('Price', handler)
  for (const { hq: other } of [bare, blind]) {
    const there = other.tasks.get(id)
    await expect(there.retry({ report: corrected })).rejects.toMatchObject({
      code: 'INVALID_OPTION',
      message: expect.stringMatching(/its rows were validated by job Price: define it/),
    })
    expect(await there.retry()).toMatchObject({ run: 1, rows: 0, refused: 2 })
  }
  expect(await bare.hq.tasks.get(id).retry({ report: corrected, as: { validate: priced } })).toMatchObject({
    rows: 1,
    refused: 1,
  })
  await task.wait({ every: 10 })
  await worker.stop()
  expect(ran.all).toEqual([{ price: 3 }, { price: 1 }])
})

test('a plain retry validates rows again that were refused before any attempt; other rows run unchanged', async () => {
  const { hq, work } = bench()
  const ran = new Collector<unknown>()
  let limit = 5
  const low = schema(({ price = '' }) =>
    Number(price) < limit ? { value: { price: Number(price) } } : { issues: [{ message: 'too much' }] },
  )
  let isClosed = true
  const Price = hq.job('Price', { validate: low }, async (_ctx, row: object) => {
    if (isClosed) throw new BusinessFailure('closed', { code: 'invalid' })
    ran.add(row)
  })
  const columns = { 'Unit price': 'price' }
  const task = await hq.tasks.import(Price as never, Buffer.from('Unit price\n1\n7\n30\n'), { columns })
  await work()
  expect(await task.wait({ every: 10 })).toMatchObject({ counts: { failed: 3 } })
  isClosed = false
  limit = 10
  expect(await task.retry({ code: 'invalid' })).toMatchObject({ run: 2, rows: 2, unchanged: 0, refused: 1 })
  expect(await task.wait({ every: 10 })).toMatchObject({ counts: { finished: 2, failed: 1 } })
  expect(ran.all).toEqual(expect.arrayContaining([{ price: 1 }, { price: 7 }]))
  expect(ran.all).toHaveLength(2)
  // A schema that is named goes before that of the job; how a report is read is for reports.
  const all = schema((value) => ({ value }))
  await expect(task.retry({ as: { columns } })).rejects.toMatchObject({ code: 'INVALID_OPTION' })
  expect(await task.retry({ as: { validate: all } })).toMatchObject({ run: 3, rows: 1, refused: 0 })
  expect(await task.wait({ every: 10 })).toMatchObject({ counts: { finished: 3 } })
  expect(ran.all.at(-1)).toEqual({ price: '30' })
})

test('rows that were rejected when they were added do not count in the rate and the remaining time', async () => {
  const { hq, work, clock } = bench()
  const going = gate()
  const Price = hq.job('Price', { validate: priced }, async (_ctx, row: object) => {
    if ('price' in row && row.price === 2) await going.opened
  })
  const file = Buffer.from('price\nfree\nfree\nfree\n1\n2\n')
  const task = await hq.tasks.import(Price as never, file, { format: 'csv' })
  expect(await task.status()).toMatchObject({ counts: { failed: 3 }, ratePerSecond: 0, etaSeconds: null })
  await work()
  await until(async () => (await task.status())?.counts.finished === 1)
  const now = clock.now()
  const { ratePerSecond, etaSeconds, runAt } = (await task.status()) as TaskStatus
  // One row ran since the run began, and one is left.
  expect(ratePerSecond * ((now - runAt.getTime()) / 1000)).toBeLessThanOrEqual(1)
  expect((etaSeconds as number) * ratePerSecond).toBeCloseTo(1, 5)
  going.open()
  expect(await task.wait({ every: 10 })).toMatchObject({ state: 'done', counts: { finished: 2, failed: 3 } })
})
