import { readFile } from 'node:fs/promises'
import { BusinessFailure } from 'highkiq'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { gate } from '../engine/bench.ts'
import { type ServedApi, served } from '../http/api.ts'
import { barriers } from './barriers.ts'
import { inBrowser, type Opened, type OpenOptions } from './browser.ts'

type Open = (path: string, options?: OpenOptions) => Promise<Opened>
type Imported = Awaited<ReturnType<typeof imported>>

const text = (page: Page, name: string) => page.locator(`[data-part="${name}"]`)

/** Imports a file with rows to correct. Its rows wait while `doors` is closed. */
async function imported({ hq }: ServedApi, csv: string, name = 'spring.csv') {
  const doors = gate()
  const Row = hq.job('ImportProduct', { retry: 0 }, async (_ctx, { sku, price }: { sku: string; price: string }) => {
    if (sku === 'held') await doors.opened
    if (sku === 'breaks' && price === '1') throw new Error('connect ECONNREFUSED')
    if (price === '') throw new BusinessFailure('Price is empty', { code: 'price' })
    if (Number(price) < 0) throw new BusinessFailure(`Price ${price} is below zero`)
  })
  return { task: await hq.tasks.import(Row, Buffer.from(csv), { name }), doors }
}

/** Opens the page of the task that `imported` makes, by its link. */
async function opened(open: Open, csv: string, { name, ...options }: OpenOptions & { name?: string } = {}) {
  // The app is served and its task exists before the browser opens the page.
  const app = await served({ auth: { bearer: 'secret' }, ...options.http })
  const made: Imported = await imported(app, csv, name)
  await app.work()
  const headers = { authorization: 'Bearer secret' }
  const { url } = (await app.call('GET', `/api/v1/tasks/${made.task.id}/link`, { headers })).body
  return { ...(await open(url, { ...options, app })), ...made, link: url as string }
}

const CSV = 'sku,price\na,1\nb,\nc,\nd,-1\nbreaks,1\nheld,1\n'

inBrowser("the submitter's page", (open) => {
  test('a link by meta opens the list of a user’s tasks, and from it the page of each', async () => {
    const { page, url } = await open('/tasks?meta.user=7', {
      permissions: ['clipboard-read', 'clipboard-write'],
      before: async ({ hq }) => {
        const job = hq.job('Row', async () => {})
        await hq.tasks.create(job, [[]], { name: 'Spring', meta: { user: 7 } })
        await hq.tasks.create(job, [[]], { name: 'Of another', meta: { user: 8 } })
      },
    })
    await page.getByRole('button', { name: 'Copy link for the submitter…' }).click()
    await page.getByRole('button', { name: 'Copy link', exact: true }).click()
    const copied = () => page.evaluate('navigator.clipboard.readText()') as Promise<string>
    await expect.poll(copied).toContain(`${url}/tasks?meta.user=7&token=`)
    await page.goto(await copied())
    await page.getByRole('heading', { name: 'My tasks' }).waitFor()
    expect(await page.locator('.mine a').allInnerTexts()).toEqual(['Spring'])
    for (const theme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' })
      expect(await barriers(page), theme).toEqual([])
    }
    await page.getByRole('link', { name: 'Русский' }).click()
    await page.getByRole('heading', { name: 'Мои задачи' }).waitFor()
    await page.getByRole('link', { name: 'Spring' }).click()
    await text(page, 'done').waitFor()
  })

  test('shows rows to correct apart from errors, and accepts corrected files until no row is rejected', async () => {
    const { page, task, doors } = await opened(open, CSV)
    await text(page, 'done').getByText('5', { exact: true }).waitFor()
    await page.getByText('Price is empty').waitFor()
    expect(await text(page, 'reasons').locator('li').allInnerTexts()).toEqual([
      expect.stringMatching(/^Price is empty\s+2\s+Rows 3, 4\.\s+Row 3: sku b · price empty$/),
      expect.stringMatching(/^Price -1 is below zero\s+1\s+Row 5\.\s+Row 5: sku d · price -1$/),
    ])
    expect(await page.locator('.tally li:visible').allInnerTexts()).toEqual([
      expect.stringMatching(/^Done\s.*\s+1$/s),
      expect.stringMatching(/^Need a correction\s.*\s+3$/s),
      expect.stringMatching(/^Stopped by an error on our side\s.*\s+1$/s),
      expect.stringMatching(/^Still waiting\s.*\s+1$/s),
    ])
    expect((await task.status())?.counts).toMatchObject({ finished: 1, failed: 3, error: 1, working: 1 })
    for (const theme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' })
      expect(await barriers(page), theme).toEqual([])
    }

    const downloading = page.waitForEvent('download')
    await page.getByRole('link', { name: 'Download 4 rows' }).click()
    const download = await downloading
    expect(download.suggestedFilename()).toBe('spring.csv - rejected.csv')
    const report = await readFile(await download.path(), 'utf8')
    const corrected = report.replaceAll(',,', ',4,').replaceAll(',-1,', ',9,').replace('breaks,1', 'breaks,2')
    doors.open()
    await text(page, 'left').getByText('3 rows are left to correct').waitFor()
    await text(page, 'live-text').getByText('Done').waitFor()
    const file = { name: 'corrected.csv', mimeType: 'text/csv', buffer: Buffer.from(corrected) }
    await page.locator('input[type=file]').setInputFiles(file)
    await text(page, 'sent-news').getByText('4 rows will run again.').waitFor()
    await text(page, 'left').getByText('All rows are done').waitFor()
    await text(page, 'fix').waitFor({ state: 'hidden' })
    expect((await task.status())?.counts).toMatchObject({ finished: 6, failed: 0, error: 0, cancelled: 0 })
  })

  test('keeps the reader’s language on every page, also when it takes a file and reports its errors', async () => {
    const { page, task, faults, doors } = await opened(open, CSV, { locale: 'ru-RU' })
    doors.open()
    await text(page, 'left').getByText('Осталось исправить 3 строки').waitFor()
    expect(await text(page, 'of').textContent()).toBe('из 6 строк обработано')
    expect(await page.evaluate('document.documentElement.lang')).toBe('ru-RU')
    expect(await text(page, 'percent').textContent()).toMatch(/^100\s%$/)
    await page.getByText('Строка 3: sku b · price пусто').waitFor()
    const input = page.locator('input[type=file]')
    const file = (content: string) => ({ name: 'x.csv', mimeType: 'text/csv', buffer: Buffer.from(content) })
    await input.setInputFiles(file('a,b\n1,2\n'))
    await text(page, 'sent-news').getByText('в нём нет столбца').waitFor()
    expect(faults.splice(0).every((fault) => fault.includes('status of 400'))).toBe(true)

    await page.getByRole('link', { name: '中文' }).click()
    await text(page, 'left').getByText('还有 3 行需要更正').waitFor()
    await page.goto(page.url().replace(/&lang=zh/, ''))
    await text(page, 'left').getByText('还有 3 行需要更正').waitFor()
    await page.getByRole('button', { name: '浅色或深色' }).click()
    await page.reload()
    expect(await page.evaluate('document.documentElement.dataset.theme')).toBe('dark')
    const report = await new Response(await task.report({ format: 'csv' })).text()
    await input.setInputFiles(
      file(report.replaceAll(',,', ',4,').replaceAll(',-1,', ',9,').replace('breaks,1', 'breaks,2')),
    )
    await text(page, 'sent-news').getByText('4 行将重新运行。').waitFor()
    await text(page, 'left').getByText('全部完成').waitFor()
    expect((await task.status())?.counts).toMatchObject({ finished: 6, failed: 0, error: 0 })
  })

  test('on a phone, without the stream and with hostile names, everything can be reached and is up to date, and the task is stopped after a question', async () => {
    const name = `‮<img src=x onerror=alert(1)>\u0007${'x'.repeat(2000)}`
    const csv = `sku,price\n"<b>&‮${'y'.repeat(1000)}",\nheld,1\n`
    const { page, task, faults, doors, url, link } = await opened(open, csv, {
      name,
      viewport: { width: 390, height: 844 },
    })
    await page.getByText('Price is empty').waitFor()
    await page.route('**/stream?*', (route) => route.abort())
    await page.clock.install()
    await page.reload()
    await text(page, 'live-text').getByText('Not live').waitFor()
    await task.pause()
    await page.clock.fastForward(5000)
    await text(page, 'why').getByText('This is paused for now').waitFor()
    await text(page, 'live-text').getByText('Every 5 seconds').waitFor()
    await task.resume()
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390)
    expect(await page.locator('main :is(img, script, [onerror])').count()).toBe(0)
    expect(await page.locator('h1').innerText()).toContain('<img src=x onerror=alert(1)>␇xxx')
    for (const control of ['Light or dark', 'Stop this…']) {
      const box = await page.getByRole('button', { name: control }).boundingBox()
      expect((box?.x ?? 999) + (box?.width ?? 0)).toBeLessThanOrEqual(390)
    }
    await page.getByRole('button', { name: 'Stop this…' }).click()
    await page.getByRole('heading', { name: 'Stop this?' }).waitFor()
    expect((await task.status())?.state).toBe('running')
    await page.getByRole('button', { name: 'Stop', exact: true }).click()
    await text(page, 'left')
      .getByText(/Stopping|Stopped/)
      .waitFor()
    expect((await task.status())?.state).toMatch(/cancel/)
    doors.open()
    await page.unroute('**/stream?*')
    await task.delete()
    await page.goto(url + link)
    await page.getByRole('heading', { name: 'This link does not work' }).waitFor()
    expect(faults.splice(0).every((fault) => /ERR_FAILED|status of 40/.test(fault))).toBe(true)
  })

  test('the page says when a proxy refuses a file, and when its link was revoked', async () => {
    const { page, task, faults, doors } = await opened(open, CSV)
    doors.open()
    await text(page, 'left').getByText('3 rows are left to correct').waitFor()
    const answer = { status: 413, contentType: 'text/html', body: '<h1>413 Request Entity Too Large</h1>' }
    await page.route('**/retry?*', (route) => route.fulfill(answer))
    const file = { name: 'x.csv', mimeType: 'text/csv', buffer: Buffer.from('a\n') }
    await page.locator('input[type=file]').setInputFiles(file)
    await expect.poll(() => text(page, 'sent-news').innerText()).toBe('This file is too large.')
    await task.revokeLinks()
    // The page of a task that is done asks when it becomes visible, is online again, or sends something.
    await page.evaluate('dispatchEvent(new Event("online"))')
    await text(page, 'left').getByText('This link no longer works. Ask for a new one.').waitFor()
    expect(faults.splice(0).every((fault) => /status of 4(13|01)/.test(fault))).toBe(true)
  })

  test('on a read-only server the page shows the task and offers the file', async () => {
    const { page, doors } = await opened(open, CSV, { http: { readOnly: true } })
    doors.open()
    await text(page, 'left').getByText('3 rows are left to correct').waitFor()
    expect(await page.getByRole('link', { name: 'Download 4 rows' }).isVisible()).toBe(true)
    expect(await page.locator('input[type=file], [data-part=stop]').count()).toBe(0)
  })
})
