import { expect, test } from 'vitest'
import { Collector } from '../engine/bench.ts'
import { inBrowser } from './browser.ts'

inBrowser('cron', (open) => {
  test('cron entries are shown, run now, paused and resumed', async () => {
    const ran = new Collector<unknown[]>()
    const t = await open('/cron', {
      before: ({ hq }) => {
        const Report = hq.job('Report', async (_ctx, ...args: unknown[]) => ran.add(args))
        hq.cron('nightly', '30 3 * * *', Report, { args: ['shop'], timeZone: 'Europe/Berlin' })
        hq.cron(
          'careful',
          '0 4 * * *',
          hq.job('Careful', async () => {}),
          { overlap: 'skip', queue: 'nobody' } as never,
        )
      },
    })
    const { hq, page, faults } = t
    await page.getByText('No cron entry').waitFor()
    // A worker stores the entries when it starts.
    await t.work({ queues: ['default'] })
    const nightly = page.locator('tbody tr', { hasText: 'nightly' })
    await nightly.getByText('["shop"]').waitFor()
    await nightly.getByText('Europe/Berlin').last().waitFor()
    const info = async () => await hq.cron('nightly').info()
    expect((await info())?.nextAt).not.toBe(null)

    await nightly.getByRole('button', { name: 'Pause' }).click()
    await page.getByText('nightly is paused; it stays paused after deploys').waitFor()
    await nightly.getByText('paused', { exact: true }).waitFor()
    expect(await info()).toMatchObject({ paused: true, nextAt: null })
    // Also while it is paused, and once by a double click.
    await nightly.getByRole('button', { name: 'Run now' }).dblclick()
    await page.getByText('nightly runs now').waitFor()
    expect(await ran.atLeast(1)).toEqual([['shop']])
    await nightly.getByRole('button', { name: 'Resume' }).click()
    await page.getByText('nightly is resumed from now on').waitFor()
    expect(await info()).toMatchObject({ paused: false, nextAt: expect.any(Date) })

    // An entry without overlap is refused while its last job waits. A link leads to that job.
    const careful = page.locator('tbody tr', { hasText: 'careful' })
    await page.getByLabel('Entry or job').fill('report')
    await careful.waitFor({ state: 'detached' })
    await nightly.waitFor()
    await page.getByLabel('Entry or job').fill('CARE')
    await nightly.waitFor({ state: 'detached' })
    await careful.getByRole('button', { name: 'Run now' }).click()
    await page.getByText('careful runs now').waitFor()
    await page.getByLabel('Entry or job').fill('')
    await nightly.waitFor()
    await careful.getByRole('button', { name: 'Run now' }).click()
    await page.getByText(/The action failed: The last run has not ended: Its job is [0-9a-f]+/).waitFor()
    expect(faults.splice(0).every((fault) => fault.includes('409'))).toBe(true)
    expect(await hq.queue('nobody').size()).toBe(1)
    const { lastJid } = (await hq.cron('careful').info()) ?? {}
    await careful.getByRole('link').last().click()
    await page.getByRole('heading', { name: 'Careful' }).waitFor()
    expect(new URL(page.url()).pathname).toBe(`/jobs/${lastJid}`)
    await page.goBack()

    // An entry opens with its next five ticks and its last runs.
    await nightly.getByText('succeeded').waitFor()
    await nightly.getByRole('link', { name: 'nightly' }).click()
    const drawer = page.getByRole('complementary', { name: 'nightly' })
    await expect.poll(() => drawer.locator('.ticks li').count()).toBe(5)
    const runs = drawer.getByRole('table', { name: 'Last runs' }).locator('tbody tr')
    expect(await runs.count()).toBe(1)
    expect(await runs.first().textContent()).toMatch(/run by hand.*succeeded.*s$/)
    expect(new URL(page.url()).search).toBe('?entry=nightly')
    await page.keyboard.press('Escape')
    await drawer.waitFor({ state: 'detached' })
    await careful.getByText('waiting').waitFor()
  })

  test('hostile names and arguments are shown as text, and every action can be reached, also on a phone', async () => {
    const evil = '<img src=x onerror="throw 1">/50%?#\u202e'
    const { hq, page } = await open('/cron', {
      viewport: { width: 390, height: 844 },
      before: async ({ hq }) => {
        const Job = hq.job(evil, async (_ctx, _what: string, _more: string) => {})
        await hq.cron(evil, '0 3 * * *', Job, { args: [`${evil}\u0007`, 'x'.repeat(50_000)] }).resume()
      },
    })
    const row = page.locator('tbody tr', { hasText: 'onerror' })
    await row.getByText('\\u202e\\u0007', { exact: false }).first().waitFor()
    const widest = `Math.max(...[...document.querySelectorAll('main button')].map((one) => one.getBoundingClientRect().right))`
    expect(await page.evaluate(widest)).toBeLessThanOrEqual(390)
    await row.getByRole('button', { name: 'Pause' }).click()
    await row.getByText('paused', { exact: true }).waitFor()
    expect((await hq.cron(evil).info())?.paused).toBe(true)
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
    expect(await page.locator('img').count()).toBe(0)
  })
})
