import { BusinessFailure } from 'highkiq'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { Collector, gate, until } from '../engine/bench.ts'
import { inBrowser } from './browser.ts'

const tile = (page: Page, name: string) =>
  page.locator('.stat', { has: page.getByText(name, { exact: true }) }).locator('.v')

inBrowser('overview', (open) => {
  test('figures update while a worker runs, and link to their pages', async () => {
    const doors = gate()
    const begun = new Collector<void>()
    const t = await open('/', {
      before: async ({ hq, clock }) => {
        hq.job('Quick', async () => {})
        hq.job('Slow', async () => {
          begun.add()
          await doors.opened
        })
        hq.job('Broken', { retry: 5, retryIn: () => 3600 }, async () => {
          throw new Error('no')
        })
        const Row = hq.job('Row', async () => {})
        await hq.pushBulk({ class: 'Quick', args: [[], [], []] })
        await hq.push({ class: 'Broken', args: [] })
        await hq.push({ class: 'Slow', args: [], queue: 'slow' })
        await hq.tasks.create(Row, [[], []], { name: 'Spring sale', queue: 'slow' } as never)
        await hq.dead.schedule(clock.now() / 1000, {
          class: 'Gone',
          args: [1],
          error_class: 'Error',
          error_message: 'no',
        })
      },
    })
    const { page } = t
    await page.getByText('No worker is running').waitFor()
    await page.getByText('7 jobs wait. Start one: highkiq work -r ./jobs.ts').waitFor()
    const figures = () =>
      Promise.all(['Enqueued', 'Retries', 'Dead'].map((name) => tile(page, name).first().textContent()))
    expect(await figures()).toEqual(['7', '0', '1'])

    // The queue of the slow job has one slot.
    const queues = page.locator('section', { has: page.getByRole('heading', { name: 'Queues' }) })
    await queues.getByRole('link', { name: 'slow' }).waitFor()
    await t.work({ concurrency: 3, capsules: { slow: { concurrency: 1, queues: ['slow'] } } } as never)
    await begun.atLeast(1)
    await expect.poll(figures).toEqual(['2', '1', '1'])
    await page.getByText('No worker is running').waitFor({ state: 'detached' })
    await page.getByText('No problem found').waitFor()
    await expect.poll(() => tile(page, 'Busy').first().textContent()).toMatch(/of 4$/)
    await page.getByText('3 in total').waitFor()
    const task = page.getByRole('link', { name: 'Spring sale' })
    await task.waitFor()
    doors.open()
    await expect.poll(figures).toEqual(['0', '1', '1'])
    await page.locator('tr', { has: task }).getByText('100%').waitFor()

    // The address has the range.
    await page.getByRole('link', { name: '24 hours' }).click()
    await page
      .getByRole('img', { name: /Finished jobs per second/ })
      .locator('canvas')
      .waitFor()
    expect(new URL(page.url()).search).toBe('?range=24h')
    await page
      .getByRole('img', { name: /per day over 30 days/ })
      .locator('canvas')
      .waitFor()
    for (const [name, title] of [
      ['Retries', 'Retries'],
      ['Dead', 'Dead'],
      ['Busy', 'Busy'],
      ['Enqueued', 'Queues'],
      ['Errors', 'Metrics'],
    ] as const) {
      await page.locator('.stats').getByRole('link', { name }).click()
      await page.getByRole('heading', { level: 1, name: title }).waitFor()
      await page.goBack()
      await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
    }
    await task.click()
    await page.getByRole('heading', { level: 1, name: 'Spring sale' }).waitFor()
  })

  test('trends and growth are of the chosen range, and waits are bars of one scale', async () => {
    const minute = Math.floor(Date.now() / 60_000) * 60_000
    const t = await open('/?range=1h', {
      before: async ({ hq, raw }) => {
        const waits = (queue: string, seconds: number) =>
          raw(
            JSON.stringify({ class: 'W', args: [], jid: queue, queue, enqueued_at: Date.now() - seconds * 1000 }),
            queue,
          )
        await waits('old', 700)
        await waits('slow', 100)
        await waits('quick', 1)
        const dead = { class: 'Gone', args: [1], error_class: 'Error', error_message: 'no' }
        await hq.dead.schedule(Date.now() / 1000, dead)
        const figures = { busy: 0, enqueued: 3, backlog: 0, retries: 0, dead: 0, processed: 0, failed: 0, ordered: {} }
        for (const ago of [30, 20]) {
          const at = minute - ago * 60_000
          await hq.store.metrics.recordSnapshot(at, JSON.stringify({ ...figures, takenAt: at }))
        }
      },
    })
    const { page } = t
    const sub = page.locator('.stat', { has: page.getByText('Dead', { exact: true }) }).locator('.sub')
    await expect.poll(() => sub.textContent()).toMatch(/^\+1 since \d\d:\d\d$/)
    await page.getByText(/^0 since /).waitFor()
    const spark = page.locator('.stat', { has: page.getByText('Enqueued', { exact: true }) }).locator('svg.spark')
    await expect.poll(() => spark.count()).toBe(1)
    await page.getByRole('link', { name: '5 min' }).click()
    await page.getByText('0 in total').waitFor()
    await expect.poll(() => spark.count()).toBe(0)

    const bar = (queue: string) => page.locator('tr', { hasText: queue }).locator('.meter')
    await expect.poll(() => bar('old').getAttribute('class')).toBe('meter error')
    expect(await bar('slow').getAttribute('class')).toBe('meter failed')
    expect(await bar('quick').getAttribute('class')).toBe('meter finished')
    expect(await bar('old').getAttribute('title')).toMatch(
      /^Scale from 1\s?s to 1 hr; amber from 1 min, red from 10 min$/,
    )
  })

  test('days are named as they are counted, in UTC, also in another time zone', async () => {
    const { page, hq } = await open('/', { timezoneId: 'America/New_York' })
    const chart = page.getByRole('img', { name: /^Finished jobs and failed ones per day/ })
    const over = chart.locator('.u-over')
    await over.scrollIntoViewIfNeeded()
    const { x, y, width } = (await over.boundingBox()) ?? { x: 0, y: 0, width: 0 }
    await page.mouse.move(x + width - 3, y + 20)
    const today = new Date(hq.now()).toLocaleDateString('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' })
    await expect.poll(() => chart.locator('.readout > *').first().textContent()).toBe(today)
  })

  test('an alert shows its cause and links to the page that fixes it', async () => {
    const evil = '<img src=x onerror="throw 1">/50%?#\u202e'
    const t = await open('/nowhere', {
      before: async ({ hq, work, another, raw, clock }) => {
        hq.job('Broken', { retry: 5, retryIn: () => 3600 }, async (_ctx, n: number) => {
          throw new Error(n < 22 ? `${evil} ${n + 100_000}` : 'another')
        })
        const Row = hq.job('Row', async () => {
          throw new BusinessFailure('no')
        })
        const Ordered = hq.ordered('Stock', { shards: 1 }, async () => {})
        await hq.pushBulk({ class: 'Broken', args: Array.from({ length: 24 }, (_, n) => [n]) })
        const task = await hq.tasks.create(Row, [[], []], { name: evil, maxFailures: 0, concurrency: 1 })
        const worker = await work()
        await expect.poll(() => hq.retries.size()).toBe(24)
        await until(async () => (await task.status())?.state === 'paused')
        await worker.stop()
        // The next worker does not define this queue.
        await Ordered.performAsync([{ id: 1, payload: {}, performAt: clock.now() / 1000 - 60 }])
        await another().work()
        const record = { concurrency: 1, busy: 9, beat: clock.now() - 50_000, quiet: false, rss: 1 }
        await hq.store.workers.heartbeat(
          { identity: evil, info: JSON.stringify({ hostname: 'x', queues: [] }), ...record },
          60,
        )
        await raw(JSON.stringify({ class: 'Waits', args: [], jid: 'waits', queue: evil }), evil)
      },
    })
    const { page, hq, go } = t
    await go('/')
    const entries = page.locator('ul.att li')
    await entries.filter({ hasText: '22 retries share one error' }).waitFor()
    const lead = async (to: string) => {
      await go('/')
      await entries.filter({ hasText: to }).getByRole('link').click()
    }
    await lead('22 retries share one error')
    await page.getByRole('heading', { level: 1, name: 'Retries' }).waitFor()
    await expect.poll(() => page.getByRole('table', { name: 'Retries' }).locator('tbody tr').count()).toBe(22)
    await lead('No process serves queue')
    await page.getByRole('heading', { level: 1, name: /onerror/ }).waitFor()
    await page.getByRole('button', { name: 'Clear…' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete 1 job' }).click()
    await expect.poll(() => hq.queue(evil).size()).toBe(0)
    await lead('is paused')
    await page.getByRole('heading', { level: 1, name: /onerror/ }).waitFor()
    await page.getByRole('button', { name: 'Resume' }).waitFor()
    await lead('is silent')
    await page.getByRole('heading', { level: 1, name: 'Busy' }).waitFor()
    await page.locator('tr', { hasText: 'onerror' }).getByText('silent').waitFor()
    await lead('Shard 0 of Stock has no owner')
    await page.getByRole('heading', { level: 1, name: 'Stock' }).waitFor()
    // A problem that is fixed is no longer listed.
    await go('/')
    await entries.filter({ hasText: 'is silent' }).waitFor()
    await expect.poll(() => entries.filter({ hasText: 'No process serves' }).count()).toBe(0)
    expect(await page.locator('img').count()).toBe(0)
  })
})
