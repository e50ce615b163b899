import type { Highkiq } from 'highkiq'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { gate, until } from '../engine/bench.ts'
import { barriers } from './barriers.ts'
import { inBrowser } from './browser.ts'

const SOON = { timeout: 10_000 }
const rowsOf = (page: Page) => page.locator('tbody tr')
const row = (page: Page, text: string) => page.locator('tbody tr', { hasText: text })
const drawer = (page: Page) => page.locator('aside.drawer')
const button = (page: Page, name: string | RegExp) =>
  page.getByRole('button', { name, exact: typeof name === 'string' })
const chosen = (page: Page) => page.getByRole('region', { name: 'Selection' })
const params = (page: Page) => new URL(page.url()).searchParams
const dialog = (page: Page) => page.getByRole('dialog')

const failure = { error_class: 'Refused', error_message: 'card declined', failed_at: Date.now(), retry_count: 2 }
const inAnHour = () => new Date(Date.now() + 3_600_000)

/** A job in each of four states; two belong to customer 4711. */
async function furnish({ hq }: { hq: Highkiq }): Promise<void> {
  await hq.retries.schedule(inAnHour(), { class: 'Charge', args: [{ customer: 4711 }], tags: ['vip'], ...failure })
  await hq.dead.schedule(new Date(), { class: 'Mail', args: ['x', { customer: '4711' }], ...failure })
  await hq.dead.schedule(new Date(), { class: 'Mail', args: ['x', { customer: 8 }], ...failure })
  await hq.scheduled.schedule(inAnHour(), { class: 'Later', args: [1] })
  await hq.push({ class: 'Stock', args: [1], queue: 'low' })
}

async function add(page: Page, filter: string, text: string): Promise<void> {
  await button(page, filter).click()
  await page.getByLabel(filter, { exact: true }).fill(text)
  await page.keyboard.press('Enter')
}

inBrowser('the jobs of all states', (open) => {
  test('the failed job of a customer is found with Ctrl K, explained and retried', async () => {
    const { page, hq } = await open('/', { before: furnish })
    await page.keyboard.press('Control+k')
    await dialog(page).getByRole('searchbox').fill('customer = 4711')
    await dialog(page).getByRole('option', { name: 'Retries: 1' }).waitFor()
    await dialog(page).getByRole('option', { name: 'Dead: 1' }).waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Jobs', level: 1 }).waitFor()
    expect(params(page).get('args.*.customer')).toBe('4711')
    await expect.poll(() => rowsOf(page).count(), SOON).toBe(2)
    await row(page, 'Charge').click()
    await drawer(page).getByText('card declined').first().waitFor()
    await page.keyboard.press('r')
    await page.getByText('1 job went to its queue.').waitFor()
    expect((await hq.queue('default').page()).items.map((job) => job.class)).toEqual(['Charge'])
    await expect.poll(() => row(page, 'in its queue').count(), SOON).toBe(1)
    expect(await barriers(page)).toEqual([])
  })

  test('on a phone the first job is in view, and one click shows the other filters', async () => {
    const { page } = await open('/jobs?state=finished,dead', { before: furnish, viewport: { width: 390, height: 844 } })
    await expect.poll(() => rowsOf(page).count(), SOON).toBe(2)
    const inView = '(({ top, bottom }) => top >= 0 && bottom <= innerHeight)'
    expect(await page.evaluate(`${inView}(document.querySelector('tbody tr').getBoundingClientRect())`)).toBe(true)
    await button(page, 'class').waitFor({ state: 'hidden' })
    await button(page, 'More filters').click()
    await add(page, 'class', 'Nobody')
    await expect.poll(() => params(page).get('class')).toBe('Nobody')
  })

  test('what the list has found counts as well, and a state of which nothing was searched has no figure', async () => {
    const { page, go } = await open('/', { before: furnish })
    await page.route('**/jobs/counts*', async (route) => {
      const counts = await (await route.fetch()).json()
      for (const one of counts.items) Object.assign(one, { matching: 0, complete: false })
      await route.fulfill({ json: counts })
    })
    await go('/jobs?class=Mail')
    await button(page, 'Dead 2+').waitFor()
    await button(page, 'Retries').waitFor()
    await page.getByRole('heading', { level: 1, name: 'Jobs 2+' }).waitFor()
  })

  test('states, filters and counts narrow the list, and an action applies to all that match', async () => {
    const { page, hq } = await open('/jobs', { before: furnish })
    await expect.poll(() => rowsOf(page).count(), SOON).toBe(5)
    await button(page, /^Dead 2$/).click()
    await expect.poll(() => rowsOf(page).count(), SOON).toBe(2)
    await button(page, /^Retries 1$/).click()
    await expect.poll(() => rowsOf(page).count(), SOON).toBe(3)
    expect(params(page).get('state')).toBe('dead,retry')
    // Escape drops what was written, and a filter is one step of the history.
    await button(page, 'class').click()
    await page.getByLabel('class', { exact: true }).fill('Mail')
    await page.keyboard.press('Escape')
    await button(page, 'class').waitFor()
    expect(params(page).get('class')).toBe(null)
    const visited = Number(await page.evaluate('history.length'))
    await add(page, 'argument', '1.customer = 4711')
    await expect.poll(() => rowsOf(page).count(), SOON).toBe(1)
    await button(page, /^Dead 1$/).waitFor()
    expect(await page.evaluate('history.length')).toBe(visited + 1)
    await page.reload()
    await expect.poll(() => rowsOf(page).count(), SOON).toBe(1)
    await button(page, 'Remove the filter args.1.customer').click()
    await add(page, 'tag', 'vip')
    await expect.poll(() => rowsOf(page).count(), SOON).toBe(1)
    await button(page, 'Remove the filter tag').click()
    await add(page, 'since', '2h')
    await expect.poll(() => rowsOf(page).count(), SOON).toBe(3)
    await add(page, 'class', 'NoSuch')
    await page.getByText('Nothing matches').waitFor()
    await button(page, 'Remove the filter class').click()
    await add(page, 'class', 'Mail')
    await expect.poll(() => rowsOf(page).count(), SOON).toBe(2)
    // The question has the number of this moment, not that of the list.
    await button(page, /^Dead 2$/).waitFor()
    await hq.dead.schedule(new Date(), { class: 'Mail', args: ['z'], ...failure })
    await button(page, 'Retry all that match…').click()
    await dialog(page).getByText('Mail').first().waitFor()
    await dialog(page).getByRole('button', { name: 'Retry 3 jobs' }).click()
    await page.getByText('3 jobs went to their queues.').waitFor()
    expect(await hq.dead.size()).toBe(0)
    expect(await hq.retries.size()).toBe(1)
  })

  test('a time in a filter is one of the time zone that the page shows', async () => {
    const { page } = await open('/jobs', { before: furnish, timezoneId: 'Asia/Tokyo' })
    const since = async (text: string) => {
      await add(page, 'since', text)
      await expect.poll(() => params(page).get('from')).not.toBe(null)
      const time = params(page).get('from')
      await button(page, 'Remove the filter since').click()
      await expect.poll(() => params(page).get('from')).toBe(null)
      return time
    }
    expect(await since('2026-11-24 09:30')).toBe('2026-11-24T00:30:00.000Z')
    expect(await since('2026-11-24')).toBe('2026-11-23T15:00:00.000Z')
    await button(page, 'Local time').click()
    expect(await since('2026-11-24 09:30')).toBe('2026-11-24T09:30:00.000Z')
    expect(await since('2026-11-24')).toBe('2026-11-24T00:00:00.000Z')
    expect(await since('2026-11-24T09:30:00+01:00')).toBe('2026-11-24T08:30:00.000Z')
  })

  test('selected jobs of several states are deleted, each state with its question', async () => {
    const { page, hq } = await open('/jobs', { before: furnish })
    await expect.poll(() => rowsOf(page).count(), SOON).toBe(5)
    for (const name of ['Later', 'Stock']) await row(page, name).getByRole('checkbox').check()
    await chosen(page).getByText('2 selected').waitFor()
    await chosen(page).getByRole('button', { name: 'Delete…' }).click()
    await dialog(page).getByRole('button', { name: 'Delete 1 scheduled job' }).click()
    await dialog(page).getByRole('button', { name: 'Delete 1 job', exact: true }).click()
    await expect.poll(() => rowsOf(page).count(), SOON).toBe(3)
    expect([await hq.scheduled.size(), await hq.queue('low').size()]).toEqual([0, 0])
    await row(page, 'Charge').getByRole('checkbox').check()
    await row(page, 'Mail').first().getByRole('checkbox').check()
    // Only what applies to both is offered.
    await chosen(page).getByRole('button', { name: 'Retry now' }).waitFor()
    expect(await chosen(page).getByRole('button', { name: 'Kill' }).count()).toBe(0)
  })

  test('when the request for one ordered queue fails, the page says what was done in the others', async () => {
    const { page, hq, faults } = await open('/jobs?state=ordered', {
      async before({ hq }) {
        for (const name of ['Prices', 'Stock', 'Texts']) {
          await hq
            .ordered(name, { shards: 1 }, async () => {})
            .performAsync([{ id: name, payload: 1, performIn: '1h' }])
        }
      },
    })
    const error = { code: 'STORE_TIMEOUT', message: 'the store did not answer' }
    await page.route('**/ordered/Stock/**', (route) => route.fulfill({ status: 503, json: { error } }))
    await expect.poll(() => rowsOf(page).count(), SOON).toBe(3)
    for (const name of ['Prices', 'Stock', 'Texts']) await row(page, name).getByRole('checkbox').check()
    await chosen(page).getByRole('button', { name: 'Delete…' }).click()
    await dialog(page).getByRole('button', { name: 'Delete 3 jobs' }).click()
    await page
      .getByText('2 jobs deleted. 1 stayed as it was: Stock: The store did not answer in time: Try again.')
      .waitFor()
    expect(await hq.ordered('Stock').waiting.list({ limit: 5 })).toMatchObject({ items: [{ id: 'Stock' }] })
    expect(await hq.ordered('Texts').waiting.list({ limit: 5 })).toMatchObject({ items: [] })
    expect(faults.splice(0)).toEqual([expect.stringContaining('503')])
  })

  test('one running job among many is found by an argument and cancelled', async () => {
    const aborted: number[] = []
    const begun = gate()
    let n = 0
    const { page } = await open('/jobs', {
      before: async ({ hq, work }) => {
        const Slow = hq.job('Slow', { retry: false }, async (ctx, row: { customer: number }) => {
          if (++n === 12) begun.open()
          await new Promise((resume) => ctx.signal.addEventListener('abort', resume, { once: true }))
          aborted.push(row.customer)
        })
        await Slow.performBulk(Array.from({ length: 12 }, (_, i) => [{ customer: 100 + i }]))
        const worker = await work({ concurrency: 12 })
        await begun.opened
        // The worker shows its jobs at once.
        await worker.quiet()
        await until(async () => (await hq.jobs.search({ states: ['running'] })).items.length === 12)
      },
    })
    await page.getByLabel('Search all jobs').fill('"customer":107')
    await expect.poll(() => rowsOf(page).count(), SOON).toBe(1)
    await row(page, '107').getByRole('button', { name: 'Cancel…' }).click()
    await dialog(page).getByRole('button', { name: 'Cancel 1 job' }).click()
    await page.getByText('1 job was asked to stop.').waitFor()
    await until(() => aborted.length === 1)
    expect(aborted).toEqual([107])
    // Several are cancelled by one request.
    const requests: string[] = []
    page.on('request', (request) => {
      if (request.method() !== 'GET') requests.push(`${request.method()} ${new URL(request.url()).pathname}`)
    })
    await page.getByLabel('Search all jobs').fill('"customer":11')
    await expect.poll(() => rowsOf(page).count(), SOON).toBe(2)
    for (const customer of ['110', '111']) await row(page, customer).getByRole('checkbox').check()
    await chosen(page).getByRole('button', { name: 'Cancel…' }).click()
    await dialog(page).getByRole('button', { name: 'Cancel 2 jobs' }).click()
    await page.getByText('2 jobs were asked to stop.').waitFor()
    await until(() => aborted.length === 3)
    expect(requests).toEqual([expect.stringMatching(/^POST .*\/api\/v1\/jobs\/cancel$/)])
  })

  test('lists of sets and of a queue lead to the page with their filter', async () => {
    const { page, go } = await open('/dead?class=Mail', { before: furnish })
    await page.getByRole('link', { name: 'More filters' }).click()
    await page.getByRole('heading', { name: 'Jobs', level: 1 }).waitFor()
    expect([params(page).get('state'), params(page).get('class')]).toEqual(['dead', 'Mail'])
    await expect.poll(() => rowsOf(page).count(), SOON).toBe(2)
    await go('/queues/low')
    await page.getByRole('link', { name: 'More filters' }).click()
    await expect.poll(() => rowsOf(page).count(), SOON).toBe(1)
    expect([params(page).get('state'), params(page).get('queue')]).toEqual(['queued', 'low'])
    await row(page, 'Stock').click()
    await drawer(page).getByRole('button', { name: 'Delete…' }).click()
    await dialog(page).getByRole('button', { name: 'Delete 1 job' }).click()
    await page.getByText('Nothing matches').waitFor()
  })

  test('without the right to change nothing can be selected', async () => {
    const { page } = await open('/jobs?state=dead', { before: furnish, http: { readOnly: true } })
    await expect.poll(() => rowsOf(page).count(), SOON).toBe(2)
    expect(await page.getByRole('checkbox').count()).toBe(0)
    expect(await button(page, 'Retry all that match…').count()).toBe(0)
  })
})
