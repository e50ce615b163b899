import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { BusinessFailure, Discard } from 'highkiq'
import { expect, test } from 'vitest'
import { writeSpreadsheet } from '#dist/tasks/spreadsheet/write.js'
import { all, gate, until } from '../engine/bench.ts'
import { inBrowser } from './browser.ts'

type Row = { sku: string; price: number }
const rows = (prices: number[]) => prices.map((price, n) => [{ sku: `sku-${n}`, price }] as [Row])

inBrowser('tasks', (open) => {
  test('a task is followed live and changed, and its rejected rows are found, explained and retried', async () => {
    const going = gate()
    let isMended = false
    const { hq, page, work } = await open('/tasks', {
      before: ({ hq }) => {
        hq.job('ImportProduct', { retry: false }, async (_ctx, { price }: Row) => {
          if (price === 9) await going.opened
          if (isMended) return
          if (price === 0) throw new BusinessFailure('Price is empty', { code: 'price_missing' })
          if (price === 5) throw new Error('the shelf fell')
        })
      },
    })
    await page.getByText('No tasks yet').waitFor()
    const task = await hq.tasks.create(hq.jobNamed('ImportProduct'), rows([1, 0, 2, 0, 5, 9, 3]), {
      name: 'Spring sale',
      concurrency: 5,
    })
    await page.getByRole('link', { name: 'Spring sale' }).click()
    await page.getByRole('heading', { name: 'Spring sale' }).waitFor()
    await expect.poll(() => page.locator('.crumbs').innerText()).toBe('Tasks\n/\nSpring sale')

    // The task is changed before it begins.
    await page.getByRole('button', { name: 'Pause', exact: true }).click()
    await page.getByText('Paused: no further row starts').waitFor()
    expect((await task.status())?.state).toBe('paused')
    await page.getByRole('button', { name: 'Resume', exact: true }).waitFor()
    await page.keyboard.press('p')
    await page.getByText('The task is resumed', { exact: true }).waitFor()
    expect((await task.status())?.state).toBe('running')
    await page.getByRole('group', { name: 'Concurrent rows' }).getByRole('button', { name: 'More' }).click()
    await expect.poll(async () => (await task.status())?.window).toBe(10)
    const tolerance = page.getByRole('group', { name: 'Stop after rejections' })
    await tolerance.getByRole('button', { name: 'Less' }).click()
    await expect.poll(async () => (await task.status())?.maxFailures).toBe('50%')
    await tolerance.getByRole('button', { name: 'More' }).click()
    await expect.poll(async () => (await task.status())?.maxFailures).toBe(null)
    // A count is followed by a count.
    await task.set({ maxFailures: 7 })
    await tolerance.getByText('7', { exact: true }).waitFor()
    await tolerance.getByRole('button', { name: 'More' }).click()
    await expect.poll(async () => (await task.status())?.maxFailures).toBe(10)
    await task.set({ maxFailures: null })

    // While it runs, the page shows the outcome of each row without a reload.
    await work()
    await until(async () => (await task.status())?.counts.error === 1 && (await task.status())?.counts.failed === 2)
    await page.locator('.key.failed b', { hasText: '2' }).waitFor()
    const why = page.locator('.why', { hasText: 'price_missing' })
    await why.getByText('Price is empty').waitFor()
    await page.locator('.why', { hasText: 'the shelf fell' }).waitFor()
    const table = page.getByRole('table', { name: 'Rows' })
    await expect.poll(() => table.locator('tbody tr').count()).toBe(3)

    // Rows are found by message and by code, and the address has the filters.
    await page.getByLabel('Search values and messages').fill('SKU-3')
    await expect.poll(() => table.locator('tbody tr').count()).toBe(1)
    expect(new URL(page.url()).searchParams.get('search')).toBe('SKU-3')
    await page.getByLabel('Search values and messages').fill('')
    await why.getByRole('link', { name: 'Show' }).click()
    await expect.poll(() => table.locator('tbody tr').count()).toBe(2)
    await table.locator('tbody tr').first().getByRole('link').click()
    const drawer = page.getByRole('complementary')
    await drawer.getByText('Price is empty').first().waitFor()
    await drawer.getByText('"sku": "sku-1"').waitFor()
    const visited = await page.evaluate('history.length')
    await page.keyboard.press('j')
    await drawer.getByText('"sku": "sku-3"').waitFor()
    expect(await page.evaluate('history.length')).toBe(visited)
    // The key applies to the open row, not to all rejected rows.
    const request = page.waitForRequest('**/retry')
    await page.keyboard.press('r')
    expect((await request).postDataJSON()).toEqual({ rows: [{ index: 3 }] })
    await page.getByText('1 row runs again').waitFor()
    await until(async () => (await task.status())?.counts.failed === 2)
    await page.keyboard.press('Escape')
    await drawer.waitFor({ state: 'detached' })

    // The rows of one code run again, then all rejected rows.
    isMended = true
    await why.getByRole('button', { name: 'Retry' }).click()
    await page.getByText('2 rows run again').waitFor()
    await until(async () => (await task.status())?.counts.failed === 0)
    await page.locator('.key.failed.zero').waitFor()
    await page.getByRole('button', { name: /Retry rejected/ }).click()
    await until(async () => (await task.status())?.counts.error === 0)

    // The other rows are cancelled. The safe answer changes nothing.
    await page.getByRole('button', { name: 'Cancel…' }).click()
    await page.getByRole('dialog').waitFor()
    await page.evaluate('document.activeElement.blur()')
    await page.keyboard.press('p')
    await page.getByRole('button', { name: 'Keep running' }).click()
    expect((await task.status())?.state).toBe('running')
    await page.keyboard.press('Shift+D')
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel 1 row' }).click()
    await until(async () => (await task.status())?.state !== 'running')
    going.open()
    await until(async () => ['cancelled', 'done'].includes((await task.status())?.state ?? ''))
    await page.getByRole('button', { name: 'Delete…' }).click()
    await page.getByRole('button', { name: 'Delete the task' }).click()
    await page.getByText('No tasks yet').waitFor()
    expect(await task.status()).toBe(null)
  })

  test('more than 20 rows are retried after a question with their number; cancelled rows only if they are chosen', async () => {
    let isMended = false
    const { hq, page, work, go } = await open('/tasks', {
      before: ({ hq }) => {
        hq.job('Row', async (_ctx, what: string) => {
          if (isMended) return
          if (what === 'coded') throw new BusinessFailure('Price is empty', { code: 'price' })
          if (what === 'cancelled') throw new Discard('not any more')
          throw new BusinessFailure('something else')
        })
      },
    })
    const many = (n: number, what: string) => Array.from({ length: n }, (): [string] => [what])
    const all = [...many(30, 'coded'), ...many(22, 'plain'), ...many(2, 'cancelled')]
    const task = await hq.tasks.create(hq.jobNamed('Row') as never, all as never)
    await work()
    await task.wait({ every: 10 })
    const counts = async () => (await task.status())?.counts
    expect(await counts()).toMatchObject({ failed: 52, cancelled: 2 })
    isMended = true
    await go(`/tasks/${task.id}`)

    // Rows without a code have their own filter and retry, and do not count as a code.
    await page.getByText('54 rows · 2 codes', { exact: true }).waitFor()
    const uncoded = page.locator('.why', { hasText: 'no code' })
    await uncoded.getByRole('link', { name: 'Show' }).click()
    await expect.poll(() => page.getByRole('table', { name: 'Rows' }).locator('tbody tr').count()).toBe(22)
    await page.locator('.chip', { hasText: 'no code' }).waitFor()
    await uncoded.getByRole('button', { name: 'Retry' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('heading', { name: 'Retry 22 rows?' }).waitFor()
    await dialog.getByRole('button', { name: 'Leave them' }).click()
    expect((await task.status())?.run).toBe(1)
    const retry = async () => {
      await uncoded.getByRole('button', { name: 'Retry' }).click()
      await dialog.getByRole('button', { name: 'Retry 22 rows' }).click()
      await page.getByText('22 rows run again in 8 s').waitFor()
    }
    await retry()
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.getByText('Undone: no row runs again').waitFor()
    await retry()
    await until(async () => (await counts())?.finished === 22)
    expect(await counts()).toMatchObject({ finished: 22, failed: 30, cancelled: 2 })
    expect((await task.status())?.run).toBe(2)

    await uncoded.waitFor({ state: 'detached' })
    await page.keyboard.press('r')
    await dialog.getByRole('heading', { name: 'Retry 30 rows?' }).waitFor()
    const others = dialog.getByRole('checkbox', { name: 'also the 2 cancelled rows' })
    await others.click()
    await dialog.getByRole('heading', { name: 'Retry 32 rows?' }).waitFor()
    expect(await others.isChecked()).toBe(true)
    await others.click()
    const sent = page.waitForRequest('**/retry?undoSeconds=8')
    await dialog.getByRole('button', { name: 'Retry 30 rows' }).click()
    expect((await sent).postDataJSON()).toEqual({ status: ['failed', 'error'] })
    await page.getByText('30 rows run again in 8 s').waitFor()
    await page.keyboard.press('z')
    await page.getByText('Undone: no row runs again').waitFor()
    await task.retry()
    await task.wait({ every: 10 })
    expect(await counts()).toMatchObject({ finished: 52, failed: 0, cancelled: 2 })
    await page.getByRole('button', { name: 'Retry cancelled' }).click()
    await page.getByText('2 rows run again').waitFor()
    await task.wait({ every: 10 })
    expect(await counts()).toMatchObject({ finished: 54 })
  })

  test('a file is dropped, previewed, mapped and imported; its report is downloaded', async () => {
    const text = 'Article,price\nlamp,3\nrug,0\nvase,4\n'
    const got: unknown[] = []
    const { hq, page, work, go } = await open('/tasks', {
      before: ({ hq }) => {
        hq.job('ImportProduct', async (_ctx, row: { sku: string; price: string }) => {
          got.push(row)
          if (row.price === '0') throw new BusinessFailure('Price is empty', { code: 'price_missing' })
        })
        hq.job('Other', async () => {})
      },
    })
    // Over plain HTTP from another machine a page has neither of these.
    await page.evaluate(
      `delete Crypto.prototype.randomUUID; Object.defineProperty(Navigator.prototype, 'clipboard', { value: undefined })`,
    )
    await page.getByRole('button', { name: 'Import a file' }).click()
    const dialog = page.getByRole('dialog')
    await dialog
      .locator('input[type=file]')
      .setInputFiles({ name: 'other.csv', mimeType: 'text/csv', buffer: Buffer.from('a\n1') })
    await dialog.getByText('other.csv').waitFor()
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    const dropped = await page.evaluateHandle(
      `{ const all = new DataTransfer(); all.items.add(new File([${JSON.stringify(text)}], 'products.csv')); all }`,
    )
    // A file that is dropped elsewhere is refused, and the page stays.
    await page.evaluate(`addEventListener('drop', (event) => { self.refused = event.defaultPrevented })`)
    await page.locator('nav').first().dispatchEvent('drop', { dataTransfer: dropped })
    expect(await page.evaluate('self.refused')).toBe(true)
    await page.locator('.drop').dispatchEvent('drop', { dataTransfer: dropped })
    await dialog.getByText('products.csv').waitFor()
    await dialog.getByLabel('Job that handles each row').selectOption('ImportProduct')
    await dialog.getByText('The file has 3 rows.').waitFor()
    expect(await dialog.locator('tbody tr').allTextContents()).toEqual(['lamp3', 'rug0', 'vase4'])
    // The rows stay visible while the columns are mapped, and a mapping without a preview does not start.
    await dialog.getByLabel('What the column Article becomes').selectOption('another name…')
    await dialog.getByLabel('Name of the column Article for the job').fill('sku')
    const start = dialog.getByRole('button', { name: 'Start 3 rows' })
    await expect.poll(() => start.isDisabled()).toBe(true)
    expect(await dialog.locator('tbody tr').allTextContents()).toEqual(['lamp3', 'rug0', 'vase4'])
    await dialog.getByRole('button', { name: 'Preview again' }).click()
    await expect.poll(() => start.isDisabled()).toBe(false)
    expect(await dialog.locator('tbody tr').allTextContents()).toEqual(['lamp3', 'rug0', 'vase4'])
    // The preview pushed nothing.
    expect((await hq.tasks.list()).items).toEqual([])
    await dialog.getByRole('button', { name: 'Start 3 rows' }).click()
    await page.getByRole('heading', { name: 'products.csv' }).waitFor()
    await work()
    const [status] = (await hq.tasks.list()).items
    await hq.tasks.get(status?.id ?? '').wait({ every: 10 })
    expect(got).toContainEqual({ sku: 'lamp', price: '3' })
    const download = page.waitForEvent('download')
    await page.getByRole('link', { name: /^Rejected rows/ }).click()
    expect((await download).suggestedFilename()).toMatch(/\.csv$/)
    // The format is that of the file, whatever the name of the task.
    const lines = Buffer.from('{"sku":"lamp","price":"0"}\n')
    const ndjson = await hq.tasks.import(hq.jobNamed('ImportProduct'), lines, { name: 'spring.xlsx', format: 'ndjson' })
    await ndjson.wait({ every: 10 })
    await go(`/tasks/${ndjson.id}`)
    await page.getByRole('link', { name: 'Rejected rows .ndjson' }).waitFor()
    // An export has a file to download, too.
    const made = await hq.tasks.export(
      hq.job('Page', async (_ctx, n: number) => [{ n }]),
      [1, 2],
      { name: 'all.csv' },
    )
    await made.wait({ every: 10 })
    await go(`/tasks/${made.id}`)
    await page.getByText('Took', { exact: true }).waitFor()
    const chart = page.getByRole('img', { name: /Rows per second since the start of the run/ })
    await chart.or(page.getByText('The task ended too fast for a chart.')).waitFor()
    expect(await page.getByText('Time left').count()).toBe(0)
    expect(await page.getByRole('button', { name: 'More' }).first().isDisabled()).toBe(true)
    const whole = page.waitForEvent('download')
    await page.getByRole('link', { name: 'Download' }).click()
    expect(await readFile(await (await whole).path(), 'utf8')).toBe('\ufeffn\r\n1\r\n2\r\n')
    await page.getByRole('button', { name: 'Copy link…' }).click()
    await page.getByRole('button', { name: 'Copy link', exact: true }).click()
    await page.getByText('Copied').waitFor()
  })

  test('tasks are found by their meta: the address holds the filters, and a task shows its meta', async () => {
    const { page } = await open('/tasks?meta.user=7', {
      before: async ({ hq }) => {
        const job = hq.job('Row', async () => {})
        await hq.tasks.create(job, [[]], { name: 'Mine', meta: { user: 7, shop: 'north', form: { page: 'spring' } } })
        await hq.tasks.create(job, [[]], { name: 'Mine too', meta: { user: 7, shop: 'a&b = c' } })
        await hq.tasks.create(job, [[]], { name: 'Of another', meta: { user: 8 } })
        await hq.tasks.create(job, [[]], { name: 'Of nobody' })
      },
    })
    const names = async () => await page.getByRole('table', { name: 'Tasks' }).locator('tbody bdi').allInnerTexts()
    const shown = (...wanted: string[]) =>
      expect.poll(async () => (await names()).filter((name) => name !== 'Row')).toEqual(wanted)
    const filters = () => Object.fromEntries(new URL(page.url()).searchParams)
    await shown('Mine too', 'Mine')

    // A second filter is typed; a text that is not a filter changes nothing.
    await page.getByRole('button', { name: 'meta', exact: true }).click()
    const field = page.getByRole('combobox', { name: 'meta' })
    await field.fill('north')
    await field.press('Enter')
    expect(await field.evaluate((input) => (input as unknown as { validationMessage: string }).validationMessage)).toBe(
      'name=value',
    )
    await field.fill('shop = north')
    await field.press('Enter')
    await shown('Mine')
    expect(filters()).toEqual({ 'meta.user': '7', 'meta.shop': 'north' })

    // Its page shows all of its meta, and leads to the tasks with the same value.
    await page.getByRole('link', { name: 'Mine', exact: true }).click()
    const meta = page.getByRole('region', { name: 'meta' })
    await meta.getByText('"spring"').waitFor()
    await meta.getByRole('link', { name: 'north' }).waitFor()
    await meta.getByRole('link', { name: '7' }).click()
    await shown('Mine too', 'Mine')
    expect(filters()).toEqual({ 'meta.user': '7' })
    await page.getByRole('link', { name: 'Mine too' }).click()
    await meta.getByRole('link', { name: 'a&b = c' }).click()
    await shown('Mine too')

    // Filters are removed one by one, or all at once.
    await page.getByRole('button', { name: 'Remove the filter meta.shop' }).click()
    await shown('Of nobody', 'Of another', 'Mine too', 'Mine')
    await page.goto(`${new URL(page.url()).origin}/tasks?meta.user=9&meta.shop=north`)
    await page.getByRole('button', { name: 'Clear' }).click()
    await shown('Of nobody', 'Of another', 'Mine too', 'Mine')
    expect(filters()).toEqual({})
  })

  test('the address of a task asks for a task only, whatever it holds', async () => {
    const { page, go, faults } = await open('/tasks')
    await go('/tasks/..%2Fqueues%2Fdefault')
    await page.getByRole('alert').getByText('UNKNOWN_TASK').waitFor()
    const found = faults.splice(0)
    expect(found.filter((fault) => !fault.includes('404'))).toEqual([])
  })

  test('a row that waits for a retry shows its error', async () => {
    const { page, hq, work, go } = await open('/tasks', {
      before: ({ hq }) => {
        hq.job('Sync', { retry: 5, retryIn: () => 3600 }, async () => {
          throw new Error('the catalogue is locked')
        })
      },
    })
    const task = await hq.tasks.create(hq.jobNamed('Sync'), [[1]], { name: 'Sync all' })
    await work()
    await until(async () => (await hq.retries.size()) === 1)
    await go(`/tasks/${task.id}?status=enqueued`)
    await page.getByText(/the catalogue is locked; waits for retry 1, in \d/).waitFor()
  })

  test('a workbook is imported a second time only after a confirmation', async () => {
    const { page, hq, faults } = await open('/tasks', {
      before: ({ hq }) => void hq.job('ImportProduct', async () => {}),
    })
    const folder = await mkdtemp(join(tmpdir(), 'highkiq-'))
    await writeSpreadsheet(`${folder}/spring.xlsx`, { header: ['sku'], rows: [['a-1'], ['a-2']] })
    const before = await hq.tasks.import(hq.jobNamed('ImportProduct'), `${folder}/spring.xlsx`)
    await page.getByRole('button', { name: 'Import a file' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.locator('input[type=file]').setInputFiles(`${folder}/spring.xlsx`)
    await dialog.getByRole('button', { name: 'Start 2 rows' }).click()
    await dialog.getByText('This file was imported within the last 24 hours.').waitFor()
    expect(await dialog.getByRole('link').getAttribute('href')).toBe(`/tasks/${before.id}`)
    expect((await hq.tasks.list()).items).toHaveLength(1)
    expect(faults.splice(0).every((fault) => fault.includes('409'))).toBe(true)
    await dialog.getByRole('button', { name: 'Import it again' }).click()
    await page.getByRole('heading', { name: 'spring.xlsx' }).waitFor()
    expect((await hq.tasks.list()).items).toHaveLength(2)
    await rm(folder, { recursive: true })
  })

  test('hostile names, arguments and messages are shown as text, also on a phone', async () => {
    const evil = '<img src=x onerror="throw 1">\u202e\u0007'
    const { page, hq, work, go } = await open('/tasks', {
      viewport: { width: 390, height: 844 },
      before: ({ hq }) => {
        hq.job('Evil', async (_ctx, row: Row) => {
          throw new BusinessFailure(`${evil} ${row.sku}`, { code: 'evil' })
        })
      },
    })
    const task = await hq.tasks.create(
      hq.jobNamed('Evil'),
      [[{ sku: 'x'.repeat(100_000), price: 1 }], [{ sku: evil, price: 2 }]],
      {
        name: `${evil} name`,
      },
    )
    await work()
    await task.wait({ every: 10 })
    await page.getByRole('link', { name: /onerror/ }).waitFor()
    await go(`/tasks/${task.id}`)
    await page.locator('.why', { hasText: 'onerror' }).waitFor()
    await page.getByRole('table', { name: 'Rows' }).locator('tbody tr').nth(1).click()
    await page.getByRole('complementary').getByText('"price": 2').waitFor()
    expect(await page.locator('img').count()).toBe(0)
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
    await page.getByRole('button', { name: 'Close' }).click()
    await page.getByRole('button', { name: /Retry rejected/ }).waitFor()
  })

  test('a row that waits for another system shows its deadline, and is finished or failed by hand', async () => {
    let id = ''
    const { page, hq } = await open('/', {
      before: async ({ hq, work }) => {
        const Pay = hq.job('Pay', async (ctx) => {
          await ctx.defer({ within: '2h' })
        })
        await work()
        id = (await hq.tasks.create(Pay, [[], []], { name: 'Payments' })).id
        await until(async () => (await hq.tasks.get(id).status())?.deferred === 2)
      },
    })
    await page.getByRole('link', { name: 'Payments' }).click()
    await page.getByRole('link', { name: 'of these 2 wait for another system' }).click()
    const rows = page.getByRole('table', { name: 'Rows' }).locator('tbody tr')
    await rows.first().getByText('waits for another system; deadline').waitFor()

    await rows.first().getByRole('link', { name: '1' }).click()
    await page.getByRole('button', { name: 'Finish…' }).click()
    await page.getByRole('dialog').getByLabel('Result, if any').fill('{"receipt":7}')
    await page.getByRole('dialog').getByRole('button', { name: 'Finish the row' }).click()
    await page.getByText('The row is finished').waitFor()

    await rows.first().getByRole('link', { name: '2' }).click()
    await page.getByRole('button', { name: 'Fail…' }).click()
    await page.getByRole('dialog').getByLabel('What is wrong, for the submitter').fill('the card was refused')
    await page.getByRole('dialog').getByLabel('Code, if any').fill('REFUSED')
    await page.getByRole('dialog').getByRole('button', { name: 'Fail the row' }).click()
    await page.getByText('The row has failed').waitFor()
    const items = await all(hq.tasks.get(id).events())
    expect(items.map(({ status, result, code }) => [status, result, code])).toEqual([
      ['finished', { receipt: 7 }, null],
      ['failed', undefined, 'REFUSED'],
    ])
  })

  test('the rate of a task that ended before its page was opened is drawn over the whole run', async () => {
    const id = '00000000000000ab'
    const began = Date.now() - 100_000
    const { page } = await open(`/tasks/${id}`, {
      before: async ({ hq }) => {
        const { tasks } = hq.store
        await tasks.create({
          ...{ id, name: 'Prices', job: 'Row', queue: 'rows', template: '{}', window: 1, keepArgs: 'rejected' },
          ...{ meta: '{}', createdAt: began, producer: 'p' },
        })
        const row = () => ({ args: '[1]', rejected: { status: 'failed' as const, messages: [] } })
        await tasks.addRows(id, 'p', 0, [row(), row()], began + 30_000)
        await tasks.endAdding(id, 'p', began + 60_000)
      },
    })
    await page.getByRole('img', { name: /Rows per second since the start of the run/ }).waitFor()
    await page.locator('.uchart canvas').waitFor()
  })

  test('the chart of a running task shows the expected rows per second until the task is paused', async () => {
    const id = '00000000000000ac'
    const began = Date.now() - 100_000
    const { page, hq } = await open(`/tasks/${id}`, {
      before: async ({ hq, work, clock }) => {
        const { tasks } = hq.store
        hq.job('Row', () => {
          throw new BusinessFailure('no')
        })
        const template = JSON.stringify({ class: 'Row', queue: 'rows', retry: false, hk_task: id })
        await tasks.create({
          ...{ id, name: 'Prices', job: 'Row', queue: 'rows', template, window: 1, keepArgs: 'rejected' },
          ...{ meta: '{}', createdAt: began, producer: 'p' },
        })
        // Two rows fail after 30 seconds, and two are left.
        clock.ahead = -70
        await tasks.addRows(id, 'p', 0, [{ args: '[0]' }, { args: '[1]' }], clock.now())
        const worker = await work({ queues: ['rows'] })
        await until(async () => (await hq.tasks.get(id).status())?.counts.failed === 2)
        await worker.stop()
        clock.ahead = 0
        await tasks.addRows(id, 'p', 2, [{ args: '[2]' }, { args: '[3]' }], clock.now())
        await tasks.endAdding(id, 'p', clock.now())
      },
    })
    const legend = page.getByText('expected at this rate')
    await legend.waitFor()
    const chart = page.locator('.uchart')
    const box = await chart.boundingBox()
    if (!box) throw new Error('the chart is not visible')
    const figuresAt = async (share: number) => {
      await page.mouse.move(box.x + box.width * share, box.y + box.height / 2)
      return (await chart.locator('.readout > *').allTextContents()).join('\n')
    }
    // Half of the rows have ended, so the second half of the chart is ahead.
    await expect.poll(() => figuresAt(0.9)).toMatch(/^expected at this rate: /m)
    expect(await figuresAt(0.9)).not.toContain('failed')
    await expect.poll(() => figuresAt(0.3)).toMatch(/^failed: /m)
    expect(await figuresAt(0.3)).not.toContain('expected')
    // Nothing covers the chart when the pointer has left it.
    await page.mouse.move(0, 0)
    await chart.locator('.readout').waitFor({ state: 'hidden' })
    // A paused task does not end by itself, so it has no time left.
    const estimate = page.locator('.hero').getByText(/^about /)
    await estimate.waitFor()
    await hq.tasks.get(id).pause()
    await legend.waitFor({ state: 'detached' })
    await estimate.waitFor({ state: 'detached' })
  })
})
