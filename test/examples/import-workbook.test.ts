import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openFile } from '#dist/tasks/spreadsheet/file.js'
import { writeSpreadsheet } from '#dist/tasks/spreadsheet/write.js'
import { Example, follow, json, openPage } from './example.ts'

const LIMIT_MS = 90_000
/** All 10,000 with HIGHKIQ_EXAMPLES=full. */
const ROWS = process.env.HIGHKIQ_EXAMPLES === 'full' ? 10_000 : 600
const REFUSED = ROWS / 50
const XLSX = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'

type Row = Record<string, string | number>

/** Corrects a report as a person in a spreadsheet would; `all` false leaves every second row as it is. */
async function correct(report: Uint8Array, path: string, all: boolean, sku = 'C'): Promise<number> {
  const { header = [], rows } = await openFile(report)
  const corrected: unknown[][] = []
  for await (const { values } of rows) {
    const row = values as Row
    const mend = all || corrected.length % 2 === 0
    const mended: Row = { ...row, SKU: `${sku}-${row.row}`, Category: 'Books', Price: 5 }
    corrected.push(header.map((name) => (mend ? mended : row)[name]))
  }
  await writeSpreadsheet(path, { header, rows: corrected })
  return corrected.length
}

test('the sample is imported, and its rejected rows are corrected until none is left', {
  timeout: LIMIT_MS,
}, async () => {
  const example = new Example('import-workbook', { EXAMPLE_ROWS: String(ROWS) })
  const url = await example.url
  const sample = Buffer.from(await (await fetch(`${url}/products.xlsx`)).arrayBuffer())
  const headers = { 'content-type': XLSX }
  const send = (path: string, body: Uint8Array) =>
    fetch(url + path, { method: 'POST', headers, body: body as Uint8Array<ArrayBuffer> })
  const { id, total } = await json<{ id: string; total: number }>(
    send('/api/v1/tasks/import?job=ImportProduct', sample),
  )
  expect(total).toBe(ROWS)
  const told = await follow(url, id)
  expect(told.at(-1)?.counts).toMatchObject({ finished: ROWS - REFUSED, failed: REFUSED })

  const report = async () =>
    Buffer.from(await (await fetch(`${url}/api/v1/tasks/${id}/report?format=xlsx`)).arrayBuffer())
  const path = join(example.folder, 'corrected.xlsx')
  expect(await correct(await report(), path, false)).toBe(REFUSED)
  const half = await send(`/imports/${id}/corrected`, await readFile(path))
  expect(await json(half)).toMatchObject({ rows: REFUSED, run: 2, refused: 0 })
  expect((await follow(url, id)).at(-1)?.counts.failed).toBe(REFUSED / 2)
  expect(await correct(await report(), path, true)).toBe(REFUSED / 2)
  await json(send(`/imports/${id}/corrected`, await readFile(path)))
  expect((await follow(url, id)).at(-1)).toMatchObject({ state: 'done', run: 3, counts: { finished: ROWS, failed: 0 } })

  const alien = await send(`/imports/${id}/corrected`, sample)
  expect([alien.status, await alien.text()]).toEqual([400, expect.stringContaining('row key')])
  const twice = await send('/api/v1/tasks/import?job=ImportProduct', sample)
  expect([twice.status, await twice.text()]).toEqual([409, expect.stringContaining('ALREADY_IMPORTED')])

  const there = await openPage(url)
  if (!there) return
  const { page, faults } = there
  const header = ['SKU', 'Name', 'Category', 'Price']
  const mine = join(example.folder, 'mine.xlsx')
  const price = (n: number) => (n % 10 === 0 ? 'dear' : n)
  const rows = Array.from({ length: 100 }, (_, n) => [`M-${n}`, 'Mine', 'Toys', price(n + 1)])
  await writeSpreadsheet(mine, { header, rows })
  await page.getByLabel('Products').setInputFiles(mine)
  await page.getByRole('button', { name: 'Import' }).click()
  const soFar = page.getByRole('status')
  await soFar.getByText('90 of 100 products are in the catalogue, 10 refused. Done.').waitFor()
  await page.locator('#rows tr').nth(9).waitFor()
  expect(await page.locator('#rows tr').first().innerText()).toMatch(/11\s+Price: "dear" is not a price/)
  const downloading = page.waitForEvent('download')
  await page.getByRole('link', { name: 'All of them as a workbook' }).click()
  const download = await downloading
  expect(download.suggestedFilename()).toBe('mine.xlsx - rejected.xlsx')
  await correct(await readFile(await download.path()), path, true, 'D')
  await page.getByLabel('Corrected').setInputFiles(path)
  await page.getByRole('button', { name: 'Try these again' }).click()
  await soFar.getByText('100 of 100 products are in the catalogue, 0 refused. Done.').waitFor()
  expect(faults).toEqual([])
})
