import { expect, test } from 'vitest'
import { until } from '../engine/bench.ts'
import { inBrowser, namesOfPages } from './browser.ts'

inBrowser('batches', (open) => {
  test('the page of a batch shows its counts, callbacks and open jobs, leads to the batches in it, and cancels it', async () => {
    let bid = ''
    let inner = ''
    let flow = ''
    const { hq, page } = await open('/batches', {
      before: async ({ hq }) => {
        const Work = hq.job('Work', (_ctx, _n: number) => {})
        const Report = hq.job('Report', () => {})
        bid = await hq.batch(
          { onSuccess: Report, onComplete: Report, description: 'nightly <b>import</b>' },
          async () => {
            await Work.performIn(3600, 1)
            inner = await hq.batch({ description: 'second step' }, () => Work.performIn(3600, 2))
            flow = (await hq.flow({ job: Work, args: [3], children: [{ job: Work, args: [4] }] }))?.bid ?? ''
          },
        )
      },
    })
    await page.getByRole('link', { name: 'nightly <b>import</b>' }).click()
    await page.getByRole('heading', { name: 'nightly <b>import</b>' }).waitFor()
    expect(new URL(page.url()).pathname).toBe(`/batches/${bid}`)
    const callbacks = page.getByRole('table', { name: 'Callbacks' })
    expect(await callbacks.locator('tbody tr').allInnerTexts()).toEqual([
      expect.stringMatching(/onSuccess\s+Report\s+–/),
      expect.stringMatching(/onComplete\s+Report\s+–/),
    ])
    const members = page.getByRole('table', { name: 'Open jobs' })
    await members.getByText('waiting', { exact: true }).first().waitFor()
    expect(await members.locator('tbody tr').count()).toBe(3)
    const parent = members.locator('tr', { hasText: 'waits for its children' }).getByRole('link')
    expect(await parent.getAttribute('href')).toBe(`/batches/${flow}`)
    await members.getByRole('link', { name: inner }).click()
    await page.getByRole('heading', { name: 'second step' }).waitFor()
    await page.getByRole('link', { name: 'in another batch' }).click()
    await page.getByRole('heading', { name: 'nightly <b>import</b>' }).waitFor()

    await page.keyboard.press('Shift+D')
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel the batch' }).click()
    await page.getByText(`The pending jobs of batch ${bid} are cancelled`).waitFor()
    await page.getByText('No job is open').waitFor()
    await page.getByRole('heading', { name: /failed/ }).waitFor()
    expect(await page.getByRole('button', { name: 'Cancel' }).count()).toBe(0)
    const pushed = callbacks.locator('tr', { hasText: 'onComplete' }).getByRole('link', { name: 'Report' })
    await pushed.click()
    await page.getByRole('heading', { name: 'Report' }).waitFor()
    expect(await hq.scheduled.size()).toBe(0)
  })

  test('the batch of a flow leads to the parent that waits, which is cancelled with its children', async () => {
    let bid = ''
    const { hq, page } = await open('/batches', {
      before: async ({ hq }) => {
        const Work = hq.job('Work', (_ctx, _n: number) => {})
        bid = (await hq.flow({ job: Work, args: [3], children: [{ job: Work, args: [4] }] }))?.bid ?? ''
      },
    })
    await page.getByRole('link', { name: 'Work' }).click()
    await page.getByRole('link', { name: 'a job waits for it' }).click()
    await page.getByText('waits for its children').first().waitFor()
    await page.getByRole('button', { name: 'Cancel…' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('The job is dropped, and its children are cancelled.').waitFor()
    await dialog.getByRole('button', { name: 'Cancel the job' }).click()
    await page.getByText('Cancelled: it does not run.').waitFor()
    expect(await hq.batches.get(bid)).toMatchObject({ state: 'failed', waiting: null })
    expect(await hq.queue('default').size()).toBe(0)
  })

  test('all batches are shown, page by page, newest first', async () => {
    const names = Array.from({ length: 200 }, (_, n) => `batch ${n}`)
    const { page } = await open('/batches', {
      before: async ({ hq }) => {
        for (const description of names) await hq.batch({ description }, () => hq.push({ class: 'Work', args: [] }))
      },
    })
    const shown = await namesOfPages(page, page.getByRole('table', { name: 'Batches' }))
    expect(new Set(shown)).toEqual(new Set(names))
    expect(shown).toHaveLength(names.length)
    await page.getByRole('button', { name: 'Previous page' }).click()
    await page.getByRole('link', { name: 'batch 199', exact: true }).waitFor()
  })

  test('the list shows only the batches in the chosen state', async () => {
    const { page, hq } = await open('/batches', {
      before: async ({ hq, work }) => {
        hq.job('Work', { retry: 0 }, (_ctx, doesFail: boolean) => {
          if (doesFail) throw new Error('no')
        })
        for (const description of ['broken', 'fine']) {
          await hq.batch({ description }, () => hq.push({ class: 'Work', args: [description === 'broken'] }))
        }
        await work()
      },
    })
    await until(async () => (await hq.batches.page({ state: 'running' })).items.length === 0)
    const names = page.getByRole('table', { name: 'Batches' }).locator('tbody tr a')
    await page.getByLabel('State').selectOption('dead')
    await expect.poll(() => names.allInnerTexts()).toEqual(['broken'])
    await page.getByLabel('State').selectOption('failed')
    await page.getByText('Nothing matches').waitFor()
    await page.getByLabel('State').selectOption('All states')
    await expect.poll(() => names.count()).toBe(2)
  })

  test('batches are found by a part of their description', async () => {
    const { page } = await open('/batches', {
      before: async ({ hq }) => {
        for (const description of ['nightly import', 'nightly report', 'letters'])
          await hq.batch({ description }, () => {})
      },
    })
    const names = page.getByRole('table', { name: 'Batches' }).locator('tbody tr a')
    await expect.poll(() => names.count()).toBe(3)
    await page.getByPlaceholder('Search descriptions').fill('IMPORT')
    await expect.poll(() => names.allInnerTexts()).toEqual(['nightly import'])
    await page.getByLabel('State').selectOption('failed')
    await page.getByText('Nothing matches').waitFor()
    expect(new URL(page.url()).search).toBe('?search=IMPORT&state=failed')
  })

  test('an unknown batch has a page that says so', async () => {
    const { page, faults } = await open(`/batches/${'0'.repeat(16)}`)
    await page.getByText('This batch does not exist any more').waitFor()
    expect(faults.splice(0).every((fault) => fault.includes('404'))).toBe(true)
  })
})
