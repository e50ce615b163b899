import { expect, test } from 'vitest'
import { inBrowser } from './browser.ts'
import { countingClicks } from './clicking.ts'

const MINUTE = 60_000
const minute = () => Math.floor(Date.now() / MINUTE) * MINUTE
/** Returns a histogram with this many runs of one run time. */
const histogram = (bucket: number, runs: number) => Array.from({ length: 26 }, (_, i) => (i === bucket ? runs : 0))

inBrowser('deploys', (open) => {
  test('two clicks from the overview lead to the classes that got worse since the last deploy', async () => {
    const evil = '<img src=x onerror="throw 1">\u202e'
    const t = await open('/', {
      before: async ({ hq }) => {
        const at = minute() - 10 * MINUTE
        await hq.deploy('v1', new Date(at - 20 * MINUTE))
        await hq.deploy(evil, new Date(at))
        const one = (name: string, failed: number, bucket: number) => ({
          ...{ name, processed: 100, failed, ms: 5000 },
          histogram: histogram(bucket, 100 - failed),
        })
        const record = (number: number, at: number, jobs: ReturnType<typeof one>[]) =>
          hq.store.metrics.record({ source: 'test', number, at, jobs })
        await record(1, at - MINUTE, [one('Fails', 0, 0), one('Same', 5, 3), one(evil, 0, 0)])
        await record(2, at + MINUTE, [one('Fails', 40, 0), one('Same', 5, 3), one(evil, 0, 9)])
      },
    })
    const { page, hq } = t
    const clicks = await countingClicks(page)
    await page
      .getByRole('list', { name: 'Deploys' })
      .getByRole('link', { name: /onerror/ })
      .click()
    await page.getByRole('heading', { level: 1, name: 'Deploys' }).waitFor()
    await page.getByText('2 classes got worse').waitFor()
    const rows = page.getByRole('table', { name: 'Deploys' }).locator('tbody tr')
    await expect.poll(() => rows.count()).toBe(3)
    await rows.filter({ hasText: 'Fails' }).getByText('fails more').waitFor()
    await rows.filter({ hasText: 'Fails' }).getByText('40%').waitFor()
    await rows.filter({ hasText: 'onerror' }).getByText('slower').waitFor()
    expect(await clicks()).toBeLessThanOrEqual(2)
    expect(await rows.last().textContent()).toContain('Same')
    expect(await page.locator('main img').count()).toBe(0)

    // By the navigation it is the newest deploy; another one can be chosen.
    await page.getByRole('navigation', { name: 'Pages' }).first().getByRole('link', { name: 'Deploys' }).click()
    await page.getByText('2 classes got worse').waitFor()
    await page.getByLabel('Before and after').selectOption({ index: 1 })
    await page.getByText('no class got worse').waitFor()
    await page.getByRole('link', { name: '8 hours' }).click()
    await expect
      .poll(() => Object.fromEntries(new URL(page.url()).searchParams))
      .toEqual({
        range: '8h',
        at: (await hq.metrics.deploys())[0]?.at.toISOString(),
      })
    await page.getByRole('link', { name: '1 hour', exact: true }).click()
    await page.getByRole('link', { name: 'Fails' }).click()
    await page.getByRole('heading', { level: 1, name: 'Fails' }).waitFor()
  })

  test('without a deploy the page says how to record one', async () => {
    const { page } = await open('/deploys')
    await page.getByText('No such deploy').waitFor()
    await page.getByText('highkiq deploy v1.2').waitFor()
  })
})
