import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { BusinessFailure, type Highkiq } from 'highkiq'
import { expect, test } from 'vitest'
import { openFile } from '#dist/tasks/spreadsheet/file.js'
import { workbookBytes } from '#dist/tasks/spreadsheet/workbook-writer.js'
import { writeSpreadsheet } from '#dist/tasks/spreadsheet/write.js'
import { gate } from '../engine/bench.ts'
import { collect, newApp } from './bench.ts'

const lines = [
  'sku,name,price',
  ...Array.from({ length: 60 }, (_, i) => `sku-${i},Thing ${i},${i % 7 === 3 ? 'x' : i}`),
]

test.for(['csv', 'xlsx', 'ndjson'] as const)(
  'a report in %s, corrected by a script, leaves no rejected row',
  async (format) => {
    const { hq, folder } = newApp()
    const Row = hq.job('Row', async (_ctx, row: { sku: string; price: unknown }) => {
      if (Number.isNaN(Number(row.price))) throw new BusinessFailure('is no number', { code: 'price', field: 'price' })
      return { sku: row.sku }
    })
    await hq.worker({ concurrency: 5 }).start()
    const task = await hq.tasks.import(Row, Buffer.from(lines.join('\n')))
    expect((await task.wait({ every: 10 })).counts).toMatchObject({ finished: 51, failed: 9 })

    const path = join(folder, `rejected.${format}`)
    await task.report(path)
    const fixed = join(folder, `fixed.${format}`)
    if (format === 'ndjson') {
      writeFileSync(fixed, readFileSync(path, 'utf8').replaceAll('"price":"x"', '"price":"7"'))
    } else {
      const { header = [], rows: read } = await openFile(path)
      const mended = (value: unknown) => (value === 'x' ? '7' : value)
      const rows = (await collect(read)).map(({ values }) => Object.values(values).map(mended))
      await writeSpreadsheet(fixed, { header, rows })
    }
    expect(await task.retry({ report: fixed })).toMatchObject({ run: 2, rows: 9, dropped: 0, refused: 0 })
    const { counts, run } = await task.wait({ every: 10 })
    expect([run, counts]).toMatchObject([2, { finished: 60, failed: 0, error: 0, cancelled: 0 }])
    const events = await collect(task.events())
    expect(events.map(({ result }) => (result as { sku: string }).sku)).toEqual(
      Array.from({ length: 60 }, (_, i) => `sku-${i}`),
    )

    // The same file once more finds nothing to do.
    expect(await task.retry({ report: fixed })).toMatchObject({ rows: 0 })
  },
)

test('rows that validation refuses again stay unchanged, the others run', async () => {
  const { hq, folder } = newApp()
  const validate = {
    '~standard': {
      version: 1,
      vendor: 'test',
      validate: (value: unknown) =>
        Number((value as { price: string }).price) >= 0
          ? { value }
          : { issues: [{ message: 'no price', path: ['price'] }] },
    },
  } as const
  const Row = hq.job('Row', async (_ctx, _row: object) => {})
  await hq.worker().start()
  const task = await hq.tasks.import(Row, Buffer.from('sku,price\na,1\nb,x\nc,y\n'), { validate })
  expect((await task.wait({ every: 10 })).counts).toMatchObject({ finished: 1, failed: 2 })
  const path = join(folder, 'rejected.csv')
  await task.report(path)
  writeFileSync(path, readFileSync(path, 'utf8').replace('b,x', 'b,2'))
  expect(await task.retry({ report: path, as: { validate } })).toMatchObject({ rows: 1, refused: 1 })
  expect((await task.wait({ every: 10 })).counts).toMatchObject({ finished: 2, failed: 1 })
})

test('a report that continues on a second sheet is refused, unless a sheet is named', async () => {
  const { hq } = newApp()
  const Row = hq.job('Row', async (_ctx, _row: object) => {
    throw new BusinessFailure('no')
  })
  await hq.worker().start()
  const task = await hq.tasks.import(Row, Buffer.from('sku\na\nb\nc\n'))
  await task.wait({ every: 10 })
  const header = ['sku', 'row key']
  const keys = [0, 1, 2].map((index) => ['x', `${task.id}:${index}:1`])
  // As a report is written whose rows do not fit on a sheet.
  const report = await buffer(workbookBytes(Readable.from([header, ...keys]), 3))
  await expect(task.retry({ report })).rejects.toMatchObject({
    code: 'INVALID_FILE',
    message: expect.stringContaining('another sheet (its sheets are "Sheet1", "Sheet1_2"): save each sheet as a file'),
  })
  expect(await task.retry({ report, as: { sheet: 'Sheet1_2' } })).toMatchObject({ rows: 1 })
})

test('the same bytes are refused with the id of the first task, unless allowDuplicate is set', async () => {
  let ahead = 0
  const { hq } = newApp({ clock: { now: () => Date.now() + ahead } })
  const Row = hq.job('Row', async (_ctx, _row: object) => {})
  const file = Buffer.from('sku\na\nb\n')
  const first = await hq.tasks.import(Row, file)
  await expect(hq.tasks.import(Row, file)).rejects.toMatchObject({
    code: 'ALREADY_IMPORTED',
    details: { task: first.id },
  })
  const second = await hq.tasks.import(Row, file, { allowDuplicate: true })
  expect(second.id).not.toBe(first.id)
  await first.delete()
  // The second import is remembered as well.
  await expect(hq.tasks.import(Row, file)).rejects.toMatchObject({
    code: 'ALREADY_IMPORTED',
    details: { task: second.id },
  })
  await second.delete()
  // A task may not be there because it is only being made.
  ahead = 61_000
  await hq.tasks.import(Row, file)
})

test('of two imports of the same bytes only one creates a task, also when their clocks differ by minutes', async () => {
  const { hq, url } = newApp()
  const { hq: ahead } = newApp({ url, clock: { now: () => Date.now() + 120_000 } })
  const file = Buffer.from('sku\na\n')
  const { opened, open } = gate()
  const validating = gate()
  const validate = {
    '~standard': {
      version: 1,
      vendor: 'test',
      validate: async (value: unknown) => {
        validating.open()
        await opened
        return { value: value as object }
      },
    },
  } as const
  const rowOf = (app: Highkiq) => app.job('Row', async (_ctx, _row: object) => {})
  const slow = hq.tasks.import(rowOf(hq), file, { validate })
  await validating.opened
  const quick = await ahead.tasks.import(rowOf(ahead), file)
  open()
  await expect(slow).rejects.toMatchObject({ code: 'ALREADY_IMPORTED', details: { task: quick.id } })
  expect((await hq.tasks.list()).items).toHaveLength(1)
})

const GOODS = 'sku,name,price\na-1,Café à la crème,x\na-2,"Señor Nuñez, São João, où ça",2\n'

// The bytes of each word that is not ASCII, made with Python: text.encode(…).
test.each([
  ['windows-1252', GOODS, Object.fromEntries([...'éàèñãçù'].map((letter) => [letter, Buffer.from(letter, 'latin1')]))],
  [
    'gb18030',
    'sku,名称,price\na-1,烤鸭,x\na-2,华为手机 请尽快发货 广州市 北京 苹果 深圳,2\n',
    {
      名称: Buffer.from('c3fbb3c6', 'hex'),
      烤鸭: Buffer.from('bfbed1bc', 'hex'),
      '华为手机 请尽快发货 广州市 北京 苹果 深圳': Buffer.from(
        'bbaaceaacad6bbfa20c7ebbea1bfecb7a2bbf520b9e3d6ddcad020b1b1bea920c6bbb9fb20c9eedbda',
        'hex',
      ),
    },
  ],
])('a report of one row comes back in %s, in which its import was read', async (encoding, text, words) => {
  const { hq } = newApp()
  const saved = (content: string) => {
    const all = Object.entries(words).reduce(
      (kept, [word, bytes]) => kept.replaceAll(word, bytes.toString('latin1')),
      content,
    )
    return Buffer.from(all, 'latin1')
  }
  const Row = hq.job('Row', async (_ctx, row: { price: string }) => {
    if (row.price === 'x') throw new BusinessFailure('is no number', { code: 'price', field: 'price' })
    return Object.values(row)
  })
  await hq.worker().start()
  const task = await hq.tasks.import(Row, saved(text))
  expect(task.encoding).toBe(encoding)
  expect((await task.wait({ every: 10 })).counts).toMatchObject({ failed: 1 })

  const report = await new Response(await task.report({ format: 'csv' })).text()
  // In another process nobody knows the task but the store.
  expect(await hq.tasks.get(task.id).retry({ report: saved(report.replace(',x,', ',7,')) })).toMatchObject({ rows: 1 })
  expect((await task.wait({ every: 10 })).counts).toMatchObject({ failed: 0 })
  const [event] = await collect(task.events())
  expect(event?.result).toEqual([...text.split(/[,\n]/).slice(3, 5), '7'])
})
