// Opens Chromium, and reads what it measures itself.
import { chromium } from 'playwright-core'
import { findChromium } from '../../scripts/chromium.js'

const SHIFTS = `
  window.shifted = 0
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.shifted += entry.value
  }).observe({ type: 'layout-shift', buffered: true })`

/** When the page was first painted: its content may be there before. */
const FIRST_PAINT = `
  new Promise((resolve) => {
    new PerformanceObserver((list) => {
      for (const { name, startTime } of list.getEntries()) if (name === 'first-contentful-paint') resolve(startTime)
    }).observe({ type: 'paint', buffered: true })
  })`

export async function openBrowser() {
  const browser = await chromium.launch({ executablePath: findChromium(), args: ['--no-sandbox'] })
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } })
  await page.addInitScript(SHIFTS)
  const processes = await browser.newBrowserCDPSession()
  return {
    page,
    /** Loads a page with an empty cache. @returns milliseconds */
    async load(url, ready) {
      const cdp = await page.context().newCDPSession(page)
      await cdp.send('Network.clearBrowserCache')
      const began = performance.now()
      await page.goto(url)
      await page.locator(ready).first().waitFor()
      const whole = performance.now() - began
      const painted = await page.evaluate(FIRST_PAINT)
      return { whole, painted }
    },
    shifted: () => page.evaluate('window.shifted'),
    /** Returns the share of one core that the page's process used, in percent. */
    async cpu(seconds) {
      const read = async () => {
        const { processInfo } = await processes.send('SystemInfo.getProcessInfo')
        return processInfo.filter(({ type }) => type === 'renderer').reduce((sum, { cpuTime }) => sum + cpuTime, 0)
      }
      const before = await read()
      await page.waitForTimeout(seconds * 1000)
      return (((await read()) - before) / seconds) * 100
    },
    close: () => browser.close(),
  }
}
