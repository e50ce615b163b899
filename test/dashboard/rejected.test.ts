import { readFile, writeFile } from 'node:fs/promises'
import { BusinessFailure } from 'highkiq'
import * as v from 'valibot'
import { expect, test } from 'vitest'
import { until } from '../engine/bench.ts'
import { inBrowser } from './browser.ts'
import { countingClicks } from './clicking.ts'

type Row = { sku: string; price: string }

inBrowser('the rejected rows of a task', (open) => {
  test('rows are filtered by code, field and status', async () => {
    const { hq, page, work, go } = await open('/tasks', {
      before: ({ hq }) => {
        hq.job('Row', async (_ctx, { price }: Row) => {
          if (price === '') throw new BusinessFailure('Price is empty', { code: 'price_missing' })
          if (price === '-1') throw new BusinessFailure('Price is negative', { code: 'price_negative' })
        })
      },
    })
    const rows = ['', '-1', '5', '', '-1'].map((price, i) => [{ sku: `s${i % 2}`, price }])
    const task = await hq.tasks.create(hq.jobNamed('Row') as never, rows as never)
    await work()
    await task.wait({ every: 10 })
    await go(`/tasks/${task.id}`)
    const table = page.getByRole('table', { name: 'Rows' })
    const shown = (n: number) => expect.poll(() => table.locator('tbody tr').count()).toBe(n)
    await shown(4)

    await page.getByRole('button', { name: 'code', exact: true }).click()
    const code = page.getByRole('combobox', { name: 'code' })
    // The codes of the task are offered.
    expect(
      await page.locator('#known-code option').evaluateAll((all) => all.map((one) => one.getAttribute('value'))),
    ).toEqual(['price_missing', 'price_negative'])
    await code.fill('price_missing')
    await code.press('Enter')
    await shown(2)
    await page.getByRole('button', { name: 'field', exact: true }).click()
    const field = page.getByRole('combobox', { name: 'field' })
    await field.fill('sku=s1')
    await field.press('Enter')
    await shown(1)
    expect(Object.fromEntries(new URL(page.url()).searchParams)).toEqual({ code: 'price_missing', 'field.sku': 's1' })
    await page.getByRole('button', { name: 'Remove the filter code' }).click()
    await shown(2)
    await page.locator('#rows select').selectOption('finished')
    await page.getByText('Nothing matches').waitFor()
    await page.getByRole('button', { name: 'Remove the filter field.sku' }).click()
    await shown(1)
    await page.locator('#rows select').selectOption('Rejected rows')
    await shown(4)
  })

  test('rows that the import refused and rows that failed show their values', async () => {
    const { page, hq, work, go } = await open('/tasks')
    const job = hq.job('ImportPrice', { retry: false }, async (_ctx, { sku }: Row) => {
      throw new BusinessFailure('unknown', { code: 'unknown', field: sku })
    })
    const validate = v.object({ sku: v.string(), price: v.pipe(v.string(), v.nonEmpty()) })
    const file = Buffer.from('Article,Cost\na-1,\na-2,5\n')
    const task = await hq.tasks.import(job, file, {
      format: 'csv',
      columns: { Article: 'sku', Cost: 'price' },
      validate,
    })
    await work()
    await task.wait({ every: 10 })
    await go(`/tasks/${task.id}`)
    const rows = page.getByRole('table', { name: 'Rows' }).locator('tbody tr')
    const values = (row: number) => rows.nth(row).locator('.field-cell').allTextContents()
    await expect.poll(() => values(0)).toEqual(['a-1', ''])
    expect(await values(1)).toEqual(['sku: a-2', 'price: 5'])
  })

  test('a row that another person has retried meanwhile does not count as retried', async () => {
    const { hq, page, work, go } = await open('/tasks', {
      before: ({ hq }) => {
        hq.job('Row', async () => {
          throw new BusinessFailure('no')
        })
      },
    })
    const task = await hq.tasks.create(hq.jobNamed('Row') as never, [[]] as never)
    const worker = await work()
    await task.wait({ every: 10 })
    await worker.stop()
    await go(`/tasks/${task.id}?row=${task.id}00000000`)
    await page.route('**/retry', async (route) => {
      await task.retry()
      await route.continue()
    })
    await page.getByRole('complementary').getByRole('button', { name: 'Retry' }).click()
    await page.locator('.toast.refusal', { hasText: '0 rows run again' }).waitFor()
  })

  test('of many codes the most frequent are shown, and the others on request', async () => {
    const { hq, page, work, go } = await open('/tasks', {
      before: ({ hq }) => {
        hq.job('Row', async (_ctx, n: number) => {
          throw new BusinessFailure('no', { code: n > 150 ? 'often' : `code ${n}` })
        })
      },
    })
    const rows = Array.from({ length: 160 }, (_, n) => [n + 1])
    const task = await hq.tasks.create(hq.jobNamed('Row') as never, rows as never)
    await work()
    await task.wait({ every: 10 })
    await go(`/tasks/${task.id}`)
    await page.getByText('160 rows · 151 codes').waitFor()
    const whys = page.locator('.why')
    expect(await whys.count()).toBe(20)
    expect(await whys.first().locator('code').innerText()).toBe('often')
    await page.getByRole('button', { name: 'Show 131 more codes' }).click()
    await expect.poll(() => whys.count()).toBe(151)
    expect(await page.getByRole('button', { name: /more code/ }).count()).toBe(0)
  })

  test('a corrected file says how many of its rows are still wrong', async () => {
    const price = v.pipe(v.string(), v.regex(/^\d+ EUR$/, 'is no price'))
    const { hq, page, go } = await open('/tasks', {
      before: ({ hq }) => void hq.job('Row', { validate: v.object({ price }) }, async () => {}),
    })
    const text = Buffer.from('price\nfive\nsix\n')
    const task = await hq.tasks.import(hq.jobNamed('Row') as never, text as never, { format: 'csv' } as never)
    await go(`/tasks/${task.id}`)
    const download = page.waitForEvent('download')
    await page.getByRole('link', { name: 'Rejected rows .csv' }).click()
    const path = await (await download).path()
    const corrected = `${path}.csv`
    await writeFile(corrected, (await readFile(path, 'utf8')).replace('five', '5 EUR').replace('six', 'seven'))
    await page.locator('label', { hasText: 'Send corrected file' }).locator('input').setInputFiles(corrected)
    await page.getByText('1 row runs again · 1 row is still wrong').waitFor()
  })

  test('an operator downloads the rejected rows, corrects them and sends them back in three clicks, or drops them', async () => {
    const { hq, page, work, faults, go } = await open('/', {
      before: async ({ hq }) => {
        const job = hq.job('Row', async (_ctx, { price }: Row) => {
          if (price === '') throw new BusinessFailure('Price is empty', { code: 'price_missing' })
        })
        const text = Buffer.from('sku,price\na,1\nb,\nc,\n')
        await hq.tasks.import(job as never, text as never, { name: 'Spring', format: 'csv' } as never)
      },
    })
    await work()
    const [task] = (await hq.tasks.list()).items
    const handle = hq.tasks.get(task?.id ?? '')
    await handle.wait({ every: 10 })
    const counts = async () => (await handle.status())?.counts

    const clicks = await countingClicks(page)
    await page.getByRole('link', { name: 'Spring' }).click()
    const download = page.waitForEvent('download')
    await page.getByRole('link', { name: 'Rejected rows .csv' }).click()
    const path = await (await download).path()
    const report = await readFile(path, 'utf8')
    const corrected = `${path}.csv`
    await writeFile(corrected, report.replace('b,,', 'b,2,'))
    const picking = page.waitForEvent('filechooser')
    await page.locator('label', { hasText: 'Send corrected file' }).click()
    await (await picking).setFiles(corrected)
    await page.getByText('2 rows run again · 1 of them is unchanged').waitFor()
    expect(await clicks()).toBeLessThanOrEqual(3)
    await until(async () => (await counts())?.finished === 2)
    expect(await counts()).toMatchObject({ failed: 1 })

    // A file that is no report is refused with its reason, and the page stays.
    const dropped = async (name: string, text: string) => {
      const all = await page.evaluateHandle(
        `{ const all = new DataTransfer(); all.items.add(new File([${JSON.stringify(text)}], '${name}')); all }`,
      )
      await page.locator('.drop').dispatchEvent('drop', { dataTransfer: all })
    }
    await dropped('other.csv', 'a,b\n1,2\n')
    const refused = page.getByRole('alert').filter({ hasText: 'The corrected file is refused' })
    await refused.waitFor()
    expect(faults.splice(0).every((fault) => fault.includes('400'))).toBe(true)
    // Only the page of this task shows the refusal.
    const other = await hq.tasks.create(hq.jobNamed('Row') as never, [[{ price: '1' }]] as never, { name: 'Other' })
    await go(`/tasks/${other.id}`)
    await page.getByRole('heading', { name: 'Other', level: 1 }).waitFor()
    expect(await refused.count()).toBe(0)
    await go(`/tasks/${handle.id}`)
    await page.getByRole('heading', { name: 'Spring', level: 1 }).waitFor()
    const left = (await readFile(corrected, 'utf8')).replace('c,,', 'c,3,')
    await dropped('other.csv', 'a,b\n1,2\n')
    await refused.waitFor()
    await dropped('left.csv', left)
    await until(async () => (await counts())?.finished === 3)
    await refused.waitFor({ state: 'detached' })
    expect(faults.splice(0).every((fault) => fault.includes('400'))).toBe(true)
    expect(await counts()).toMatchObject({ failed: 0 })
  })
})
