/** Frequent tasks of an operator, each begun on the overview and done within a number of clicks. */

import { BusinessFailure } from 'highkiq'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { gate } from '../engine/bench.ts'
import { inBrowser } from './browser.ts'
import { countingClicks } from './clicking.ts'

const SOON = { timeout: 10_000 }
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })

inBrowser('clicks', (open) => {
  test('a search and three clicks find the job that failed for a customer, show why, and retry it', async () => {
    const { page, hq } = await open('/', {
      before: async ({ hq }) => {
        const failure = { error_class: 'Refused', failed_at: Date.now(), retry_count: 0 }
        for (let customer = 4700; customer < 4720; customer++) {
          const job = {
            class: 'Charge',
            args: [{ customer }],
            ...failure,
            error_message: `card of ${customer} declined`,
          }
          await hq.dead.schedule(new Date(), job)
        }
      },
    })
    const clicks = await countingClicks(page)
    await button(page, 'Search or jump to a jid Ctrl K').click()
    await page.getByRole('dialog').getByRole('searchbox').fill('customer = 4711')
    await page.keyboard.press('Enter')
    await expect.poll(() => page.locator('tbody tr').count(), SOON).toBe(1)
    await page.locator('tbody tr').click()
    await page.locator('aside.drawer .err').getByText('card of 4711 declined').waitFor()
    await page.locator('aside.drawer').getByRole('button', { name: 'Retry now' }).click()
    await page.getByText('1 job went to its queue.').waitFor()
    expect(await clicks()).toBeLessThanOrEqual(3)
    expect((await hq.queue('default').page()).items.map(({ args }) => args)).toEqual([[{ customer: 4711 }]])
  })

  test('a search and three clicks find the rejected row of a customer, show why, and retry it', async () => {
    let isFixed = false
    const { page, hq } = await open('/', {
      before: async ({ hq, work }) => {
        const job = hq.job('ImportOrder', async (_ctx, { customer }: { customer: number }) => {
          if (customer === 4711 && !isFixed) throw new BusinessFailure('no such box')
        })
        const rows = [4710, 4711].map((customer): [{ customer: number }] => [{ customer }])
        const task = await hq.tasks.create(job, rows, { name: 'Orders' })
        await work()
        await task.wait({ every: 10 })
        isFixed = true
      },
    })
    const clicks = await countingClicks(page)
    await button(page, 'Search or jump to a jid Ctrl K').click()
    await page.getByRole('dialog').getByRole('searchbox').fill('customer = 4711')
    await page.keyboard.press('Enter')
    await expect.poll(() => page.locator('tbody tr').count(), SOON).toBe(1)
    await page.locator('tbody tr').getByText('no such box').click()
    await page.getByRole('heading', { name: 'ImportOrder' }).waitFor()
    await page.getByText('no such box').waitFor()
    await button(page, 'Retry now').click()
    await page.getByText('1 job went to its queue.').waitFor()
    expect(await clicks()).toBeLessThanOrEqual(3)
    const task = hq.tasks.get((await hq.tasks.list()).items[0]?.id ?? '')
    await task.wait({ every: 10 })
    expect(await task.status()).toMatchObject({ run: 2, counts: { finished: 2 } })
  })

  test('a dead id of an ordered queue is found by its payload, and resurrected', async () => {
    const { page, hq } = await open('/', {
      before: async ({ hq }) => {
        const { ordered } = hq.store
        await ordered.define('Sync', 1)
        const push = { id: '7', payload: '{"customer":4711}', score: 1, performIn: 4e9 }
        await ordered.push('Sync', 1, [push], Date.now())
        await ordered.act('Sync', 'kill', ['7'], { error: 'card declined', now: Date.now() })
      },
    })
    await button(page, 'Search or jump to a jid Ctrl K').click()
    await page.getByRole('dialog').getByRole('searchbox').fill('customer = 4711')
    await page.keyboard.press('Enter')
    await expect.poll(() => page.locator('tbody tr').count(), SOON).toBe(1)
    await page.locator('tbody tr').getByRole('checkbox').check()
    await page.getByRole('region', { name: 'Selection' }).getByRole('button', { name: 'Retry now' }).click()
    await page.getByText('1 job went to its queue.').waitFor()
    expect(await hq.store.ordered.morgue('Sync', 'id', { limit: 10 })).toEqual([])
    await page.locator('tbody tr').getByText('Sync').first().click()
    await page.locator('aside.drawer').getByText('card declined').waitFor()
  })

  test('two clicks pause a task, one more lowers its concurrent rows, and one resumes it', async () => {
    const { page, hq } = await open('/')
    const job = hq.job('ImportProduct', async (_ctx, _n: number) => {})
    const rows = Array.from({ length: 50 }, (_, n): [number] => [n])
    const task = await hq.tasks.create(job, rows, { name: 'Runaway', concurrency: 20 })
    const state = async () => (await task.status())?.state
    const clicks = await countingClicks(page)
    await page.getByRole('link', { name: 'Runaway' }).click()
    await button(page, 'Pause').click()
    await page.getByText('Paused: no further row starts').waitFor()
    expect(await state()).toBe('paused')
    expect(await clicks()).toBeLessThanOrEqual(2)
    await page.getByRole('group', { name: 'Concurrent rows' }).getByRole('button', { name: 'Less' }).click()
    await expect.poll(async () => (await task.status())?.window).toBe(10)
    expect(await clicks()).toBe(1)
    await button(page, 'Resume').click()
    await page.getByText('The task is resumed', { exact: true }).waitFor()
    expect(await state()).toBe('running')
    expect(await clicks()).toBe(1)
  })

  test('two quick clicks lower the concurrent rows of a task by two steps', async () => {
    const { page, hq, go } = await open('/')
    const job = hq.job('ImportProduct', async (_ctx, _n: number) => {})
    const task = await hq.tasks.create(job, [[1]], { concurrency: 20 })
    await go(`/tasks/${task.id}`)
    const rows = page.getByRole('group', { name: 'Concurrent rows' })
    const sending = gate()
    await page.route(`**/api/v1/tasks/${task.id}`, async (route) => {
      if (route.request().method() === 'PATCH') await sending.opened
      await route.continue()
    })
    await rows.getByRole('button', { name: 'Less' }).click()
    await rows.getByRole('button', { name: 'Less' }).click()
    await rows.getByText('5', { exact: true }).waitFor()
    sending.open()
    await expect.poll(async () => (await task.status())?.window).toBe(5)
  })

  test('two clicks show why a queue is slow: its classes, since when, its processes, and its longest job', async () => {
    const { page } = await open('/', {
      before: async ({ hq, clock }) => {
        await hq.pushBulk({ class: 'Resize', args: Array.from({ length: 30 }, (_, n) => [n]), queue: 'images' })
        const job = { class: 'Resize', args: ['huge.tiff'], queue: 'images', jid: 'long' }
        const info = JSON.stringify({ hostname: 'web', queues: ['images'], highkiq: '0.2.0' })
        const record = { identity: 'web:1:a', info, concurrency: 5, busy: 1, beat: clock.now(), quiet: false, rss: 1 }
        const running = [{ slot: 'a', queue: 'images', text: JSON.stringify(job), startedAt: clock.now() - 600_000 }]
        await hq.store.workers.heartbeat(record, 60, running)
      },
    })
    const clicks = await countingClicks(page)
    await page.locator('main').getByRole('link', { name: 'images', exact: true }).first().click()
    const classes = page.getByRole('table', { name: 'What is in it' }).locator('tbody tr')
    await expect.poll(() => classes.allTextContents(), SOON).toEqual([expect.stringMatching(/^Resize30/)])
    await page.getByRole('table', { name: 'Served by' }).getByText('web:1:a').waitFor()
    await page.getByRole('table', { name: 'Runs longest' }).getByText('huge.tiff').waitFor()
    expect(await clicks()).toBeLessThanOrEqual(2)
  })

  test('a filter and three clicks cancel one of 5,000 running jobs', async () => {
    const { page } = await open('/', {
      before: async ({ hq, clock }) => {
        for (let n = 0; n < 50; n++) {
          const running = Array.from({ length: 100 }, (_, i) => {
            const id = n * 100 + i
            const text = JSON.stringify({ class: 'Send', args: [{ customer: id }], queue: 'mail', jid: `jid-${id}` })
            return { slot: `s${i}`, queue: 'mail', text, startedAt: clock.now() - id }
          })
          const info = JSON.stringify({ queues: ['mail'], version: '8' })
          const record = { identity: `web-${n}:1:a`, info, concurrency: 100, busy: 100, quiet: false, rss: 1 }
          await hq.store.workers.heartbeat({ ...record, beat: clock.now() }, 600, running)
        }
      },
    })
    const clicks = await countingClicks(page)
    await page.getByRole('navigation', { name: 'Pages' }).first().getByRole('link', { name: /^Busy/ }).click()
    await page.getByText('1–50 of 5,000').waitFor()
    await page.getByLabel('Class, jid or argument').fill('"customer":4711')
    const running = page.getByRole('table', { name: 'Running now' }).locator('tbody tr')
    await expect.poll(() => running.count(), SOON).toBe(1)
    const cancelled = page.waitForResponse((answer) => answer.request().method() === 'DELETE')
    await running.getByRole('button', { name: 'Cancel…' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel the job' }).click()
    await page.getByText('jid-4711 is asked to stop').waitFor()
    expect(await clicks()).toBeLessThanOrEqual(3)
    expect(await (await cancelled).json()).toMatchObject({ jid: 'jid-4711' })
  })
})
