import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { openDriver } from '#dist/store/sqlite/file/open-driver.js'
import { openFile } from '#dist/tasks/spreadsheet/file.js'
import { writeSpreadsheet } from '#dist/tasks/spreadsheet/write.js'
import { Catalogue } from '../../examples/demo/catalogue.js'
import { cellValues, HEADER, makeProducts as makeAny } from '../../examples/demo/products.js'
import { PackedProject } from '../docs/packed.ts'
import { newSchema, sharedPostgres } from '../postgres/server.ts'
import { onPostgres } from '../postgres/suite.ts'

const MAIN = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))

interface Product {
  sku: string
  name: string
}

interface Made {
  rows: { sku: string; name: string }[]
  products: Product[]
  broken: { row: number; kind: string; code: string; field: string }[]
  untidy: { row: number; kind: string; sku: string }[]
}

const makeProducts = makeAny as unknown as (count: number) => Made

interface Ended {
  code: number
  stdout: string
  stderr: string
}

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'highkiq-demo-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

/** Runs the built demo, its output going to a pipe. */
function demo(out: string, ...args: string[]): Promise<Ended> {
  const { NO_COLOR, FORCE_COLOR, HIGHKIQ_LOG_LEVEL, ...env } = process.env
  return new Promise((resolve) => {
    const argv = [MAIN, 'demo', '--out', join(folder, out), ...args]
    const child = execFile(process.execPath, argv, { cwd: folder, env }, (_error, stdout, stderr) => {
      resolve({ code: child.exitCode ?? -1, stdout, stderr })
    })
  })
}

async function productsIn(out: string): Promise<Product[]> {
  const columns = `sku, name, category, price_cents AS "priceCents", currency, stock,
    available_from AS "availableFrom", ean, description`
  return query<Product>(out, `SELECT ${columns} FROM product ORDER BY substr(sku, 5)`)
}

async function query<Row = Record<string, unknown>>(out: string, sql: string): Promise<Row[]> {
  const db = await openDriver(join(folder, out, 'catalogue.db'))
  try {
    return db
      .prepare(sql)
      .all()
      .map((row) => ({ ...(row as Row) }))
  } finally {
    db.close()
  }
}

/** The rows of a report, by the names of its columns. */
async function reportIn(out: string, name = 'products-rejected.xlsx'): Promise<Record<string, unknown>[]> {
  const { rows } = await openFile(join(folder, out, name))
  const records: Record<string, unknown>[] = []
  for await (const { values } of rows) records.push(values)
  return records
}

function tally(codes: string[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const code of codes) counts[code] = (counts[code] ?? 0) + 1
  return counts
}

/** What the screen says about why rows were rejected. */
function reasonsOn(screen: string): Record<string, number> {
  const lines = screen.matchAll(/^ +([\d,]+) {2}([a-z]+(?:_[a-z]+)+)\b/gm)
  return Object.fromEntries([...lines].map(([, n = '', code = '']) => [code, Number(n.replace(',', ''))]))
}

const inOrder = (products: Product[]) => products.toSorted((a, b) => (a.sku.slice(4) < b.sku.slice(4) ? -1 : 1))

describe('the workbook of the demo', () => {
  it('has 10,000 rows, 2% of them broken in more than a dozen ways, and is the same each time', () => {
    const made = makeProducts(10_000)
    expect(made.rows).toHaveLength(10_000)
    expect(made.broken).toHaveLength(200)
    expect(new Set(made.broken.map(({ kind }) => kind)).size).toBeGreaterThan(12)
    expect(new Set(made.untidy.map(({ kind }) => kind)).size).toBeGreaterThan(10)
    expect(makeProducts(10_000)).toEqual(made)
  })

  it('can be of any size', () => {
    for (const size of [1, 2, 30, 75]) {
      const made = makeProducts(size)
      expect(made.products.length + made.broken.length).toBe(size)
    }
  })
})

it('runs in the packed package with only the packages that npm installs beside it', { timeout: 300_000 }, () => {
  const project = new PackedProject('examples/demo/README.md', [])
  const { status, stdout, stderr } = project.run('npx highkiq demo')
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  expect(stdout).toContain('10,000 products: 9,800 imported, 200 rejected in ')
})

describe('npm run demo', () => {
  const made = makeProducts(10_000)
  let ended: Ended
  beforeAll(async () => {
    ended = await demo('full')
  }, 40_000)

  it('imports 10,000 products, prints the figures, and exits with 0', () => {
    expect(ended.stderr).toBe('')
    expect(ended.code).toBe(0)
    expect(ended.stdout).toContain('10,000 products: 9,800 imported, 200 rejected in ')
    expect(ended.stdout).toContain('10,000 of 10,000 (100%)')
    expect(ended.stdout).toMatch(/open the report +\S+ \S*products-rejected\.xlsx/)
    expect(ended.stdout).toMatch(/see it in the dashboard +npx highkiq demo --web\n/)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: no colours in a pipe
    expect(ended.stdout).not.toMatch(/\u001B/)
  })

  it('counts the reasons exactly', () => {
    expect(reasonsOn(ended.stdout)).toEqual(tally(made.broken.map(({ code }) => code)))
  })

  it('shows the first rejected rows', () => {
    for (const { row } of made.broken.slice(0, 8)) expect(ended.stdout).toMatch(new RegExp(`^ +${row}  `, 'm'))
    expect(ended.stdout).toContain('"12,5O" is not a number: it has a letter O in it')
  })

  it('stores exactly the valid products, cleaned', async () => {
    const products = await productsIn('full')
    expect(products).toEqual(inOrder(made.products))
    expect(products.some(({ name }) => name.startsWith('南部鉄器の急須'))).toBe(true)
    expect(products.some(({ name }) => name.startsWith('סט סכיני מטבח'))).toBe(true)
    for (const kind of ['decimal comma', 'full-width digits', 'SKU in small letters', 'non-breaking spaces']) {
      const { sku } = made.untidy.find((one) => one.kind === kind) as { sku: string }
      expect(products.find((product) => product.sku === sku)).toEqual(made.products.find((one) => one.sku === sku))
    }
  })

  it('reports exactly the rejected rows, with their values and reasons', async () => {
    const report = await reportIn('full')
    expect(report.map(({ row, code, status }) => ({ row, code, status }))).toEqual(
      made.broken.map(({ row, code }) => ({ row, code, status: 'failed' })),
    )
    for (const [i, { row, field }] of made.broken.entries()) {
      expect(report[i]?.messages).toMatch(new RegExp(`^${field}: .+`, 's'))
      expect(report[i]?.Name).toBe(made.rows[row - 2]?.name)
    }
  })

  it('names the row that has the SKU of a duplicate', async () => {
    const rowOf = new Map<string, number>()
    const bad = new Set(made.broken.map(({ row }) => row))
    for (const [i, { sku }] of made.rows.entries()) {
      if (!bad.has(i + 2)) rowOf.set(sku.normalize('NFKC').replace('\u200B', '').trim().toUpperCase(), i + 2)
    }
    const duplicates = (await reportIn('full')).filter(({ code }) => code === 'duplicate_sku')
    expect(duplicates.length).toBeGreaterThan(10)
    for (const { SKU, messages } of duplicates) {
      expect(messages).toContain(`row ${rowOf.get(String(SKU).trim().toUpperCase())},`)
    }
  })

  it('prints the same figures when it runs again in the same folder', async () => {
    const expected = makeProducts(1500)
    for (let i = 0; i < 2; i++) {
      const { code, stdout } = await demo('again', '--rows', '1500')
      expect(code).toBe(0)
      expect(stdout).toContain(`1,500 products: ${count(expected.products.length)} imported, 30 rejected in `)
      expect(await productsIn('again')).toEqual(inOrder(expected.products))
    }
  })

  it('uses the given store', async () => {
    const { code, stdout } = await demo('other', '--rows', '50', '--url', `sqlite:${join(folder, 'mine.db')}`)
    expect(code).toBe(0)
    expect(stdout).toContain(join(folder, 'mine.db'))
    expect(existsSync(join(folder, 'mine.db'))).toBe(true)
    expect(existsSync(join(folder, 'other', 'queue.db'))).toBe(false)
  })
})

it('npm run demo -- --web leaves the dashboard open on the task, with a worker, until Ctrl-C', async () => {
  const { NO_COLOR, FORCE_COLOR, HIGHKIQ_LOG_LEVEL, HIGHKIQ_WEB_TOKEN, ...env } = process.env
  const argv = [MAIN, 'demo', '--out', join(folder, 'open'), '--rows', '100', '--web']
  const child = spawn(process.execPath, argv, { cwd: folder, env, stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  let stdout = ''
  const url = await new Promise<string>((resolve) => {
    child.stdout.on('data', (text) => {
      stdout += text
      const [, found] = /The dashboard is open at (http:\S+\/tasks\/\S+)\n/.exec(stdout) ?? []
      if (found) resolve(found)
    })
  })
  expect(stdout).not.toContain('see it in the dashboard')
  const page = await fetch(url, { headers: { accept: 'text/html' } })
  expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('<script type="module"')])
  const task = url.replace('/tasks/', '/api/v1/tasks/')
  const before = (await (await fetch(task)).json()) as { total: number; run: number; counts: Record<string, number> }
  expect([before.total, before.counts.finished, before.run]).toEqual([100, 98, 1])
  expect((await fetch(`${task}/retry`, { method: 'POST' })).status).toBe(202)
  await expect.poll(async () => ((await (await fetch(task)).json()) as { state: string }).state).toBe('done')
  // npm sends a Ctrl-C of the terminal on. Two of one kind could arrive as one.
  child.kill('SIGINT')
  child.kill('SIGTERM')
  expect(await once(child, 'close')).toEqual([0, null])
})

describe('npm run demo -- --file', () => {
  const rows = [
    ['Article number', 'Title', 'Unit price', 'Qty'],
    ['a-1', '茶碗', '１２，５０', '3'],
    ['A-2', 'كوب', '1.234,50 €', ''],
    ['a-1 ', 'again', '5', '1'],
    ['A-4', 'call us', 'n/a', '1'],
    ['A-5', 'unclear', '1,234', '1'],
  ]

  it('imports a CSV file with other column names', async () => {
    const csv = rows.map((cells) => cells.map((cell) => `"${cell}"`).join(';')).join('\n')
    await writeFile(join(folder, 'mine.csv'), csv)
    const { code, stdout } = await demo('csv', '--file', 'mine.csv')
    expect(code).toBe(0)
    expect(stdout).toContain('5 products: 2 imported, 3 rejected in ')
    expect(await query('csv', 'SELECT sku, name, price_cents, stock FROM product ORDER BY sku')).toEqual([
      { sku: 'A-1', name: '茶碗', price_cents: 1250, stock: 3 },
      { sku: 'A-2', name: 'كوب', price_cents: 123_450, stock: null },
    ])
    expect((await reportIn('csv', 'mine-rejected.xlsx')).map(({ row, messages }) => [row, messages])).toEqual([
      [4, 'Article number: "A-1" is taken by row 2, "茶碗"'],
      [5, 'Unit price: "n/a" is not a number'],
      [6, 'Unit price: "1,234" could be 1234 or 1.234: write 1234.00'],
    ])
    expect(await readFile(join(folder, 'mine.csv'), 'utf8')).toBe(csv)
  })

  it('imports an XLSX file, also without rejected rows', async () => {
    await writeSpreadsheet(join(folder, 'mine.xlsx'), { header: rows[0] as string[], rows: rows.slice(1, 3) })
    const { code, stdout } = await demo('xlsx', '--file', 'mine.xlsx')
    expect(code).toBe(0)
    expect(stdout).toContain('2 products: 2 imported in ')
    expect(stdout).not.toContain('rejected')
  })

  it('keeps the rows of other files unchanged, and says so', async () => {
    await writeFile(join(folder, 'cities.csv'), 'City,People\nKyoto,1460000\n" "," "\nBonn,#REF!\n')
    const { code, stdout } = await demo('cities', '--file', 'cities.csv')
    expect(code).toBe(0)
    expect(stdout).toContain('No column for SKU or Name or Price')
    expect(stdout).toContain('3 rows: 1 imported, 2 rejected in ')
    const [row] = await query('cities', 'SELECT content FROM "row"')
    expect(JSON.parse(String(row?.content))).toEqual({ City: 'Kyoto', People: '1460000' })
  })

  it.each([
    ['is missing', 'nothing.xlsx', undefined, /nothing\.xlsx: the file can't be opened/],
    ['is no workbook', 'broken.xlsx', 'not a workbook', /broken\.xlsx: .*not a workbook/],
    ['is empty', 'empty.csv', '', /empty\.csv: the file is empty/],
  ])('says in one line that a file %s, and exits 2', async (_, name, content, message) => {
    if (content !== undefined) await writeFile(join(folder, name), content)
    const { code, stdout, stderr } = await demo('none', '--file', name)
    expect(code).toBe(2)
    expect(stdout).toBe('')
    expect(stderr).toMatch(message)
    expect(stderr.trim().split('\n')).toHaveLength(1)
    expect(existsSync(join(folder, 'none'))).toBe(false)
  })

  it('reports the rows before the damage of a file, and exits with 1', async () => {
    const good = Array.from({ length: 1200 }, (_, i) => `S${i},name,1`)
    await writeFile(join(folder, 'halfway.csv'), ['SKU,Name,Price', ...good, 'S,"name,1'].join('\n'))
    const { code, stdout, stderr } = await demo('halfway', '--file', 'halfway.csv')
    expect(code).toBe(1)
    expect(stdout).toMatch(/1,\d{3} products: 1,\d{3} imported/)
    expect(stderr.trim().split('\n')).toHaveLength(1)
  })

  it('never overwrites a file that it did not create', async () => {
    await writeFile(join(folder, 'queue.db'), 'precious')
    const { code, stderr } = await demo('.', '--rows', '10')
    expect(code).toBe(2)
    expect(stderr).toMatch(/queue\.db was not made by the demo/)
    expect(await readFile(join(folder, 'queue.db'), 'utf8')).toBe('precious')
  })
})

onPostgres('npm run demo with a PostgreSQL store', () => {
  it('imports the products', async () => {
    const server = await sharedPostgres()
    const schema = newSchema()
    onTestFinished(async () => void (await server.query(`DROP SCHEMA IF EXISTS "${schema}" CASCADE`)))
    const url = server.url(`?schema=${schema}`)
    const { products, broken } = makeProducts(1000)
    const { code, stdout, stderr } = await demo('postgres', '--rows', '1000', '--url', url)
    expect(code).toBe(0)
    // The server of the tests has fsync off.
    expect(stderr.replace(/^.*fsync is off.*\n/, '')).toBe('')
    expect(stdout).toContain(`1,000 products: ${products.length} imported, ${broken.length} rejected in `)
    expect(stdout).toContain(`--url '${url}'`)
    expect(await productsIn('postgres')).toHaveLength(products.length)
    expect(
      await server.query(`SELECT finished::int, failed::int + error::int AS rejected FROM "${schema}".task`),
    ).toEqual([{ finished: products.length, rejected: broken.length }])
  })
})

describe('the catalogue', () => {
  it('does not mistake a repeated job for a duplicate', async () => {
    const catalogue = await Catalogue.open(join(folder, 'twice.db'))
    const [product] = makeProducts(1).products as [Product]
    expect(catalogue.add(product, 'job-1')).toEqual({ jid: 'job-1', name: product.name })
    expect(catalogue.add(product, 'job-1')).toEqual({ jid: 'job-1', name: product.name })
    expect(catalogue.add({ ...product, name: 'other' }, 'job-2')).toEqual({ jid: 'job-1', name: product.name })
    catalogue.close()
  })
})

it('the header and the cells of the workbook match', () => {
  expect(cellValues(makeProducts(1).rows[0] as never)).toHaveLength(HEADER.length)
})

const count = (n: number) => n.toLocaleString('en')
