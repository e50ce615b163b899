import { expect, test } from 'vitest'
import { inBrowser } from './browser.ts'

inBrowser('events', (open) => {
  test('events of jobs come live, newest first, filtered by kind, class and queue; a pause misses none', async () => {
    const { page, hq, work } = await open('/events')
    await page.getByText('No event yet').waitFor()
    const Mail = hq.job('Mail', async (_ctx, _n: number) => {})
    hq.job('Broken', { retry: 1 }, async () => {
      throw new TypeError('no such address')
    })
    const rows = page.getByRole('table', { name: 'Events' }).locator('tbody tr')
    const kinds = () => rows.locator('.pill').allTextContents()
    await Mail.performAsync(1)
    await expect.poll(kinds).toEqual(['pushed'])
    await page.getByRole('button', { name: 'Pause' }).click()
    await page.getByText('paused', { exact: true }).waitFor()
    await work()
    await expect.poll(async () => (await hq.stats()).processed).toBe(1)
    expect(await kinds()).toEqual(['pushed'])
    await page.getByRole('button', { name: 'Continue' }).click()
    await expect.poll(kinds).toEqual(['succeeded', 'started', 'pushed'])

    await page.getByRole('combobox', { name: 'Event' }).selectOption('failed')
    await page.getByText('No event yet').waitFor()
    expect(new URL(page.url()).search).toBe('?kind=failed')
    await Mail.performAsync(2)
    await hq.push({ class: 'Broken', args: [] })
    await expect.poll(kinds).toEqual(['failed'])
    await rows.getByText('TypeError: no such address').waitFor()

    await page.getByRole('combobox', { name: 'Event' }).selectOption('All events')
    await page.getByRole('button', { name: 'queue' }).click()
    await page.getByLabel('queue').fill('slow')
    await page.keyboard.press('Enter')
    await page.getByText('No event yet').waitFor()
    await Mail.performAsync(3)
    await Mail.set({ queue: 'slow', jid: 'in-slow' }).performAsync(4)
    await expect.poll(kinds).toEqual(['pushed'])
    await rows.getByText('in-slow').waitFor()
    await page.getByRole('button', { name: 'Remove the filter queue' }).click()
    await page.getByRole('button', { name: 'class' }).click()
    await page.getByLabel('class').fill('Broken')
    await page.keyboard.press('Enter')
    await page.getByText('No event yet').waitFor()
    await Mail.performAsync(5)
    await hq.push({ class: 'Broken', args: [], jid: 'broken-2' } as never)
    await expect.poll(kinds).toEqual(['retried', 'failed', 'started', 'pushed'])
    await rows.filter({ hasText: 'retried' }).locator('td:nth-child(3) time').waitFor()
    await rows.first().getByRole('link', { name: 'Broken' }).click()
    await page.getByRole('heading', { level: 1, name: 'Broken' }).waitFor()
    expect(page.url()).toContain('broken-2')
  })

  test('a list that was left for another filter begins again, since events have passed meanwhile', async () => {
    const { page, hq } = await open('/events')
    await page.getByText('No event yet').waitFor()
    const Mail = hq.job('Mail', async (_ctx, _n: number) => {})
    const rows = page.getByRole('table', { name: 'Events' }).locator('tbody tr')
    await Mail.performAsync(1)
    await expect.poll(() => rows.count()).toBe(1)
    // The stream of the other filter never opens.
    const asked = page.waitForRequest(/kinds=failed/)
    await page.route(/kinds=failed/, () => {})
    await page.getByRole('combobox', { name: 'Event' }).selectOption('failed')
    await asked
    await Mail.performAsync(2)
    await page.getByRole('combobox', { name: 'Event' }).selectOption('All events')
    await page.getByText('No event yet').waitFor()
    await Mail.set({ jid: 'afterwards' }).performAsync(3)
    await rows.getByText('afterwards').waitFor()
    expect(await rows.count()).toBe(1)
  })

  test('the page says why its stream is refused, and opens it again', async () => {
    const { page, go, faults } = await open('/')
    const error = {
      code: 'TOO_MANY_REQUESTS',
      message: '1000 streams are open',
      details: { problem: 'open', limit: 1000 },
    }
    await page.route('**/api/v1/events', (route) => route.fulfill({ status: 429, json: { error } }))
    await go('/events')
    await page.getByRole('alert').getByText('1,000 are open at the same time').waitFor()
    // So it does when an open stream ends with an error.
    const trouble = JSON.stringify({ code: 'STORE_TIMEOUT', message: 'the store did not answer' })
    await page.route('**/api/v1/events', (route) =>
      route.fulfill({ contentType: 'text/event-stream', body: `event: trouble\ndata: ${trouble}\n\n` }),
    )
    await page.getByRole('alert').getByText('The store did not answer in time').waitFor()
    await page.unroute('**/api/v1/events')
    await page.getByText('No event yet').waitFor()
    expect(await page.getByRole('alert').count()).toBe(0)
    expect(faults.splice(0).every((fault) => fault.includes('429'))).toBe(true)
  })

  test('a list whose next events are gone begins again, without a hole', async () => {
    const { page, hq } = await open('/events')
    await page.getByText('No event yet').waitFor()
    const Mail = hq.job('Mail', async (_ctx, _n: number) => {})
    const rows = page.getByRole('table', { name: 'Events' }).locator('tbody tr')
    await Mail.performAsync(1)
    await expect.poll(() => rows.count()).toBe(1)
    await page.getByRole('button', { name: 'Pause' }).click()
    await page.getByText('paused', { exact: true }).waitFor()
    // Far more events than the store keeps from now on.
    await hq.store.events.record(1, hq.now())
    await hq.pushBulk({ class: 'Mail', args: Array.from({ length: 5000 }, (_, n) => [n]) })
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByText('No event yet').waitFor()
    await Mail.set({ jid: 'after-the-gap' }).performAsync(2)
    await rows.getByText('after-the-gap').waitFor()
    expect(await rows.count()).toBe(1)
  })
})
