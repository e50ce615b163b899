import { expect, test } from 'vitest'
import { focusRow, inBrowser, namesOfPages } from './browser.ts'

inBrowser('unique locks', (open) => {
  test('locks are shown with the jobs that have them, and released; the job stays', async () => {
    const { page, hq } = await open('/locks')
    await page.getByText('No unique job waits or runs').waitFor()
    const Reindex = hq.job('Reindex', { unique: true }, (_ctx, _customer: number) => {})
    const jid = await Reindex.performAsync(7)
    const later = await Reindex.set({ unique: { for: '2h' } }).performAsync(8)
    await page.reload()
    const rows = page.getByRole('table', { name: 'Unique locks' }).locator('tbody tr')
    const row = rows.filter({ hasText: jid as string })
    await rows.nth(1).waitFor()
    await page.getByLabel('Key or jid').fill(jid as string)
    await expect.poll(() => rows.count()).toBe(1)
    await row.getByRole('link').click()
    const key = (await hq.uniqueLocks.of(Reindex, 7))?.key as string
    await page.getByRole('link', { name: key }).click()
    await row.waitFor()
    expect(await rows.count()).toBe(1)
    await page.getByLabel('Key or jid').fill('nothing')
    await page.getByText('Nothing matches').waitFor()
    await page.getByLabel('Key or jid').fill('')
    await row.getByText('with its job').waitFor()
    await rows
      .filter({ hasText: later as string })
      .locator('time')
      .waitFor()
    expect(await rows.count()).toBe(2)
    const lock = await hq.uniqueLocks.of(Reindex, 7)
    await focusRow(row)
    await page.keyboard.press('r')
    await page.getByText(`Lock ${lock?.key} is released; job ${jid} stays`).waitFor()
    await expect.poll(() => rows.count()).toBe(1)
    expect(await hq.uniqueLocks.of(Reindex, 7)).toBe(null)
    await rows.getByRole('link', { name: later as string }).click()
    await page.getByRole('heading', { name: 'Reindex' }).waitFor()
  })

  test('all locks are shown, page by page', async () => {
    const jids = Array.from({ length: 600 }, (_, n) => `lock:${n}`)
    const { page } = await open('/locks', {
      before: ({ hq }) => hq.pushBulk({ class: 'Once', args: jids.map((jid) => [jid]), jid: jids }),
    })
    const table = page.getByRole('table', { name: 'Unique locks' })
    expect(new Set(await namesOfPages(page, table))).toEqual(new Set(jids))
  })
})
