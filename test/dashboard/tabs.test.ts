import type { BrowserContext, Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { inBrowser } from './browser.ts'

const TABS = 12

/** Hides a tab, as the browser does when another tab covers it. A browser without a window never does that itself. */
const setHidden = (page: Page, isHidden: boolean) =>
  page.evaluate(`
    Object.defineProperty(document, 'hidden', { configurable: true, value: ${isHidden} })
    document.dispatchEvent(new Event('visibilitychange'))`)

/** Counts the streams that the browser has open. */
function openStreams(window: BrowserContext, path: string): ReadonlySet<unknown> {
  const streams = new Set<unknown>()
  window.on('request', (request) => {
    if (new URL(request.url()).pathname.endsWith(path)) streams.add(request)
  })
  window.on('requestfinished', (request) => streams.delete(request))
  window.on('requestfailed', (request) => streams.delete(request))
  return streams
}

const scheduled = (page: Page, n: number) => page.getByRole('link', { name: `Scheduled ${n}` }).waitFor()
const isLive = (page: Page) => page.getByText('Live', { exact: true }).waitFor()

inBrowser('many tabs', (open) => {
  test('twelve tabs share one stream, and a hidden tab passes it on to a visible one', async () => {
    const { page, url, hq } = await open('/nowhere')
    const window = page.context()
    const streams = openStreams(window, '/live')
    await page.reload()
    const later = () => hq.push({ class: 'Later', args: [1], at: Date.now() / 1000 + 3600 })
    const others = Array.from({ length: TABS - 1 }, async () => {
      const tab = await window.newPage()
      await tab.goto(`${url}/nowhere`)
      return tab
    })
    const tabs = [page, ...(await Promise.all(others))]
    await Promise.all(tabs.map(isLive))
    await later()
    await Promise.all(tabs.map((tab) => scheduled(tab, 1)))
    expect(streams.size).toBe(1)

    const last = tabs.at(-1) as Page
    for (const tab of tabs.slice(0, -1)) await setHidden(tab, true)
    await later()
    await scheduled(last, 2)
    await isLive(last)
    expect(streams.size).toBe(1)
    await setHidden(last, true)
    await expect.poll(() => streams.size).toBe(0)
    await later()
    await setHidden(page, false)
    await scheduled(page, 3)
    await isLive(page)
    expect(streams.size).toBe(1)
  })

  test('the page of a submitter has a stream only while it is visible', async () => {
    const { page, url, hq, link } = await open('/')
    const task = await hq.tasks.create(
      hq.job('Row', async () => {}),
      [[]],
    )
    const streams = openStreams(page.context(), '/stream')
    await page.goto(url + (await link(task)))
    await page.getByText('Live', { exact: true }).waitFor()
    expect(streams.size).toBe(1)
    await setHidden(page, true)
    await expect.poll(() => streams.size).toBe(0)
    await hq.tasks.get(task.id).cancel()
    await setHidden(page, false)
    await expect.poll(() => page.locator('[data-part="over"]').getAttribute('data-n')).toBe('1')
  })

  test('without locks a page polls its figures', async () => {
    const { page, hq } = await open('/')
    await page.addInitScript('delete Navigator.prototype.locks')
    await page.reload()
    await page.getByText('Not live').waitFor()
    await hq.push({ class: 'Later', args: [1], at: Date.now() / 1000 + 3600 })
    await scheduled(page, 1)
  })
})
