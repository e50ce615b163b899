/** Opens pages of the dashboard in a real browser. Each test has an app of its own, and fails when its page logs an error. */

import type { HttpOptions } from 'highkiq/http'
import { type Browser, type BrowserContextOptions, chromium as driver, type Locator, type Page } from 'playwright-core'
import { afterAll, beforeAll, expect, onTestFinished } from 'vitest'
import { type ServedApi, served } from '../http/api.ts'
import { chromium } from '../http/program.ts'
import { pathOf } from '../programs/program.ts'
import { suiteWith } from '../programs/suite.ts'

export interface Opened extends ServedApi {
  page: Page
  /** The errors of the page. A test removes those that it expects; at its end the list must be empty. */
  faults: string[]
  /** Opens another page of the dashboard, as a click on a link does. */
  go(path: string): Promise<void>
}

export interface OpenOptions extends BrowserContextOptions {
  http?: HttpOptions
  /** Runs before the page opens, for example to define and push jobs. */
  before?: (app: ServedApi) => unknown
  /** Opens a page of this app, instead of one of its own. */
  app?: ServedApi
}

/** Defines a suite that opens pages. Without a browser it is skipped. */
export function inBrowser(
  title: string,
  tests: (open: (path: string, options?: OpenOptions) => Promise<Opened>) => void,
) {
  suiteWith(
    [chromium],
    title,
    () => {
      let browser: Browser
      beforeAll(async () => {
        browser = await driver.launch({ executablePath: pathOf(chromium) as string, args: ['--no-sandbox'] })
      })
      afterAll(() => browser?.close())

      tests(async (path, { http = {}, before, app, ...context } = {}) => {
        const opened = app ?? (await served(http))
        await before?.(opened)
        const window = await browser.newContext({ locale: 'en-GB', timezoneId: 'UTC', ...context })
        window.setDefaultTimeout(30_000)
        const faults: string[] = []
        window.on('page', (tab) => watch(tab, faults))
        const page = await window.newPage()
        onTestFinished(async () => {
          await window.close()
          expect(faults).toEqual([])
        })
        const base = http.basePath ?? ''
        const go = async (to: string) => {
          const url = JSON.stringify(base + to)
          await page.evaluate(`history.pushState(null, '', ${url}); dispatchEvent(new PopStateEvent('popstate'))`)
        }
        await page.goto(opened.url + base + path)
        await page.locator('main h1').waitFor()
        return { ...opened, page, faults, go }
      })
    },
    { timeout: 150_000 },
  )
}

function watch(page: Page, faults: string[]): void {
  page.on('pageerror', (error) => faults.push(String(error)))
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') faults.push(message.text())
  })
}

/** Makes jobs that wait for their retry: a worker runs them, and they fail. */
export async function failing(app: ServedApi, jobs: { class: string; args: unknown[]; error: Error }[]): Promise<void> {
  const { hq } = app
  const errors = new Map(jobs.map(({ class: name, error }) => [name, error]))
  for (const name of new Set(jobs.map((job) => job.class))) {
    hq.job(name, { retry: 25 }, async () => {
      throw errors.get(name)
    })
  }
  for (const { class: name, args } of jobs) await hq.push({ class: name, args })
  await app.work()
  await expect.poll(() => hq.retries.size()).toBe(jobs.length)
}

/** Gives the focus to a row of a table, as j and k do. */
export async function focusRow(row: Locator): Promise<void> {
  await row.first().evaluate((element) => {
    element.tabIndex = -1
    element.focus()
  })
}

/** Returns the texts of the first links in the rows of a table, page after page until the last. */
export async function namesOfPages(page: Page, table: Locator): Promise<string[]> {
  const names: string[] = []
  const next = page.getByRole('button', { name: 'Next page' })
  for (;;) {
    await table.waitFor()
    const first = table.locator('tbody tr a').first()
    const begin = await first.innerText()
    names.push(
      ...(await table
        .locator('tbody tr')
        .evaluateAll((rows) => rows.map((row) => row.querySelector('a')?.innerText ?? ''))),
    )
    if (await next.isDisabled()) return names
    await next.click()
    await expect.poll(() => first.innerText()).not.toBe(begin)
  }
}
