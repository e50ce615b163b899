import { expect, test } from 'vitest'
import { gate, until } from '../engine/bench.ts'
import { inBrowser } from './browser.ts'

inBrowser('limits', (open) => {
  test('limits in use are shown with their keys, and how many jobs run and wait', async () => {
    const doors = gate()
    const { page, hq } = await open('/limits', {
      before: async ({ hq, work }) => {
        const limit = { concurrency: 1, rate: 1, per: '1h', by: (customer: string) => customer }
        const Export = hq.job('Export', { limit }, async (_ctx, _customer: string) => {
          await doors.opened
        })
        await Export.performBulk([['ann'], ['ann'], ['ann'], ['bob']])
        await work({ concurrency: 4 })
        await until(async () => (await hq.stats()).limited === 2)
      },
    })
    const rows = page.getByRole('table', { name: 'Limits' }).locator('tbody tr')
    await rows.first().waitFor()
    const cells = async (i: number) => (await rows.nth(i).locator('td').allTextContents()).map((text) => text.trim())
    expect((await cells(0)).slice(0, 4)).toEqual(['job Exportann', '1 of 1', '1 in 1 hr', '2'])
    expect((await cells(1)).slice(0, 4)).toEqual(['job Exportbob', '1 of 1', '1 in 1 hr', '0'])
    expect((await cells(0))[4]).toMatch(/^in \d/)
    await page.getByRole('link', { name: 'Limits' }).getByText('2', { exact: true }).waitFor()
    doors.open()
    await until(async () => (await hq.stats()).busy === 0)
    await expect.poll(() => rows.count()).toBe(1)
  })
})
