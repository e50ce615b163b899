import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { BusinessFailure } from 'highkiq'
import { type Browser, chromium as driver, type Page } from 'playwright-core'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { writeSpreadsheet } from '#dist/tasks/spreadsheet/write.js'
import { gate } from '../engine/bench.ts'
import { pathOf } from '../programs/program.ts'
import { suiteWith } from '../programs/suite.ts'
import { newApp } from '../tasks/bench.ts'
import { api, served } from './api.ts'
import { chromium } from './program.ts'

test('the submitter’s page shows progress without scripts, and escapes all data', async () => {
  const { handle, hq, work, link } = api()
  const Row = hq.job('Row', async (_ctx, n: number) => {
    if (n === 1) throw new BusinessFailure('no')
  })
  const task = await hq.tasks.create(Row, [[0], [1], [2]], { name: '<img src=x onerror="alert(1)">' })
  await work()
  await task.wait({ every: 10 })
  const answer = await handle(new Request(`http://localhost${await link(task)}`, { headers: { accept: 'text/html' } }))
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
  const html = await answer.text()
  expect(html).toContain('of 3 rows are processed')
  expect(html).not.toContain('<img')
  expect(html).not.toMatch(/<[^>]*(\sstyle=|\son\w+=)|<script>|javascript:/)
})

test('without scripts the page shows what to correct, in the language of the viewer', async () => {
  const { handle, hq, work, link } = api()
  const Row = hq.job('Row', async (_ctx, { price }: { price: string }) => {
    if (price === '') throw new BusinessFailure('Price <i>empty</i>', { code: 'price' })
    if (price === 'x') throw new BusinessFailure('is not a price')
  })
  const file = '{"sku":"<b>","price":""}\n{"sku":"a","price":""}\n{"sku":"b","price":"x"}\n'
  const task = await hq.tasks.import(Row, Buffer.from(file), { name: 'Spring', format: 'ndjson' })
  await work()
  await task.wait({ every: 10 })
  const path = await link(task)
  const open = async (headers: Record<string, string>, more = '') => {
    const answer = await handle(new Request(`http://localhost${path}${more}`, { headers }))
    return { html: await answer.text(), headers: answer.headers }
  }
  const { html, headers } = await open({ 'accept-language': 'fr, zh-TW;q=0.1, ru-UA;q=0.9, nonsense-;q=1' })
  expect(headers.get('content-language')).toBe('ru')
  expect(html).toContain('<html lang="ru-UA">')
  expect(html).toMatch(/Price &#60;i&#62;empty&#60;\/i&#62;.*Строки 1, 2\..*sku<\/bdi> <b><bdi>&#60;b&#62;<\/bdi><\/b>/)
  expect(html).toMatch(/is not a price.*Строка 3\./)
  expect(html).toMatch(/format=ndjson&#38;token=[^"]*&#38;lang=ru"/)
  expect(html).not.toMatch(/<[^>]*(\sstyle=|\son\w+=)|<script>|javascript:/)

  const chosen = await open({ 'accept-language': 'ru' }, '&lang=zh')
  expect(chosen.html).toContain('<html lang="zh">')
  expect(chosen.headers.get('set-cookie')).toBe('highkiq_language=zh; Path=/; Max-Age=31536000; SameSite=Lax')
  const kept = await open({ 'accept-language': 'en-GB', cookie: 'a=b; highkiq_language=zh; highkiq_theme=dark' })
  expect(kept.html).toContain('<html lang="zh" data-theme="dark">')
  expect(kept.headers.has('set-cookie')).toBe(false)
  const odd = { 'accept-language': '"><script>, en-"x', cookie: 'highkiq_language=__proto__; highkiq_theme="><b>' }
  expect((await open(odd, '&lang=constructor')).html).toContain('<html lang="en">')
})

test('a problem that Highkiq found in a row is shown in the language of the viewer', async () => {
  const { handle, hq, link } = api()
  const book = join(newApp().folder, 'in.xlsx')
  await writeSpreadsheet(book, { header: ['sku', 'price'], rows: [['a', '#REF!']] })
  const task = await hq.tasks.import(
    hq.job('Row', async (_ctx, _row: object) => {}),
    book,
  )
  const path = await link(task)
  for (const [lang, text] of [
    ['ru', 'price: у формулы нет результата (#REF!)'],
    ['zh', 'price：公式没有结果（#REF!）'],
    ['en', 'price: its formula has no result (#REF!)'],
  ]) {
    const answer = await handle(new Request(`http://localhost${path}&lang=${lang}`))
    expect(await answer.text()).toContain(text)
  }
})

test('an invalid link shows a page that says so', async () => {
  const { handle } = api({ auth: { bearer: 'secret' } })
  const answer = await handle(new Request('https://jobs.example/tasks/0000000000000000?token=guess'))
  expect([answer.status, answer.headers.get('content-type')]).toEqual([401, 'text/html; charset=utf-8'])
  expect(answer.headers.get('content-security-policy')).toContain("script-src 'self'")
  expect(await answer.text()).toContain('This link does not work')
})

suiteWith([chromium], 'in a browser', () => {
  let browser: Browser

  beforeAll(async () => {
    browser = await driver.launch({ executablePath: pathOf(chromium) as string, args: ['--no-sandbox'] })
  })
  afterAll(() => browser?.close())

  /** Opens a page, and collects its errors. */
  async function open(
    url: string,
    options: Parameters<Browser['newPage']>[0] = {},
  ): Promise<{ page: Page; faults: string[] }> {
    const page = await browser.newPage(options)
    onTestFinished(() => page.close())
    const faults: string[] = []
    page.on('pageerror', (error) => faults.push(String(error)))
    page.on('console', (message) => {
      if (message.type() === 'error') faults.push(message.text())
    })
    page.on('requestfailed', (request) => faults.push(`${request.url()} ${request.failure()?.errorText}`))
    await page.goto(url)
    return { page, faults }
  }

  test('a submitter follows a task by its link alone: progress, reasons, and the rows to correct', async () => {
    const { hq, url, work } = await served({ auth: { bearer: 'secret' } })
    const [first, second] = [gate(), gate()]
    const Row = hq.job('Row', async (_ctx, row: { sku: string; price: number }) => {
      await (row.price === 9 ? second : first).opened
      if (row.price === 0) throw new BusinessFailure('Price is empty', { code: 'price' })
      if (row.price < 0) throw new BusinessFailure('Price is below zero', { code: 'below' })
      if (row.price === 5) throw new Error('the database is down')
    })
    const rows = [1, 0, 0, -1, 5, 9].map((price, n) => [{ sku: `a-${n}`, price }] as [{ sku: string; price: number }])
    const task = await hq.tasks.create(Row, rows, { name: 'Spring catalogue' })
    const headers = { authorization: 'Bearer secret' }
    const link = (await (await fetch(`${url}/api/v1/tasks/${task.id}/link`, { headers })).json()) as { url: string }
    const { page, faults } = await open(url + link.url)
    const text = (name: string) => page.locator(`[data-part="${name}"]`)
    await page.getByText('Live', { exact: true }).waitFor()
    expect(await page.locator('h1').textContent()).toBe('Spring catalogue')
    expect(await text('of').textContent()).toBe('of 6 rows are processed')
    expect(await text('fix').isVisible()).toBe(false)

    await work()
    first.open()
    await page.getByText('Price is empty').waitFor()
    await text('failed').getByText('3', { exact: true }).waitFor()
    expect(await text('reasons').locator('li').allInnerTexts()).toEqual([
      expect.stringMatching(/Price is empty\s+2\s+Rows 2, 3\./),
      expect.stringMatching(/Price is below zero\s+1\s+Row 4\./),
    ])
    const widths = await text('bar')
      .locator('i')
      .evaluateAll((pieces) => pieces.map((piece) => piece.getBoundingClientRect().width))
    expect(widths[0]).toBeGreaterThan(20)
    expect((widths[1] ?? 0) / (widths[0] ?? 1)).toBeCloseTo(3, 0)

    const downloading = page.waitForEvent('download')
    await page.getByRole('link', { name: /Download \d rows/ }).click()
    const download = await downloading
    expect(download.suggestedFilename()).toBe('Spring catalogue - rejected.csv')
    expect((await readFile(await download.path(), 'utf8')).match(/price|below/g)?.length).toBeGreaterThanOrEqual(3)
    expect(faults).toEqual([])
    await page.close()
    second.open()
  })

  test('a submitter sends corrected rows back, by the button or dropped on the page, until none is left', async () => {
    const { hq, url, work } = await served({ auth: { bearer: 'secret' } })
    const Row = hq.job('Row', async (_ctx, row: { price: string }) => {
      if (row.price === '') throw new BusinessFailure('Price is empty', { code: 'price' })
      if (Number(row.price) < 0) throw new BusinessFailure(`Price ${row.price} is below zero`)
    })
    const task = await hq.tasks.import(Row, Buffer.from('sku,price\na,1\nb,\nc,\nd,-1\ne,-1\nf,-2\n'), {
      name: 'spring.csv',
    })
    await work()
    await task.wait({ every: 10 })
    const headers = { authorization: 'Bearer secret' }
    const link = (await (await fetch(`${url}/api/v1/tasks/${task.id}/link`, { headers })).json()) as { url: string }
    const { page, faults } = await open(url + link.url)
    const text = (name: string) => page.locator(`[data-part="${name}"]`)
    await page.getByText('Price is empty').waitFor()
    // Rows are grouped by code, rows without a code by message.
    expect(await text('reasons').locator('li').allInnerTexts()).toEqual([
      expect.stringMatching(/Price is empty\s+2\s+Rows 3, 4\./),
      expect.stringMatching(/Price -1 is below zero\s+2\s+Rows 5, 6\./),
      expect.stringMatching(/Price -2 is below zero\s+1\s+Row 7\./),
    ])
    const report = await (await fetch(`${url}/api/v1/tasks/${task.id}/report`, { headers })).text()

    const file = (name: string, content: string) => ({ name, mimeType: 'text/csv', buffer: Buffer.from(content) })
    const input = page.locator('input[type=file]')
    await input.setInputFiles(file('odd.csv', 'a,b\n1,2\n'))
    await text('sent-news')
      .getByText('This is not the file that you downloaded: it has no column “row key”, ')
      .waitFor()
    expect(await text('sent-news').getAttribute('class')).toContain('wrong')
    await input.setInputFiles(file('report.csv', report.replaceAll(',,', ',4,').replaceAll(',-1,', ',-9,')))
    await text('sent-news').getByText('5 rows will run again.').waitFor()
    await page.getByText('Price -9 is below zero').waitFor()
    await text('failed').getByText('3', { exact: true }).waitFor()

    const dropped = report.replaceAll(',,', ',4,').replaceAll(/,-\d,/g, ',7,')
    const data = await page.evaluateHandle(`(() => {
      const transfer = new DataTransfer()
      transfer.items.add(new File([${JSON.stringify(dropped)}], 'report.csv', { type: 'text/csv' }))
      return transfer
    })()`)
    await page.dispatchEvent('main', 'dragover', { dataTransfer: data })
    expect(await text('finish').getAttribute('class')).toContain('over')
    await page.dispatchEvent('main', 'drop', { dataTransfer: data })
    await text('left').getByText('All rows are done').waitFor()
    await text('finish').waitFor({ state: 'hidden' })
    expect((await task.status())?.counts).toMatchObject({ finished: 6, failed: 0 })
    expect(faults.filter((fault) => !/status of 400|ERR_ABORTED/.test(fault))).toEqual([])
  })

  test('a submitter cancels a task after a confirmation, and can retry those rows later', async () => {
    const { hq, url, link } = await served()
    const Row = hq.job('Row', async (_ctx, _n: number) => {})
    const task = await hq.tasks.create(Row, [[1], [2], [3]])
    const { page, faults } = await open(url + (await link(task)))
    const button = (name: string | RegExp) => page.getByRole('button', { name })
    await button('Stop this…').click()
    await page.getByRole('heading', { name: 'Stop 3 rows that wait?' }).waitFor()
    await button('Keep running').click()
    expect((await task.status())?.state).toBe('running')
    await button('Stop this…').click()
    await button('Stop 3 rows').click()
    await page.locator('[data-part="left"]').getByText('Stopped').waitFor()
    expect((await task.status())?.state).toBe('cancelled')
    await button('Stop this…').waitFor({ state: 'hidden' })
    await page.getByRole('link', { name: 'Download 3 rows' }).waitFor()
    expect(faults.filter((fault) => !/ERR_ABORTED/.test(fault))).toEqual([])
  })

  test('a submitter reads in the own language what is wrong with a corrected file', async () => {
    const { hq, url, work, link } = await served()
    const Row = hq.job('Row', async (_ctx, _row: object) => {
      throw new BusinessFailure('no')
    })
    const task = await hq.tasks.import(Row, Buffer.from('sku\na\n'), { name: 'spring.csv' })
    await work()
    await task.wait({ every: 10 })
    const { page } = await open(`${url}${await link(task)}&lang=ru`)
    const news = page.locator('[data-part="sent-news"]')
    const send = (text: string, name = 'report.csv') =>
      page.locator('input[type=file]').setInputFiles({ name, mimeType: 'text/csv', buffer: Buffer.from(text) })
    await send('sku,row key\na,mine\n')
    await news.getByText('Строка 2, столбец «row key»: по этому столбцу строки различаются.').waitFor()
    await send('sku,row key\n"a,mine\n')
    await news.getByText('Строка 2, столбец A: кавычка (") открыта и не закрыта.').waitFor()
    await send('', 'empty.csv')
    await news.getByText('Файл пуст: нужна строка заголовка с названиями столбцов.').waitFor()
    expect(await news.innerText()).not.toMatch(/[a-z]{4}/)
  })

  test('on paper the page shows how far it is and what to correct, in light colours', async () => {
    const { hq, url, work, link } = await served()
    const Row = hq.job('Row', async (_ctx, _row: object) => {
      throw new BusinessFailure('Price is empty')
    })
    const task = await hq.tasks.import(Row, Buffer.from('sku\na\n'), { name: 'spring.csv' })
    await work()
    await task.wait({ every: 10 })
    const { page } = await open(url + (await link(task)))
    await page.getByText('Download 1 row').waitFor()
    await page.emulateMedia({ media: 'print', colorScheme: 'dark' })
    for (const text of ['spring.csv', 'Need a correction', 'Price is empty', 'of 1 row is processed']) {
      expect(await page.getByText(text).first().isVisible(), text).toBe(true)
    }
    for (const text of ['Download 1 row', 'Send corrected file', '中文']) {
      expect(await page.getByText(text).first().isVisible(), text).toBe(false)
    }
    const canvas = await page.evaluate('getComputedStyle(document.body).backgroundColor')
    expect(
      String(canvas)
        .match(/\d+/g)
        ?.every((one) => Number(one) > 200),
    ).toBe(true)
  })

  test('a submitter sees why a task is paused', async () => {
    const { hq, url, link } = await served()
    const Row = hq.job('Row', async (_ctx, _n: number) => {})
    const task = await hq.tasks.create(Row, [[1], [2], [3]])
    const { page } = await open(url + (await link(task)))
    const why = page.locator('[data-part="why"]')
    await page.getByText('Live').waitFor()
    expect(await why.isVisible()).toBe(false)
    await task.pause()
    await why.getByText('This is paused for now.').waitFor()
    await task.cancel('the wrong file')
    await why.getByText('Stopped: the wrong file').waitFor()
  })

  test('the page updates live until the task ends, and reconnects', async () => {
    const { hq, url, work, link } = await served()
    const doors = gate()
    const Row = hq.job('Row', async (_ctx, n: number) => {
      if (n > 0) await doors.opened
    })
    const task = await hq.tasks.create(Row, [[0], [1], [2]])
    const { page, faults } = await open(url + (await link(task)))
    await page.getByText('Live', { exact: true }).waitFor()
    await page.context().setOffline(true)
    await work()
    await page.context().setOffline(false)
    await page.locator('[data-part="done"]').getByText('1', { exact: true }).waitFor()
    doors.open()
    await page.locator('[data-part="live-text"]').getByText('Done').waitFor()
    expect(await page.locator('[data-part="left"]').textContent()).toBe('All rows are done')
    expect(await page.title()).toBe('✓ Row')
    expect(faults.filter((fault) => !/ERR_INTERNET_DISCONNECTED|ERR_ABORTED/.test(fault))).toEqual([])
  })

  test('the page is readable without JavaScript, in dark mode, and on a phone', async () => {
    const { hq, url, link } = await served()
    const task = await hq.tasks.create(
      hq.job('Row', async () => {}),
      [[], []],
      { name: 'x'.repeat(200) },
    )
    const { page } = await open(url + (await link(task)), {
      javaScriptEnabled: false,
      colorScheme: 'dark',
      viewport: { width: 360, height: 740 },
    })
    expect(await page.locator('[data-part="of"]').textContent()).toBe('of 2 rows are processed')
    const box = await page.locator('main').boundingBox()
    expect(box?.width).toBeLessThanOrEqual(360)
    const background = await page.evaluate('getComputedStyle(document.body).backgroundColor')
    expect(background).toBe('rgb(12, 13, 15)')
  })
})
