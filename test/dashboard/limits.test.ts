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

  test('a queue whose jobs wait for room in a limit is not called empty', async () => {
    const doors = gate()
    const { page } = await open('/queues/images', {
      before: async ({ hq, work }) => {
        const Describe = hq.job(
          'Describe',
          { queue: 'images', limit: { concurrency: 1 } },
          async (_ctx, _n: number) => {
            await doors.opened
          },
        )
        await Describe.performBulk([[1], [2], [3]])
        await work({ queues: ['images'], concurrency: 4 })
        await until(async () => (await hq.stats()).limited === 2)
      },
    })
    const tile = page.locator('.stat').filter({ hasText: 'Size' })
    await expect
      .poll(() => tile.locator('.sub').innerText())
      .toBe('2 wait for room in their limits\nno task has a backlog for it')
    expect(await page.getByText('The queue is empty').count()).toBe(0)
    expect(await page.getByText('No job is waiting').count()).toBe(0)
    await page.getByText('Its jobs wait for room in a limit').first().waitFor()
    await page.getByRole('link', { name: 'See 2 jobs' }).first().click()
    await expect.poll(() => page.getByRole('table', { name: 'Jobs' }).locator('tbody tr').count()).toBe(2)
    doors.open()
  })

  test('a limit of a queue is set on its page, and changed and reset on that of limits', async () => {
    const { page, hq } = await open('/queues/mail', {
      before: async ({ hq }) => {
        await hq.push({ class: 'Mail', args: [], queue: 'mail' })
      },
    })
    await page.getByText('All slots of its workers may run jobs of this queue').waitFor()
    await page.getByRole('button', { name: 'Set a limit…' }).click()
    const dialog = page.getByRole('dialog', { name: 'Limit of queue mail' })
    await dialog.getByLabel('Jobs at the same time').fill('5')
    await dialog.getByRole('button', { name: 'Change' }).click()
    await page.getByText('0 of 5 · set here').waitFor()
    expect((await hq.limits.list())[0]?.set).toEqual({ concurrency: 5, rate: null, per: null, burst: null })

    await page.getByRole('link', { name: 'queue mail' }).click()
    const row = page.getByRole('table', { name: 'Limits' }).getByRole('row', { name: /queue mail/ })
    await row.getByRole('button', { name: 'Change…' }).click()
    expect(await dialog.getByLabel('Jobs at the same time').inputValue()).toBe('5')
    await dialog.getByLabel('Jobs at the same time').fill('')
    await dialog.getByLabel('Starts', { exact: true }).fill('100')
    await dialog.getByRole('button', { name: 'Change' }).click()
    await row.getByText('100 in 1 min').waitFor()
    // The link of the page of the queue led to this limit alone.
    await hq.limits.set('app', { concurrency: 300 })
    await page.reload()
    await row.waitFor()
    expect(await page.getByRole('table', { name: 'Limits' }).locator('tbody tr').count()).toBe(1)
    await hq.limits.reset('app')
    await page.getByRole('button', { name: 'Remove the filter Limit' }).click()
    expect((await hq.limits.list())[0]?.set).toEqual({ concurrency: null, rate: 100, per: 60, burst: null })
    await row.getByRole('button', { name: 'Reset' }).click()
    await page.getByText('No limit in use').waitFor()

    await page.getByRole('button', { name: 'Limit all jobs…' }).click()
    const app = page.getByRole('dialog', { name: 'Limit of all jobs' })
    await app.getByLabel('Jobs at the same time').fill('200')
    await app.getByRole('button', { name: 'Change' }).click()
    await page.getByRole('row', { name: /all jobs.*200/ }).waitFor()
    expect((await hq.limits.list()).map(({ id }) => id)).toEqual(['app'])
  })

  test('a number that another person sets while the question is open stays', async () => {
    const { page, hq } = await open('/limits', {
      before: async ({ hq }) => hq.limits.set('queue:mail', { concurrency: 5 }),
    })
    await page.getByRole('button', { name: 'Change…' }).click()
    const dialog = page.getByRole('dialog', { name: 'Limit of queue mail' })
    await hq.limits.set('queue:mail', { rate: 7, per: 30 })
    await dialog.getByLabel('Jobs at the same time').fill('6')
    await dialog.getByRole('button', { name: 'Change' }).click()
    await page.getByRole('row', { name: /queue mail.*6.*7 in 30 s/ }).waitFor()
    expect((await hq.limits.list())[0]?.set).toEqual({ concurrency: 6, rate: 7, per: 30, burst: null })
  })
})
