/** No text of any page covers another one or is cut off, at four widths and in three languages. */

import { BusinessFailure } from 'highkiq'
import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { Collector, gate, until } from '../engine/bench.ts'
import { type ServedApi, served } from '../http/api.ts'
import { inBrowser } from './browser.ts'
import { textFaults } from './text-overlap.ts'

const LOCALES = ['en-GB', 'zh-CN', 'ru-RU']
const WIDTHS = [390, 768, 1280, 1920]
const LONG = 'Warehouse/Stock::SynchronizePricesOfDiscontinuedProductsJob'

/** Puts long names and large numbers on every page. Returns the pages. */
async function furnish({ hq, work, clock }: ServedApi): Promise<string[]> {
  const doors = gate()
  const began = new Collector<void>()
  const Row = hq.job('Row', { retry: 0, queue: 'imports-of-the-nightly-catalogue' }, async (_ctx, n: number) => {
    if (n % 3 === 1) throw new BusinessFailure('The price of this product is empty', { code: 'price.empty' })
    if (n % 3 === 2) throw new Error('connect ECONNREFUSED 10.4.0.17:5432')
  })
  hq.job(LONG, { retry: 5, retryIn: () => 3600 }, async () => {
    throw new TypeError("Cannot read properties of undefined (reading 'priceWithoutTaxInTheCurrencyOfTheSupplier')")
  })
  const Running = hq.job('Running', async (ctx) => {
    ctx.progress(1234, 56_789, 'rows of the warehouse')
    began.add()
    await doors.opened
  })
  const Once = hq.job('Once', { unique: true, queue: 'nobody-serves-this-queue' }, async (_ctx, _n: number) => {})
  const Kept = hq.job('Kept', { keepFinished: true }, async () => ({ width: 640 }))
  const Stock = hq.ordered('ApplyStockChange', { shards: 4, maxRetries: 0 }, async (_ctx, batch) => {
    if (batch.has('dies')) throw new Error('older than what is stored')
  })
  const minute = Math.floor(clock.now() / 60_000) * 60_000
  for (const [n, ago] of [50, 35, 20].entries()) await hq.deploy(`v1.${n} of the shop`, new Date(minute - ago * 60_000))
  const histogram = Array.from({ length: 26 }, (_, i) => i * 100)
  const jobs = [LONG, 'Row', 'Running'].map((name) => ({
    name,
    processed: 40_000,
    failed: 1234,
    ms: 9_000_000,
    histogram,
  }))
  for (const [i, ago] of [40, 25, 10, 1].entries()) {
    await hq.store.metrics.record({ source: 'test', number: i + 1, at: minute - ago * 60_000, jobs })
  }
  hq.cron('nightly-synchronization', '30 3 * * mon-fri', Running, { timeZone: 'America/Argentina/Buenos_Aires' })
  const retry = await hq.push({ class: LONG, args: ['a', { customer: 4711 }] })
  await hq.pushBulk({ class: LONG, args: Array.from({ length: 5 }, (_, n) => [n]) })
  const queued = await hq.push({ class: 'Waits', args: [1], queue: 'nobody-serves-this-queue' })
  await hq.push({ class: 'Later', args: [1], at: clock.now() / 1000 + 90_000 })
  await Once.performAsync(1)
  await Kept.performAsync()
  const bid = await hq.batch({}, () => hq.push({ class: 'Waits', args: [2], queue: 'nobody-serves-this-queue' }))
  const dead = { class: LONG, args: [1], error_class: 'Error', error_message: 'the supplier does not answer' }
  await hq.dead.schedule(clock.now() / 1000 - 200_000, dead)
  const rows = Array.from({ length: 30 }, (_, n): [number] => [n])
  const task = await hq.tasks.create(Row, rows, { name: 'Spring catalogue of the southern warehouses' })
  await Stock.performAsync([{ id: 'dies', payload: { v: 1 } }])
  await work({ concurrency: 20, queues: ['default', 'imports-of-the-nightly-catalogue'] })
  await task.wait({ every: 10 })
  await until(async () => (await hq.retries.size()) === 6 && (await Stock.stats()).morgueLength === 1)
  const waiting = Array.from({ length: 9 }, (_, n) => ({
    id: `warehouse-${n}`,
    payload: { n },
    performIn: '1h' as const,
  }))
  await Stock.performAsync(waiting)
  await hq.cron('nightly-synchronization').runNow()
  await began.atLeast(1)
  const ruby = {
    identity: 'web-1.eu-central-1.example.com:77:abc',
    info: JSON.stringify({ hostname: 'web-1', queues: ['x'] }),
  }
  await hq.store.workers.heartbeat({ ...ruby, concurrency: 5, busy: 2, beat: clock.now(), quiet: false, rss: 1 }, 60)
  return [
    ...['/', '/?range=30d', '/tasks', `/tasks/${task.id}`, `/tasks/${task.id}?row=${task.id}00000001`],
    ...['/queues', '/queues/nobody-serves-this-queue', '/busy'],
    ...['/retries', `/retries?job=${retry}`, '/scheduled', '/dead', '/finished', '/batches', `/batches/${bid}`],
    ...['/ordered', '/ordered?tab=inWork', '/ordered?tab=morgue', '/ordered?id=warehouse-1', '/limits', '/locks'],
    ...[
      '/cron',
      '/cron?entry=nightly-synchronization',
      '/events',
      '/metrics',
      '/metrics?compare=Row,Running&figure=p95',
      `/metrics/${encodeURIComponent(LONG)}`,
    ],
    ...['/deploys', '/doctor', `/jobs/${retry}`, `/jobs/${queued}`, '/jobs', '/jobs?args.*.customer=4711', '/nowhere'],
  ]
}

/** Returns the faults of the page at each width. */
async function faultsAtWidths(page: Page, what: string): Promise<string[]> {
  const found: string[] = []
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 900 })
    for (const fault of await textFaults(page)) found.push(`${width} ${what}: ${fault}`)
  }
  return found
}

inBrowser('texts', (open) => {
  describe.each(LOCALES)('in %s', (locale) => {
    test('no text covers another one or is cut off on any page, at any width', async () => {
      let paths: string[] = []
      const { page, go } = await open('/nowhere', {
        locale,
        before: async (app) => {
          paths = await furnish(app)
        },
      })
      const found: string[] = []
      for (const path of paths) {
        await go(path)
        await page.locator('main h1').first().waitFor()
        for (const width of WIDTHS) {
          await page.setViewportSize({ width, height: 900 })
          await expect.poll(() => page.locator('[aria-busy=true]').count()).toBe(0)
          // Charts follow the width in the next frame.
          await page.evaluate('new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))')
          for (const fault of await textFaults(page)) found.push(`${width} ${path}: ${fault}`)
        }
      }
      expect(found).toEqual([])
    })
  })

  test.each(LOCALES)('no text of the forms of a job covers another one in %s', async (locale) => {
    const { page, hq, go } = await open('/jobs', { locale })
    const jid = await hq.push({ class: LONG, args: ['a', { customer: 4711 }], wait: 3600, tags: ['spring sale'] })
    const found: string[] = []
    for (const path of ['/jobs', `/jobs/${jid}`]) {
      await go(path)
      const key = path === '/jobs' ? 'n' : 'e'
      const opener = page.locator(`button[data-key=${key}]`)
      await (key === 'n' ? opener : opener.locator('+ button')).click()
      const dialog = page.locator('dialog[open]')
      // The errors are shown below the fields.
      await dialog.locator('textarea').first().fill('{')
      await dialog.locator('button[type=submit]').click()
      await dialog.getByRole('alert').first().waitFor()
      for (const width of WIDTHS) {
        await page.setViewportSize({ width, height: 900 })
        for (const fault of await textFaults(page)) found.push(`${width} ${path}: ${fault}`)
      }
      await page.keyboard.press('Escape')
    }
    expect(found).toEqual([])
  })

  test.each(LOCALES)('no text of a dialog covers another one in %s', async (locale) => {
    const { page, go } = await open('/tasks', {
      locale,
      before: async ({ hq, clock }) => {
        hq.job('ImportProduct', async (_ctx, _row: object) => {})
        const dead = { class: LONG, args: [1], error_class: 'Error', error_message: 'the supplier does not answer' }
        await hq.dead.schedule(clock.now() / 1000 - 200_000, dead)
      },
    })
    const dialog = page.locator('dialog[open]')
    const found: string[] = []
    const measure = async (what: string) => {
      await dialog.waitFor()
      found.push(...(await faultsAtWidths(page, what)))
      await page.keyboard.press('Escape')
      await dialog.waitFor({ state: 'detached' })
    }
    await page.locator('main .btn.primary').first().click()
    const buffer = Buffer.from('article of the southern warehouses,price without tax\na,1\nb,\n')
    await dialog.locator('input[type=file]').setInputFiles({ name: `${LONG}.csv`, mimeType: 'text/csv', buffer })
    await dialog.locator('tbody tr').first().waitFor()
    await measure('import')
    await page.keyboard.press('Control+k')
    await measure('Ctrl K')
    await page.keyboard.press('?')
    await measure('keys')
    await go('/dead')
    await page.locator('tbody input[type=checkbox]').first().check()
    await page.keyboard.press('Shift+D')
    await measure('confirmation')
    expect(found).toEqual([])
  })

  test.each(LOCALES)('no text of the pages outside the dashboard covers another one in %s', async (locale) => {
    const app = await served({ auth: { bearer: 'secret' } })
    const Row = app.hq.job('Row', { retry: 0 }, async (_ctx, n: number) => {
      if (n % 3 === 0) throw new BusinessFailure('The price of this product is empty', { code: 'price.empty' })
      if (n % 3 === 1) throw new Error('connect ECONNREFUSED 10.4.0.17:5432')
    })
    const rows = Array.from({ length: 30 }, (_, n): [number] => [n])
    const name = 'Spring catalogue of the southern warehouses'
    const task = await app.hq.tasks.create(Row, rows, { name, meta: { user: 7 } })
    await app.work()
    await task.wait({ every: 10 })
    const linkTo = async (path: string) =>
      (await app.call('GET', path, { headers: { authorization: 'Bearer secret' } })).body.url as string
    const paths = [
      await linkTo(`/api/v1/tasks/${task.id}/link`),
      await linkTo('/api/v1/tasks/link?meta.user=7'),
      '/queues',
    ]
    const { page, faults } = await open('/queues', { app, locale })
    const found: string[] = []
    for (const path of paths) {
      await page.goto(new URL(path, app.url).href)
      await page.locator('main h1').first().waitFor()
      found.push(...(await faultsAtWidths(page, path.replace(/token=.*/, ''))))
    }
    expect(found).toEqual([])
    // Without a login the dashboard asks for one.
    expect(faults.splice(0).every((fault) => fault.includes('401'))).toBe(true)
  })

  test('texts that cover each other or are cut off are found', async () => {
    const { page } = await open('/nowhere')
    expect(await textFaults(page)).toEqual([])
    await page.evaluate(`
      const add = (style, text) => {
        const one = document.createElement('p')
        one.style.cssText = style
        one.textContent = text
        document.querySelector('main').append(one)
      }
      document.querySelector('main').style.width = '300px'
      add('height: 20px', 'below')
      add('margin-top: -20px', 'above')
      add('width: 40px; overflow: hidden; white-space: nowrap', 'longer than its box')
      add('width: 40px; overflow: hidden; white-space: nowrap; text-overflow: ellipsis', 'with an ellipsis')
    `)
    expect(await textFaults(page)).toEqual(['cut off: "longer than its box" in P', '"below" over "above"'])
  })
})
