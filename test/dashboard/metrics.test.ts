import { expect, test } from 'vitest'
import { inBrowser } from './browser.ts'

const minute = () => Math.floor(Date.now() / 60_000) * 60_000
/** Returns a histogram of run times. */
const histogram = (filled: Record<number, number>) => Array.from({ length: 26 }, (_, bucket) => filled[bucket] ?? 0)

inBrowser('metrics', (open) => {
  test('classes are listed, sorted and searched, and one is shown over time', async () => {
    const t = await open('/metrics', {
      before: ({ hq }) => {
        hq.job('Quick', async () => {})
        hq.job('Shop/Slow', { retry: 3 }, async (_ctx, n: number) => {
          if (n === 0) throw new Error('no')
        })
      },
    })
    const { hq, page } = t
    await page.getByText('No job ended in this period').waitFor()

    // A worker writes its metrics at the latest when it stops, and the page shows them without a reload.
    await hq.pushBulk({ class: 'Quick', args: [[], [], []] })
    await hq.pushBulk({ class: 'Shop/Slow', args: [[1], [0]] })
    const worker = await t.work()
    await t.settled()
    await worker.stop()
    const rows = page.getByRole('table', { name: 'Metrics' }).locator('tbody tr')
    await expect.poll(() => rows.count()).toBe(2)
    const cells = async (name: string) =>
      (await rows.filter({ hasText: name }).locator('td').allTextContents()).slice(2, 4)
    expect([await cells('Quick'), await cells('Shop/Slow')]).toEqual([
      ['3', '–'],
      ['2', '50%'],
    ])

    // Runs of the hours before.
    const jobs = [
      { name: 'Quick', processed: 1500, failed: 0, ms: 1000, histogram: histogram({ 0: 1500 }) },
      { name: 'Shop/Slow', processed: 41, failed: 1, ms: 5200, histogram: histogram({ 5: 30, 6: 10 }) },
    ]
    await hq.store.metrics.record({ source: 'test', number: 1, at: minute() - 3 * 3_600_000, jobs })
    await hq.deploy('v1', new Date(minute() - 3 * 3_600_000))
    await page.getByRole('link', { name: '8 hours' }).click()
    await expect.poll(() => cells('Quick')).toEqual(['1,503', '–'])
    const names = () => rows.locator('td:nth-child(2)').allTextContents()
    expect(await names()).toEqual(['Shop/Slow', 'Quick'])
    await page.getByRole('button', { name: 'Runs' }).click()
    await expect.poll(names).toEqual(['Quick', 'Shop/Slow'])
    for (const [title, first] of [
      ['Failed', 'Shop/Slow'],
      ['p95', 'Shop/Slow'],
      ['Total time', 'Shop/Slow'],
    ] as const) {
      await page.getByRole('button', { name: title }).click()
      await expect.poll(async () => (await names())[0]).toBe(first)
    }
    await page.getByLabel('Class name').fill('slow')
    await expect.poll(names).toEqual(['Shop/Slow'])
    expect(Object.fromEntries(new URL(page.url()).searchParams)).toEqual({ range: '8h', by: 'seconds', search: 'slow' })
    await page.getByRole('img', { name: 'Throughput, per second' }).locator('canvas').waitFor()

    // One class: its figures, minute by minute, and how long it took; its retries are one click away.
    await rows.first().getByRole('link').click()
    await page.getByRole('heading', { level: 1, name: 'Shop/Slow' }).waitFor()
    await page.locator('.stat', { hasText: 'Runs' }).getByText('43', { exact: true }).waitFor()
    await expect.poll(() => page.getByRole('img', { name: 'Run times' }).locator('rect').count()).toBeGreaterThan(1)
    expect(await page.locator('.heat-y li').last().textContent()).toBe('20 ms')
    await page.getByRole('link', { name: '1 hour', exact: true }).click()
    await page.locator('.stat', { hasText: 'Runs' }).getByText('2', { exact: true }).waitFor()
    const itsJobs = page.getByRole('link', { name: 'its jobs in all states' })
    expect(await itsJobs.getAttribute('href')).toBe('/jobs?class=Shop%2FSlow')
    await page.getByRole('link', { name: 'its retries' }).click()
    await page.getByRole('heading', { name: 'Retries' }).waitFor()
    await expect.poll(() => page.getByRole('table', { name: 'Retries' }).locator('tbody tr').count()).toBe(1)
  })

  test('several classes are selected, and their runs, p95 and failures are lines of one chart', async () => {
    const names = ['A', 'B', 'C', 'D', 'E', 'F', 'G'].map((name) => `${name}Job`)
    const { page } = await open('/metrics', {
      before: async ({ hq }) => {
        const jobs = names.map((name, i) => {
          return { name, processed: 120, failed: 60, ms: 7000 - i, histogram: histogram({ [i]: 60 }) }
        })
        await hq.store.metrics.record({ source: 'test', number: 1, at: minute() - 60_000, jobs })
        await hq.deploy('v1', new Date(minute() - 60_000))
      },
    })
    const box = (name: string) => page.getByRole('checkbox', { name: `Select ${name}` })
    await box('AJob').check()
    await page.getByRole('img', { name: 'Runs per minute: AJob', exact: true }).waitFor()
    // A class stays in the chart when a search does not find it.
    await page.getByLabel('Class name').fill('bjo')
    await box('AJob').waitFor({ state: 'detached' })
    await box('BJob').check()
    await page.getByRole('img', { name: 'Runs per minute: AJob, BJob', exact: true }).waitFor()
    await page.getByRole('list', { name: 'Deploys' }).getByText('v1').waitFor()
    const valuesAt = async (figure: string, title: string) => {
      await page.getByRole('navigation', { name: 'Figure of the chart' }).getByRole('link', { name: figure }).click()
      const chart = page.getByRole('img', { name: `${title}: AJob, BJob` })
      const { x, y, width } = (await chart.locator('.u-over').boundingBox()) ?? { x: 0, y: 0, width: 0 }
      // The minute before the last of sixty; each takes the same room.
      await page.mouse.move(x + (width * 58.5) / 60, y + 20)
      const lines = chart.locator('.readout > *')
      await expect.poll(() => lines.count()).toBe(3)
      return (await lines.allTextContents()).slice(1)
    }
    expect(await valuesAt('Runs', 'Runs per minute')).toEqual(['AJob: 120', 'BJob: 120'])
    expect(await valuesAt('p95', 'p95 of the run times, in seconds')).toEqual(['AJob: 0.019', 'BJob: 0.0295'])
    expect(await valuesAt('Failures', 'Failures per minute')).toEqual(['AJob: 60', 'BJob: 60'])

    // At most six; the address has them, and each can be removed.
    await page.getByLabel('Class name').fill('')
    for (const name of names.slice(2, 6)) await box(name).check()
    await expect.poll(() => box('GJob').isDisabled()).toBe(true)
    await page.reload()
    const listed = () => page.getByRole('list', { name: 'Classes in the chart' }).getByRole('link').allTextContents()
    await expect.poll(listed).toEqual(names.slice(0, 6))
    await page.getByRole('button', { name: 'Remove BJob from the chart' }).click()
    await expect.poll(listed).toEqual(['AJob', 'CJob', 'DJob', 'EJob', 'FJob'])
    await expect.poll(() => box('GJob').isEnabled()).toBe(true)
  })

  test('hostile class names are shown as text, also on a phone', async () => {
    const evil = '<img src=x onerror="throw 1">/50%?#\u202e'
    const { page } = await open('/metrics', {
      viewport: { width: 390, height: 844 },
      before: async ({ hq }) => {
        const job = { name: evil, processed: 5, failed: 2, ms: 10, histogram: histogram({ 25: 3 }) }
        const long = { name: `${'x'.repeat(400)}`, processed: 1, failed: 0, ms: 10, histogram: histogram({ 3: 1 }) }
        await hq.store.metrics.record({ source: 'test', number: 1, at: minute(), jobs: [job, long] })
        await hq.deploy(evil)
      },
    })
    const narrow = async () =>
      expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
    await page.getByRole('link', { name: /xxx/ }).waitFor()
    await narrow()
    await page
      .getByRole('table', { name: 'Metrics' })
      .getByRole('link', { name: /onerror/ })
      .click()
    await page.getByRole('heading', { level: 1, name: /onerror/ }).waitFor()
    await page.locator('.stat', { hasText: 'Failed' }).getByText('40%').waitFor()
    await narrow()
    expect(await page.locator('img').count()).toBe(0)
  })
})
