import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { BusinessFailure } from 'highkiq'
import { expect, test } from 'vitest'
import { readSheet, writeSheet } from '#dist/tasks/sheet/sheet.js'
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
      const sheet = await readSheet(path)
      const rows = (await collect(sheet.rows)).map(({ values }) => values.map((value) => (value === 'x' ? '7' : value)))
      await writeSheet(fixed, { header: sheet.header, rows })
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

test('rows that validation refuses again stay as they are, the others run', async () => {
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

test('the same bytes twice are refused with the first task, unless that is wanted', async () => {
  let ahead = 0
  const { hq } = newApp({ clock: { now: () => Date.now() + ahead } })
  const Row = hq.job('Row', async (_ctx, _row: object) => {})
  const file = Buffer.from('sku\na\nb\n')
  const first = await hq.tasks.import(Row, file)
  await expect(hq.tasks.import(Row, file)).rejects.toMatchObject({
    code: 'ALREADY_IMPORTED',
    details: { task: first.id },
  })
  const second = await hq.tasks.import(Row, file, { again: true })
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
