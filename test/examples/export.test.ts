import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { openFile } from '#dist/tasks/spreadsheet/file.js'
import { Example, follow, json, openPage } from './example.ts'

const FULL = process.env.HIGHKIQ_EXAMPLES === 'full'
const LIMIT_MS = FULL ? 400_000 : 90_000
/** All 500,000 with HIGHKIQ_EXAMPLES=full. */
const ROWS = FULL ? 500_000 : 22_000
const MOST_MB = 400

const HEADER = ['id', 'day', 'customer', 'city', 'product', 'quantity', 'unit_price', 'discount', 'paid', 'note']

test('a table becomes one file, downloaded while it is made, with its rows in order', {
  timeout: LIMIT_MS,
}, async () => {
  const example = new Example('export', { EXAMPLE_ROWS: String(ROWS) })
  const url = await example.url
  const { cpu: cpuAtStart } = example.cost
  const begin = async (format: string) => {
    const headers = { 'content-type': 'application/json' }
    const { id } = await json<{ id: string }>(
      fetch(`${url}/exports/${format}`, { method: 'POST', headers, body: '{}' }),
    )
    return id
  }
  const seconds: Record<string, number> = {}
  const timed = async <T>(name: string, work: () => Promise<T>): Promise<T> => {
    const began = performance.now()
    const result = await work()
    seconds[name] = (performance.now() - began) / 1000
    return result
  }

  const csv = await timed('csv', async () => {
    const id = await begin('csv')
    const response = await fetch(`${url}/api/v1/tasks/${id}/download?wait=1`)
    expect(response.headers.get('content-disposition')).toContain('attachment; filename="sales.csv";')
    expect(response.headers.get('content-type')).toBe('text/csv; charset=utf-8')
    // An address of a workbook does not make one of it.
    expect((await fetch(`${url}/exports/${id}/sales.xlsx`)).status).toBe(404)
    const ids = new Ids()
    for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) ids.add(chunk)
    ids.end()
    expect((await follow(url, id)).at(-1)).toMatchObject({ state: 'done', total: Math.ceil(ROWS / 5000) })
    return ids
  })
  const { cpu: cpuAfterCsv } = example.cost
  expect(csv.count).toBe(ROWS)
  expect(csv.header).toBe(HEADER.join(','))

  const workbook = await timed('xlsx', async () => {
    const id = await begin('xlsx')
    return Buffer.from(await (await fetch(`${url}/api/v1/tasks/${id}/download?wait=1`)).arrayBuffer())
  })
  const { header, rows } = await openFile(workbook)
  expect(header).toEqual(HEADER)
  let n = 0
  for await (const { values } of rows) if (values.id !== ++n) throw new Error(`row ${n} has id ${values.id}`)
  expect(n).toBe(ROWS)

  // CPU time is of the app alone, whatever else the machine does.
  if (FULL) console.log({ rows: ROWS, seconds, cpuAtStart, cpuAfterCsv, ...example.cost })
  expect(example.cost.memory).toBeLessThan(MOST_MB)

  const there = await openPage(url)
  if (!there) return
  const { page, faults } = there
  await page.getByRole('button', { name: 'All sales as CSV' }).click()
  const downloading = page.waitForEvent('download')
  await page.getByRole('link', { name: 'Download' }).click()
  const download = await downloading
  expect(download.suggestedFilename()).toBe('sales.csv')
  const pages = Math.ceil(ROWS / 5000)
  await page.getByRole('status').getByText(`${pages} of ${pages} pages are made. The file is whole.`).waitFor()
  expect(
    createHash('sha256')
      .update(await readFile(await download.path()))
      .digest('hex'),
  ).toBe(csv.digest)
  expect(faults).toEqual([])
})

/** Ids of a CSV file as it passes by: each row one more than the one before. */
class Ids {
  header = ''
  count = 0
  digest = ''
  #rest = ''
  readonly #hash = createHash('sha256')
  readonly #decoder = new TextDecoder('utf-8')

  add(chunk: Uint8Array): void {
    this.#hash.update(chunk)
    const lines = (this.#rest + this.#decoder.decode(chunk, { stream: true })).split('\r\n')
    this.#rest = lines.pop() as string
    for (const line of lines) this.#line(line)
  }

  end(): void {
    expect(this.#rest).toBe('')
    this.digest = this.#hash.digest('hex')
  }

  #line(line: string): void {
    if (this.header === '') this.header = line
    else if (!line.startsWith(`${++this.count},`)) throw new Error(`row ${this.count} is ${line}`)
  }
}
