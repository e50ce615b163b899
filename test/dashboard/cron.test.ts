import { expect, test } from 'vitest'
import { Heard } from '../engine/bench.ts'
import { inBrowser } from './browser.ts'

inBrowser('cron', (open) => {
  test('cron entries are shown, run now, paused and resumed', async () => {
    const ran = new Heard<unknown[]>()
    const t = await open('/cron', {
      before: ({ hq }) => {
        const Report = hq.job('Report', async (_ctx, ...args: unknown[]) => ran.say(args))
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
    // A worker that starts enters them.
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
    // Also while it is paused.
    await nightly.getByRole('button', { name: 'Run now' }).click()
    await page.getByText('nightly runs now').waitFor()
    expect(await ran.atLeast(1)).toEqual([['shop']])
    await nightly.getByRole('button', { name: 'Resume' }).click()
    await page.getByText('nightly is resumed from now on').waitFor()
    expect(await info()).toMatchObject({ paused: false, nextAt: expect.any(Date) })

    // What may not run twice at a time is refused while it waits; its last run is a job to look at.
    const careful = page.locator('tbody tr', { hasText: 'careful' })
    await careful.getByRole('button', { name: 'Run now' }).click()
    await page.getByText('careful runs now').waitFor()
    await careful.getByRole('button', { name: 'Run now' }).click()
    await page.getByText(/The action failed: cron careful/).waitFor()
    expect(faults.splice(0).every((fault) => fault.includes('409'))).toBe(true)
    expect(await hq.queue('nobody').size()).toBe(1)
    const { lastJid } = (await hq.cron('careful').info()) ?? {}
    await careful.getByRole('link').click()
    await page.getByRole('heading', { name: 'Careful' }).waitFor()
    expect(new URL(page.url()).pathname).toBe(`/jobs/${lastJid}`)
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
