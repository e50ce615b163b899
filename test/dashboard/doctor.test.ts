import { expect, test } from 'vitest'
import { until } from '../engine/bench.ts'
import { inBrowser } from './browser.ts'

inBrowser('the doctor', (open) => {
  test('the page shows the worst findings first, links them to their pages, and examines them again', async () => {
    const { page, faults } = await open('/doctor', {
      before: ({ hq }) => hq.push({ class: 'Send', args: [1], queue: 'mail' }),
    })
    await page.getByRole('heading', { name: 'Doctor' }).getByText('errors').waitFor()
    const rows = page.getByRole('table', { name: 'Doctor' }).locator('tbody tr')
    const unserved = rows.filter({ hasText: 'no worker serves the queue mail, where 1 job waits' })
    await unserved.getByText('Start one: highkiq work -q mail').waitFor()
    await unserved.getByText('Queues without a worker').waitFor()
    const severities = (await rows.locator('td:first-child').allInnerTexts()).map((text) => text.trim())
    const order = ['error', 'warning', 'ok']
    expect(severities).toEqual(severities.toSorted((a, b) => order.indexOf(a) - order.indexOf(b)))
    const okRows = rows.filter({ has: page.locator('td:first-child').getByText('ok', { exact: true }) })
    expect(await okRows.getByRole('link').count()).toBe(0)

    await unserved.getByRole('link', { name: 'Show' }).click()
    await page.getByRole('button', { name: 'Pause' }).click()
    await page.getByText('mail is paused').waitFor()
    await page.goBack()
    const paused = rows.filter({ hasText: 'the queue mail is paused, and 1 job waits' })
    const again = page.getByRole('button', { name: 'Examine again' })
    // The server reuses the findings for five seconds.
    await until(async () => {
      await again.click()
      return (await paused.count()) === 1
    })
    expect(await unserved.count()).toBe(0)
    await page.route('**/diagnosis', (route) => route.fulfill({ status: 500, json: {} }), { times: 1 })
    await again.click()
    await page.getByRole('alert').waitFor()
    await again.click()
    await page.getByRole('alert').waitFor({ state: 'detached' })
    await paused.waitFor()
    expect(faults.splice(0).every((fault) => fault.includes('500'))).toBe(true)
  })

  test('each check has a name in the language of the page', async () => {
    const { page } = await open('/doctor', { locale: 'ru-RU' })
    const rows = page.getByRole('main').locator('tbody tr')
    await rows.filter({ hasText: 'Хранилище' }).first().waitFor()
    const names = await rows.locator('b.b').allInnerTexts()
    expect(names.filter((name) => !/[а-я]/.test(name))).toEqual([])
    expect(names.length).toBeGreaterThan(12)
  })
})
