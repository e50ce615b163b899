import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { BusinessFailure } from 'highkiq'
import { expect, test } from 'vitest'
import { openFile } from '#dist/tasks/spreadsheet/file.js'
import { writeSpreadsheet } from '#dist/tasks/spreadsheet/write.js'
import { collect, newApp } from './bench.ts'

const vega = fileURLToPath(new URL('../../node_modules/vega-datasets', import.meta.url))

/** Data rows, counted without our reader: none of these files has a line break inside a cell. */
const rowCountOf = (path: string) => readFileSync(path, 'utf8').split(/\r?\n/).filter(Boolean).length - 1

for (const name of ['zipcodes', 'airports', 'seattle-weather']) {
  for (const format of ['csv', 'xlsx'] as const) {
    test(`every row of the public data set ${name} arrives once, from ${format.toUpperCase()}`, async () => {
      const { hq, folder } = newApp()
      const source = join(vega, 'data', `${name}.csv`)
      let path = source
      if (format === 'xlsx') {
        path = join(folder, `${name}.xlsx`)
        const { header = [], rows: read } = await openFile(source)
        const rows = (async function* () {
          for await (const { values } of read) yield Object.values(values)
        })()
        await writeSpreadsheet(path, { header, rows })
      }
      const seen = new Map<string, number>()
      const Row = hq.job('Row', async (_ctx, row: Record<string, unknown>) => {
        const key = JSON.stringify(row)
        seen.set(key, (seen.get(key) ?? 0) + 1)
      })
      await hq.worker({ concurrency: 50 }).start()
      const status = await (await hq.tasks.import(Row, path)).wait({ every: 20 })
      const expected = rowCountOf(source)
      expect(status).toMatchObject({ state: 'done', total: expected, counts: { finished: expected } })
      expect([...seen.values()].reduce((sum, times) => sum + times, 0)).toBe(expected)
      const header = readFileSync(source, 'utf8').split(/\r?\n/)[0]?.split(',')
      expect(Object.keys(JSON.parse([...seen.keys()][0] ?? '{}'))).toEqual(header)
    }, 60_000)
  }
}

const products = ['SKU,Name,Price', 'a-1,Chair,12.50', 'a-2,Table,"12,5O"', '', 'a-3,מנורה 灯,-3', '=cmd,Trap,9'].join(
  '\n',
)

test('rows that the business refused are reported with their columns, row numbers and reasons, as CSV and XLSX', async () => {
  const { hq, folder } = newApp()
  const path = join(folder, 'products.csv')
  writeFileSync(path, products)
  const Row = hq.job('Row', async (_ctx, row: { SKU: string; Name: string; Price: string }) => {
    const price = Number(row.Price)
    if (Number.isNaN(price))
      throw new BusinessFailure(`"${row.Price}" is not a number`, { code: 'price', field: 'Price' })
    if (price < 0) throw new BusinessFailure('must not be negative', { code: 'price', field: 'Price' })
    if (row.SKU.startsWith('=')) throw new BusinessFailure('looks like a formula', { code: 'sku' })
  })
  await hq.worker().start()
  const task = await hq.tasks.import(Row, path)
  expect(await task.wait({ every: 10 })).toMatchObject({ name: 'products.csv', counts: { finished: 1, failed: 3 } })
  for (const file of ['rejected.csv', 'rejected.xlsx']) {
    expect(await task.report(join(folder, file))).toEqual({ rows: 3 })
    const report = await openFile(join(folder, file))
    expect(report.header).toEqual(['SKU', 'Name', 'Price', 'row', 'row key', 'status', 'code', 'messages', 'attempts'])
    const rows = (await collect(report.rows)).map(({ values }) => Object.values(values).map(String))
    const defused = file.endsWith('.csv') ? "'=cmd" : '=cmd'
    expect(rows).toEqual([
      ['a-2', 'Table', '12,5O', '3', `${task.id}:1:1`, 'failed', 'price', 'Price: "12,5O" is not a number', '1'],
      ['a-3', 'מנורה 灯', '-3', '5', `${task.id}:2:1`, 'failed', 'price', 'Price: must not be negative', '1'],
      [defused, 'Trap', '9', '6', `${task.id}:3:1`, 'failed', 'sku', 'looks like a formula', '1'],
    ])
  }
})

test('a row refused by validation fails at once, without a job', async () => {
  const { hq, folder } = newApp()
  const path = join(folder, 'products.csv')
  writeFileSync(path, products)
  const handled: unknown[] = []
  const Row = hq.job('Row', async (_ctx, row: { sku: string; price: number }) => {
    handled.push(row)
  })
  // A Standard Schema, as zod or valibot would give.
  const validate = {
    '~standard': {
      version: 1,
      vendor: 'test',
      validate: (value: unknown) => {
        const { SKU, Price } = value as Record<string, string>
        const price = Number(Price)
        return price >= 0
          ? { value: { sku: SKU, price } }
          : { issues: [{ message: `${Price} is not a price`, path: ['Price'] }] }
      },
    },
  } as const
  const task = await hq.tasks.import(Row, path, { validate, name: 'spring sale' })
  const before = await task.status()
  expect(before).toMatchObject({ name: 'spring sale', total: 4, counts: { failed: 2, enqueued: 2 } })
  await hq.worker({ concurrency: 1 }).start()
  await task.wait({ every: 10 })
  expect(handled).toEqual([
    { sku: 'a-1', price: 12.5 },
    { sku: '=cmd', price: 9 },
  ])
  const failed = await collect(task.events({ status: ['failed'] }))
  expect(failed.map(({ number, code, messages }) => [number, code, messages.at(-1)?.text])).toEqual([
    [3, 'invalid', 'Price: 12,5O is not a price'],
    [5, 'invalid', 'Price: -3 is not a price'],
  ])
})

test('a truncated file is refused with the position, and the rows before it stay', async () => {
  const { hq, folder } = newApp()
  const path = join(folder, 'broken.csv')
  const lines = Array.from({ length: 20_000 }, (_, i) => `sku-${i},name ${i}`)
  lines[15_000] = 'sku-15000,"never closed'
  writeFileSync(path, ['SKU,Name', ...lines].join('\n'))
  const Row = hq.job('Row', async (_ctx, _row: object) => {})
  const failure = await hq.tasks.import(Row, path).catch((error) => error)
  expect(failure).toMatchObject({ code: 'INVALID_FILE', details: { row: 15_002 } })
  const { items } = await hq.tasks.list()
  expect(items[0]?.state).toBe('interrupted')
  expect(failure.details.task).toBe(items[0]?.id)

  writeFileSync(path, '')
  await expect(hq.tasks.import(Row, path)).rejects.toMatchObject({ code: 'INVALID_FILE' })
  await expect(hq.tasks.import(Row, join(folder, 'nothing.csv'))).rejects.toMatchObject({ code: 'INVALID_FILE' })
  expect((await hq.tasks.list()).items).toHaveLength(1)
})

test('the report has rows as they were read, also if validation changed them', async () => {
  const { hq, folder } = newApp()
  const path = join(folder, 'products.csv')
  writeFileSync(path, 'SKU,Price,Note\n bad ,1.50,keep me\nodd,oops,and me\n')
  const Row = hq.job('Row', async (_ctx, row: { sku: string; price: number }) => {
    throw new BusinessFailure(`no ${row.sku}`)
  })
  const validate = {
    '~standard': {
      version: 1,
      vendor: 'test',
      validate: (value: unknown) => {
        const { SKU = '', Price } = value as Record<string, string>
        return { value: { sku: SKU.trim(), price: Number(Price) } }
      },
    },
  } as const
  await hq.worker().start()
  const task = await hq.tasks.import(Row, path, { validate })
  await task.wait({ every: 10 })
  await task.report(join(folder, 'rejected.csv'))
  const read = await collect((await openFile(join(folder, 'rejected.csv'))).rows)
  const rows = read.map(({ values }) => Object.values(values))
  expect(rows.map((values) => values.slice(0, 3))).toEqual([
    [' bad ', '1.50', 'keep me'],
    ['odd', 'oops', 'and me'],
  ])
  // What JSON can't carry is a fault of its row, not of the file.
  expect(rows[1]?.[7]).toMatch(/args\[0\]\.price is NaN/)
  const wrong = hq.tasks.import(Row, path, { validate: (() => true) as never })
  await expect(wrong).rejects.toMatchObject({ code: 'INVALID_OPTION' })
})

test('an import that a too large row has interrupted resumes with the file in which that row is corrected', async () => {
  const { hq } = newApp({ maxArgsBytes: { warn: 100, refuse: 200 } })
  const Row = hq.job('Row', async (_ctx, _row: object) => {})
  const stored = Array.from({ length: 1002 }, (_, i) => `sku-${i},${i}`)
  const file = (note: string) => Buffer.from(['sku,note', ...stored, `last,${note}`].join('\n'))
  const { code, details } = await hq.tasks.import(Row, file('x'.repeat(300))).catch((error) => error)
  expect(code).toBe('ARGS_TOO_LARGE')
  const task = await hq.tasks.import(Row, file('x'), { resume: details.task })
  expect(await task.status()).toMatchObject({ total: 1003, state: 'running' })
})

test('an interrupted import resumes only with its own file, which may change after the stored rows', async () => {
  const { hq } = newApp()
  const Row = hq.job('Row', async (_ctx, _row: object) => {})
  const columns = { sku: 'article', price: 'price' }
  const stored = Array.from({ length: 1002 }, (_, i) => `sku-${i},${i},`)
  const file = (header: string, ...rows: string[]) => Buffer.from([header, ...rows].join('\n'))
  const broken = file('sku,price,note', ...stored, 'last,"4')
  const { details } = await hq.tasks.import(Row, broken, { columns }).catch((error) => error)
  const goOn = (source: Buffer) => hq.tasks.import(Row, source, { resume: details.task })
  const refused = async (source: Buffer, words: RegExp) => {
    await expect(goOn(source)).rejects.toMatchObject({ code: 'INVALID_FILE', message: expect.stringMatching(words) })
    expect(await hq.tasks.get(details.task).status()).toMatchObject({ total: 1002, state: 'interrupted' })
  }
  const [, ...fewer] = stored
  await refused(file('sku,price,note', ...fewer, 'last,4,'), /its row 1003 is not the one that was stored last/)
  await refused(file('sku,price,note', ...stored.slice(0, -1), 'sku-1001,7,', 'last,4,'), /its row 1003 is not/)
  await refused(file('sku,price,note', 'a,1,'), /it has 1 rows and 1002 are stored already/)
  await refused(file('sku,price,remark', ...stored, 'last,4,'), /its column 3 is "remark" and was "note"/)
  await refused(file('sku,price', ...stored.map((row) => row.slice(0, -1))), /its column 3 is nothing and was "note"/)
  await refused(file('{"sku":"a","price":"1","note":""}'), /it is NDJSON and the task was imported from CSV/)
  const task = await goOn(file('sku,price,note', ...stored, 'last,4,'))
  const all = (await collect(task.events())).map(({ args }) => args)
  expect([all.length, all[0], all.at(-1)]).toEqual([
    1003,
    [{ article: 'sku-0', price: '0' }],
    [{ article: 'last', price: '4' }],
  ])
})
