import { writeXlsx } from 'hucre/xlsx'
import * as v from 'valibot'
import { expect, test } from 'vitest'
import { gate, until } from '../engine/bench.ts'
import { inBrowser } from './browser.ts'

const product = v.object({
  sku: v.pipe(v.string(), v.nonEmpty('is empty')),
  price: v.number('is no number'),
  note: v.optional(v.string()),
})

const workbook = async () =>
  Buffer.from(
    await writeXlsx({
      sheets: [
        { name: 'Cover', rows: [['The prices of spring']] },
        {
          name: 'Prices',
          rows: [
            ['Article', 'PRICE', 'Remark', 'Buyer'],
            ['lamp', 3, 'new', 'ann'],
            ['rug', 'none', '', 'bob'],
          ],
        },
      ],
    }),
  )
const XLSX = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'

inBrowser('imports on the dashboard', (open) => {
  test('a workbook is mapped by picking, checked and started in five clicks from the overview', async () => {
    const got: unknown[] = []
    const { hq, page, work } = await open('/', {
      before: ({ hq }) =>
        void hq.job('ImportProduct', { validate: product }, async (_ctx, row) => {
          got.push(row)
        }),
    })
    let clicks = 0
    const click = async (name: string | RegExp, role: 'link' | 'button' = 'button') => {
      clicks++
      await page
        .getByRole(role, { name, exact: typeof name === 'string' })
        .first()
        .click()
    }
    await click('Tasks', 'link')
    await click('Import a file')
    const dialog = page.getByRole('dialog')
    clicks++
    const files = dialog.locator('input[type=file]')
    await files.setInputFiles({ name: 'spring.xlsx', mimeType: XLSX, buffer: await workbook() })

    // The only job is chosen, so the file is read at once. The first sheet is not the right one.
    await dialog.getByLabel('Sheet').selectOption('Prices')
    await dialog.getByText('The file has 2 rows.').waitFor()
    const body = dialog.locator('tbody tr')
    expect(await body.allTextContents()).toEqual(['lamp3newann', 'rugnonebob'])

    // A column that is like a field is mapped already. Problems are shown for the mapping that was checked only.
    const becomes = (column: string) => dialog.getByLabel(`What the column ${column} becomes`)
    expect(await becomes('PRICE').inputValue()).toBe('price')
    await dialog.getByText('No column becomes: sku, note').waitFor()
    await becomes('Article').selectOption('sku')
    await becomes('Remark').selectOption('note')
    await becomes('Buyer').selectOption('leave out')
    expect(await becomes('Buyer').locator('option', { hasText: 'price' }).isDisabled()).toBe(true)
    expect(await body.allTextContents()).toEqual(['lamp3newann', 'rugnonebob'])
    const problems = dialog.getByRole('list', { name: 'Problems of the rows' }).getByRole('listitem')
    await dialog.getByText('Preview again to check the rows with these columns.').waitFor()
    expect(await problems.count()).toBe(0)
    await click('Preview again')
    await expect.poll(() => problems.allTextContents()).toEqual(['price: is no numberrow 3invalid1'])
    await click('Start 2 rows')
    await page.getByRole('heading', { name: 'spring.xlsx' }).waitFor()
    expect(clicks).toBe(5)
    await work()
    const [task] = (await hq.tasks.list()).items
    await hq.tasks.get(task?.id ?? '').wait({ every: 10 })
    expect(got).toEqual([{ sku: 'lamp', price: 3, note: 'new' }])
  })

  test('an import whose dialog is closed while the file is sent reports its end', async () => {
    const { hq, page, faults } = await open('/tasks', {
      before: ({ hq }) => void hq.job('ImportProduct', async () => {}),
    })
    const dialog = page.getByRole('dialog')
    const start = async (name: string) => {
      await page.getByRole('button', { name: 'Import a file' }).click()
      await dialog
        .locator('input[type=file]')
        .setInputFiles({ name, mimeType: 'text/csv', buffer: Buffer.from('sku\nlamp\n') })
      await dialog.getByRole('button', { name: 'Start 1 row' }).click()
      await dialog.getByRole('button', { name: 'Close' }).click()
      await dialog.waitFor({ state: 'detached' })
    }
    const message = 'sku is not unique'
    const ends = [gate(), gate()]
    let n = 0
    await page.route(/import\?(?!.*dryRun)/, async (route) => {
      const end = n++
      await ends[end]?.opened
      if (end === 0) await route.continue()
      else await route.fulfill({ status: 400, json: { error: { code: 'INVALID_FILE', message } } })
    })
    await start('lamps.csv')
    ends[0]?.open()
    await page.getByText('lamps.csv is imported: 1 row is stored').waitFor()
    expect((await hq.tasks.list()).items.map(({ name }) => name)).toEqual(['lamps.csv'])
    await start('rugs.csv')
    ends[1]?.open()
    await page.getByText(`The file can't be imported like this: The file is refused: ${message}`).waitFor()
    expect(faults.splice(0)).toEqual([expect.stringContaining('400')])
  })

  test('a CSV file is read as the dialog says, and the task gets the name and the limits', async () => {
    const { hq, page, faults } = await open('/tasks', {
      viewport: { width: 390, height: 844 },
      before: ({ hq }) => void hq.job('Row', async () => {}),
    })
    await page.getByRole('button', { name: 'Import a file' }).click()
    const dialog = page.getByRole('dialog')
    const text = Buffer.from('Prices\nname;price\nc\xe9dille;1,5\n', 'latin1')
    const files = dialog.locator('input[type=file]')
    await files.setInputFiles({ name: 'prices.csv', mimeType: 'text/csv', buffer: text })

    // An error offers what it says, and a click takes it.
    await dialog.getByRole('button', { name: 'Row with the column names: 2' }).click()
    await dialog.getByText('The file has 1 row.').waitFor()
    await dialog.getByText('How the file is read').click()
    await dialog.getByLabel('Encoding').selectOption('macintosh')
    await dialog.locator('tbody td', { hasText: 'cÈdille' }).waitFor()
    await dialog.getByLabel('Encoding').selectOption('windows-1252')
    await dialog.locator('tbody td', { hasText: 'cédille' }).waitFor()
    await dialog.getByLabel('Delimiter').selectOption(',')
    await dialog.getByText("The file can't be imported like this").waitFor()
    // The rows stay; what can't be read can't be started.
    expect(await dialog.locator('tbody td').allTextContents()).toEqual(['cédille', '1,5'])
    expect(await dialog.getByRole('button', { name: 'Start 1 row' }).isDisabled()).toBe(true)
    await dialog.getByLabel('Delimiter').selectOption(';')
    await dialog.getByText("The file can't be imported like this").waitFor({ state: 'detached' })

    await dialog.getByText('Name, meta and limits of the task').click()
    await dialog.getByLabel('Name', { exact: true }).fill('Spring prices')
    await dialog.getByLabel('Concurrent rows').fill('3')
    await dialog.getByLabel('Stop after rejections').fill('5%')
    await dialog.getByLabel('Then').selectOption('cancel the rest')
    const pairOf = (n: number) =>
      [dialog.getByPlaceholder('name').nth(n), dialog.getByPlaceholder('value').nth(n)] as const
    for (const [i, pair] of [
      ['user', '7'],
      ['season', 'spring'],
    ].entries()) {
      for (const [k, field] of pairOf(i).entries()) await field.fill(pair[k] ?? '')
    }
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
    await dialog.getByRole('button', { name: 'Start 1 row' }).click()
    await page.getByRole('heading', { name: 'Spring prices' }).waitFor()
    expect(faults.splice(0).every((fault) => fault.includes('400'))).toBe(true)
    await until(async () => (await hq.tasks.list()).items.length === 1)
    expect((await hq.tasks.list()).items[0]).toMatchObject({
      ...{ window: 3, maxFailures: '5%', onMaxFailures: 'cancel', meta: { user: '7', season: 'spring' } },
    })
    const [row] = (await hq.tasks.list()).items
    const events = await hq.store.tasks.events(row?.id ?? '', { limit: 1 })
    expect(JSON.parse(events[0]?.args ?? '')).toEqual([{ name: 'cédille', price: '1,5' }])
  })

  test('all problems of a file are shown with their counts, though no row is valid', async () => {
    const { page } = await open('/tasks', {
      before: ({ hq }) => void hq.job('ImportProduct', { validate: product }, async () => {}),
    })
    await page.getByRole('button', { name: 'Import a file' }).click()
    const dialog = page.getByRole('dialog')
    const rows = Array.from({ length: 300 }, (_, i) => `${i % 3 === 0 ? '' : `s${i}`},${i}`)
    const buffer = Buffer.from(`sku,price\n${rows.join('\n')}\n`)
    await dialog.locator('input[type=file]').setInputFiles({ name: 'all.csv', mimeType: 'text/csv', buffer })
    await dialog.getByText('300 of them are wrong: they will be rejected with their reasons.').waitFor()
    const problems = dialog.getByRole('list', { name: 'Problems of the rows' }).getByRole('listitem')
    expect(await problems.allTextContents()).toEqual([
      'price: is no numberrows 2, 3, 4, 5, 6 …invalid300',
      'sku: is emptyrows 2, 5, 8, 11, 14 …invalid100',
    ])
    expect(await dialog.locator('tbody tr').count()).toBe(10)
  })

  test('the page names the fault of a file in its language, with the row and column', async () => {
    const { page, faults } = await open('/tasks', {
      locale: 'zh-CN',
      before: ({ hq }) => void hq.job('ImportProduct', { validate: product }, async () => {}),
    })
    await page.getByRole('button', { name: '导入文件' }).click()
    const dialog = page.getByRole('dialog')
    const send = (name: string, text: string) =>
      dialog.locator('input[type=file]').setInputFiles({ name, mimeType: 'text/csv', buffer: Buffer.from(text) })
    await send('open.csv', 'sku,price\nlamp,"3\n')
    await dialog.getByText('第 2 行 B 列：引号（"）没有闭合。').waitFor()
    await send('report.csv', '%PDF-1.7')
    await dialog.getByText('文件被拒绝: 这是 PDF，不是表格').waitFor()

    // An error behind rows that are stored.
    const error = { code: 'INVALID_FILE', message: 'in English', details: { problem: 'long-row', row: 3 } }
    const id = '0'.repeat(16)
    await page.route(/import\?(?!.*dryRun)/, (route) => route.fulfill({ status: 201, json: { id, total: 1, error } }))
    await send('good.csv', 'sku,price\nlamp,3\n')
    await dialog.getByRole('button', { name: '开始' }).click()
    await page.getByText('无法这样导入文件: 文件被拒绝: 第 3 行超过 16 MiB。').waitFor()
    expect(faults.splice(0).every((fault) => /40[04]/.test(fault))).toBe(true)
  })
})
