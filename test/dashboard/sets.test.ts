import type { Highkiq } from 'highkiq'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { gate, until } from '../engine/bench.ts'
import { inBrowser } from './browser.ts'

const MINUTE = 60_000
const SOON = { timeout: 10_000 }
const inMinutes = (n: number) => new Date(Date.now() + n * MINUTE)
const rowsOf = (page: Page) => page.locator('tbody tr')
const row = (page: Page, text: string) => page.locator('tbody tr', { hasText: text })
const drawer = (page: Page) => page.locator('aside.drawer')
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })
const chosen = (page: Page) => page.getByRole('region', { name: 'Selection' })
const params = (page: Page) => new URL(page.url()).searchParams

/** A retry as a worker leaves it. */
function failed(
  hq: Highkiq,
  name: string,
  args: unknown[],
  { error = 'Refused', message = 'no answer', due = 10, queue = 'default' } = {},
) {
  return hq.retries.schedule(inMinutes(due), {
    class: name,
    args,
    queue,
    retry: true,
    retry_count: 2,
    created_at: Date.now() - 9 * MINUTE,
    failed_at: Date.now() - 5 * MINUTE,
    retried_at: Date.now() - MINUTE,
    error_class: error,
    error_message: message,
  })
}

inBrowser('retries, scheduled and dead jobs', (open) => {
  test('a failed job is found and explained, and its worker runs it again', async () => {
    let isMended = false
    const { page, hq, work } = await open('/retries', {
      before: async ({ hq, work }) => {
        hq.job('SyncStock', { backtrace: true }, async () => {
          if (isMended) return
          const error = new RangeError('shelf 9 is too high')
          error.stack +=
            '\n    at chain (/app/node_modules/@acme/chain/index.js:1:2)\n    at run (node:internal/run:3:4)'
          throw error
        })
        await hq.push({ class: 'SyncStock', args: ['FRN-0412', { level: 118 }], tags: ['north'] })
        const worker = await work()
        await until(async () => (await hq.retries.size()) === 1)
        await worker.stop()
      },
    })
    await row(page, 'SyncStock').getByText('shelf 9 is too high').waitFor()
    await row(page, 'SyncStock').click()
    const { jid } = (await hq.retries.page()).items[0] as { jid: string }
    expect(params(page).get('job')).toBe(jid)
    await drawer(page).getByText('RangeError').first().waitFor()
    await drawer(page).getByText('Retry 1 of 25').waitFor()
    // The most attempts are the first one and the retries.
    await page.locator('tbody tr', { hasText: '1 of 26' }).waitFor({ state: 'attached' })
    // The frames of the app are shown, and those of packages are folded until the viewer opens them.
    expect(await drawer(page).locator('.trace .own').first().textContent()).toContain('sets.test.ts')
    // In a checkout whose folder is highkiq these frames are folded, too.
    await page.getByRole('button', { name: /^\d+ frames of (highkiq, )?@acme\/chain, Node\.js$/ }).click()
    await drawer(page).getByText('chain (/app/node_modules/@acme/chain/index.js:1:2)').waitFor()
    expect(await drawer(page).locator('.well').first().textContent()).toBe('["FRN-0412", {"level": 118}]')
    await drawer(page).getByText('Failed', { exact: false }).first().waitFor()

    isMended = true
    await page.keyboard.press('r')
    await page.getByText('1 job went to its queue.').waitFor()
    expect((await hq.queue('default').page()).items.map((job) => job.jid)).toEqual([jid])
    await page.getByText('No retries').waitFor()
    await work()
    await until(async () => (await hq.stats()).processed === 2)
    expect(await hq.retries.size()).toBe(0)
  })

  test('a toast does not cover the buttons of the drawer, and a refusal has no check mark', async () => {
    const { page, hq } = await open('/retries', {
      before: async ({ hq }) => {
        for (let n = 0; n < 2; n++) await failed(hq, 'SyncStock', [n])
      },
    })
    // The page has no clipboard, as over plain HTTP from another machine; here the browser would ask for permission.
    await page.evaluate(`Object.defineProperty(Navigator.prototype, 'clipboard', { value: undefined })`)
    await rowsOf(page).first().click()
    await page.route('**/retries/retry', async (route) => {
      await hq.retries.clear()
      await route.continue()
    })
    for (const width of [1280, 1000, 390]) {
      await page.setViewportSize({ width, height: 800 })
      await drawer(page).getByRole('button', { name: /^Copy/ }).first().click()
      const toast = page.locator('.toast', { hasText: 'Copied' })
      await toast.waitFor()
      const [box, buttons] = [await toast.boundingBox(), await drawer(page).locator('footer').boundingBox()]
      if (!box || !buttons) throw new Error('the toast or the drawer is gone')
      const isBeside = box.x + box.width <= buttons.x || box.y + box.height <= buttons.y
      expect(isBeside, `${width} px wide`).toBe(true)
    }
    await page.setViewportSize({ width: 1280, height: 800 })
    await page.keyboard.press('Escape')
    await drawer(page).waitFor({ state: 'detached' })
    await rowsOf(page).first().getByRole('checkbox').check()
    await chosen(page).getByRole('button', { name: 'Retry now' }).click()
    await page.locator('.toast.refusal').waitFor()
  })

  test('an action on all jobs tells in the language of the page why jobs stay', async () => {
    const { page } = await open('/dead', {
      locale: 'ru-RU',
      before: ({ hq }) => {
        const entries = Array.from(
          { length: 60 },
          (_, n) => ({ to: 'dead', text: `{"args":[${n}]}`, score: n }) as const,
        )
        return hq.store.jobs.push(entries, Date.now())
      },
    })
    await page.locator('thead').getByRole('checkbox').check()
    await button(page, 'Выбрать все 60').click()
    await button(page, 'Повторить сейчас').click()
    await page.getByRole('dialog').getByRole('button', { name: 'Повторить 60 заданий' }).click()
    await page.locator('.toast.refusal').getByText('Его нельзя прочитать, и оно не может выполниться').waitFor()
  })

  test('errors, search and filters narrow the list, and an action applies to all matching jobs', async () => {
    const { page, hq } = await open('/retries', {
      before: async ({ hq }) => {
        for (let n = 0; n < 60; n++)
          await failed(hq, 'SyncStock', [n], { message: `no answer from 10.0.0.${n}`, due: 10 + n })
        for (let n = 0; n < 3; n++) await failed(hq, 'SendReceipt', [`mail-${n}`], { error: 'Bounced', queue: 'mail' })
      },
    })
    await expect.poll(() => rowsOf(page).count(), SOON).toBe(50)
    await page.getByText('1–50 of 63').waitFor()
    await page.getByText('60 share one error').waitFor()

    // The pages of the list, and the opposite order.
    await button(page, 'Next page').click()
    await expect.poll(() => rowsOf(page).count(), SOON).toBe(13)
    await button(page, 'Previous page').click()
    await expect.poll(() => rowsOf(page).count(), SOON).toBe(50)
    await button(page, 'Next run').click()
    await expect.poll(() => rowsOf(page).first().textContent(), SOON).toContain('[59]')
    expect(params(page).get('desc')).toBe('true')

    await page.locator('.grp', { hasText: 'Bounced' }).click()
    await expect.poll(() => rowsOf(page).count(), SOON).toBe(3)
    await button(page, 'Remove the filter error').click()
    await page.getByLabel('Search the retries').fill('mail-1')
    await expect.poll(() => rowsOf(page).count(), SOON).toBe(1)
    await page.getByLabel('Search the retries').fill('')
    await button(page, 'queue').click()
    await page.getByLabel('queue', { exact: true }).fill('mail')
    await page.keyboard.press('Enter')
    await expect.poll(() => rowsOf(page).count(), SOON).toBe(3)
    await page.reload()
    await expect.poll(() => rowsOf(page).count(), SOON).toBe(3)
    await button(page, 'Remove the filter queue').click()
    await button(page, 'class').click()
    await page.getByLabel('class', { exact: true }).fill('NoSuch')
    await page.keyboard.press('Enter')
    await page.getByText('63 are outside of this filter.').waitFor()
    await button(page, 'Clear filters').click()

    // An action on more jobs than the page shows names their number, and changes no others.
    await page.locator('.grp', { hasText: 'Refused' }).click()
    await expect.poll(() => rowsOf(page).count(), SOON).toBe(50)
    await page.getByLabel('Select all on this page').check()
    await chosen(page).getByText('50 selected').waitFor()
    await button(page, 'Select all 60 that match').click()
    await chosen(page).getByRole('button', { name: 'Retry now' }).click()
    await page.getByRole('dialog').getByText('Refused: no answer from …').waitFor()
    await page.getByRole('dialog').getByText('They have 60 different messages.').waitFor()
    await button(page, 'Retry 60 jobs').click()
    await page.getByText('60 jobs went to their queues.').waitFor()
    expect([await hq.retries.size(), await hq.queue('default').size()]).toEqual([3, 60])
    await page.getByText('Nothing matches').waitFor()
  })

  test('selected jobs are rescheduled, moved back, killed and deleted, also by keys', async () => {
    const { page, hq, faults } = await open('/retries', {
      before: async ({ hq }) => {
        for (let n = 0; n < 6; n++) await failed(hq, 'SyncStock', [`sku-${n}`], { due: 10 + n })
      },
    })
    const dues = async () => (await hq.retries.page({ desc: false })).items.map(({ score }) => score)
    const before = await dues()
    await row(page, 'sku-0').getByRole('checkbox').check()
    await row(page, 'sku-1').getByRole('checkbox').check()
    await button(page, 'Later…').click()
    await button(page, 'in 1 hr').click()
    await page.getByText('2 jobs run at another time.').waitFor()
    await expect.poll(() => rowsOf(page).first().textContent(), SOON).toContain('sku-2')
    const later = (await dues()).filter((due) => due > Date.now() / 1000 + 59 * 60)
    expect(later).toHaveLength(2)
    await page.keyboard.press('z')
    await page.getByText('2 jobs run when they would have.').waitFor()
    expect(await dues()).toEqual(before)

    // Keys select and delete a job. The question names it, and its safe answer changes nothing.
    await expect.poll(() => rowsOf(page).first().textContent(), SOON).toContain('sku-0')
    await page.keyboard.press('j')
    await page.keyboard.press('x')
    await page.keyboard.press('Shift+D')
    await page.getByRole('dialog').getByText('SyncStock in default').waitFor()
    await button(page, 'Keep it').click()
    expect(await hq.retries.size()).toBe(6)
    await page.keyboard.press('Shift+D')
    await button(page, 'Delete 1 retry').click()
    await page.getByText('1 job deleted.').waitFor()
    expect(await hq.retries.size()).toBe(5)

    // The drawer acts on one job after another.
    await row(page, 'sku-1').getByRole('link').click()
    await drawer(page).getByText('["sku-1"]').waitFor()
    await page.keyboard.press('ArrowDown')
    await drawer(page).getByText('["sku-2"]').waitFor()
    await drawer(page).getByRole('button', { name: 'Previous' }).click()
    await drawer(page).getByText('["sku-1"]').waitFor()
    await drawer(page).getByRole('button', { name: 'Kill' }).click()
    await page.getByText('1 job is dead now.').waitFor()
    await drawer(page).getByText('["sku-2"]').waitFor()
    expect((await hq.dead.page()).items.map(({ args }) => args)).toEqual([['sku-1']])
    // When another person was faster, the drawer says so, and where to look.
    await hq.retries.deleteAll()
    await drawer(page).getByText('No longer here').waitFor()
    expect(faults.splice(0)).toEqual(Array(2).fill(expect.stringContaining('404')))
    await page.keyboard.press('Escape')
    await page.getByRole('link', { name: 'See 1 dead job' }).click()

    await row(page, 'sku-1').click()
    await drawer(page).getByText('dead', { exact: true }).waitFor()
    await drawer(page).getByRole('button', { name: 'Retry now' }).click()
    await page.getByText('No dead jobs').waitFor()
    expect((await hq.queue('default').page()).items.map(({ args }) => args)).toEqual([['sku-1']])
  })

  test('neither a double click nor a key that is held down acts on the job that the drawer shows next', async () => {
    const { page, hq } = await open('/retries', {
      before: async ({ hq }) => {
        for (let n = 0; n < 4; n++) await failed(hq, 'SyncStock', [`sku-${n}`], { due: 10 + n })
      },
    })
    const sent = () => page.evaluate('window.sent')
    await page.evaluate(`window.sent = 0
      const send = fetch
      window.fetch = (...all) => {
        if (all[1]?.method === 'POST') window.sent++
        return send(...all)
      }`)
    await row(page, 'sku-0').click()
    await drawer(page).getByText('["sku-0"]').waitFor()
    const retry = drawer(page).getByRole('button', { name: 'Retry now' })
    const { x, y } = (await retry.boundingBox()) as { x: number; y: number }
    await page.mouse.click(x + 5, y + 5)
    await drawer(page).getByText('["sku-1"]').waitFor()
    await retry.waitFor()
    await page.mouse.down({ clickCount: 2 })
    await page.mouse.up({ clickCount: 2 })
    expect(await sent()).toBe(1)
    await page.keyboard.down('r')
    await drawer(page).getByText('["sku-2"]').waitFor()
    await retry.waitFor()
    await page.keyboard.down('r')
    expect(await sent()).toBe(2)
    await page.keyboard.up('r')
    await page.keyboard.press('r')
    await drawer(page).getByText('["sku-3"]').waitFor()
    expect((await hq.retries.page()).items.map(({ args }) => args)).toEqual([['sku-3']])
  })

  test('times are those of the server, also in a browser whose clock is wrong', async () => {
    const { page, go } = await open('/retries', {
      before: async ({ hq, clock }) => {
        await failed(hq, 'SyncStock', ['sku-0'], { due: 30.9 })
        const record = { concurrency: 1, busy: 9, beat: clock.now() - 50_000, quiet: false, rss: 1 }
        await hq.store.workers.heartbeat({ identity: 'lost', info: '{"queues":[]}', ...record }, 600)
      },
    })
    await page.addInitScript('const now = Date.now; Date.now = () => now() + 10_800_000')
    await page.reload()
    const due = row(page, 'sku-0').locator('time').first()
    await expect.poll(() => due.textContent(), SOON).toBe('in 30 min')
    await page.locator('main').getByText('the next runs').waitFor()
    await go('/')
    const silent = page.locator('ul.att li', { hasText: 'is silent' })
    await expect.poll(() => silent.textContent(), SOON).toMatch(/return (now|in \d+ sec)/)
    // So are those of a filter, which an action applies to.
    await go('/jobs')
    await button(page, 'since').click()
    await page.getByLabel('since', { exact: true }).fill('2h')
    await page.keyboard.press('Enter')
    await expect.poll(() => params(page).get('from')).not.toBe(null)
    const ago = Date.now() - Date.parse(params(page).get('from') ?? '')
    expect(Math.abs(ago - 120 * MINUTE)).toBeLessThan(MINUTE)
  })

  test('a rescheduled job that has moved since is not moved back', async () => {
    const { page, hq } = await open('/retries', {
      before: async ({ hq }) => void (await failed(hq, 'SyncStock', ['sku-0'])),
    })
    await row(page, 'sku-0').getByRole('checkbox').check()
    await button(page, 'Later…').click()
    await button(page, 'in 1 hr').click()
    await page.getByText('1 job runs at another time.').waitFor()
    // As if a worker ran it, and it failed once more.
    const [entry] = (await hq.retries.page()).items
    await entry?.reschedule(inMinutes(90))
    const score = async () => (await hq.retries.page()).items.map((one) => one.score)
    const then = await score()
    await page.keyboard.press('z')
    await page.getByText('1 stayed as it was').waitFor()
    expect(await score()).toEqual(then)
  })

  test('scheduled jobs are rescheduled to a day and run now; an action on all of them can be stopped', async () => {
    const held = gate()
    let isHeld = false
    const { page, hq } = await open('/scheduled', {
      before: async ({ hq }) => {
        hq.client.use(async ({ args }, next) => {
          if (isHeld && args[0] === 60) await held.opened
          return next()
        })
        const args = Array.from({ length: 250 }, (_, n) => [n])
        await hq.pushBulk({ class: 'SendNews', args, at: args.map((_, n) => Date.now() / 1000 + 3600 + n) })
      },
    })
    await page.getByText('1–50 of 250').waitFor()
    await row(page, '[0]').getByRole('link').click()
    await drawer(page).getByRole('button', { name: 'Reschedule…' }).click()
    await page.getByLabel('At a time').fill('2031-02-03T04:05')
    await button(page, 'Reschedule').click()
    await page.getByText('1 job runs at another time.').waitFor()
    await drawer(page)
      .getByText(/runs in \d+ yrs?|runs in \d,\d+ days/)
      .waitFor()
    const [last] = (await hq.scheduled.page({ limit: 1 })).items
    expect([last?.args, last?.at.toISOString()]).toEqual([[0], '2031-02-03T04:05:00.000Z'])
    await row(page, '[1]').getByRole('link').click()
    await drawer(page).getByRole('button', { name: 'Add to queue' }).click()
    await page.getByText('1 job went to its queue.').waitFor()
    expect((await hq.queue('default').page()).items.map(({ args }) => args)).toEqual([[1]])

    // The second hundred jobs wait halfway.
    isHeld = true
    await page.keyboard.press('Escape')
    await button(page, 'Add all to queue…').click()
    await button(page, 'Add 249 jobs to their queues').click()
    await button(page, 'Stop').click()
    await page.getByText(/Stopped: \d+ w/).waitFor()
    isHeld = false
    held.open()
    await expect.poll(() => hq.scheduled.size(), SOON).toBe(49)
    await page.getByText('1–49 of 49').waitFor()
    expect(await hq.queue('default').size()).toBe(201)

    await button(page, 'More actions').click()
    await page.getByRole('menuitem', { name: 'Delete all…' }).click()
    await button(page, 'Delete 49 scheduled jobs').click()
    await page.getByText('No job is scheduled').waitFor()
    expect(await hq.scheduled.size()).toBe(0)
  })

  test('an action on all says how many it did before it failed or its answer broke off', async () => {
    const { page } = await open('/dead', {
      before: async ({ hq }) => void (await hq.dead.schedule(new Date(), { class: 'Mail', args: [1] })),
    })
    const error = { code: 'STORE_TIMEOUT', error: 'the store did not answer' }
    const retryAll = async (line: object) => {
      await page.route('**/dead/all/retry', (route) =>
        route.fulfill({ contentType: 'application/x-ndjson', body: `${JSON.stringify({ refused: 0, ...line })}\n` }),
      )
      await button(page, 'Retry all…').click()
      await button(page, 'Retry 1 job').click()
    }
    await retryAll({ done: 3, ended: true, ...error })
    await page
      .getByText('3 jobs went to their queues. The action failed: The store did not answer in time: Try again.')
      .waitFor()
    await retryAll({ done: 2, ended: false })
    await page.getByText('The action failed: the answer broke off after 2 jobs').waitFor()
  })

  test('the page says why it has no groups of errors', async () => {
    const { page, go, faults } = await open('/nowhere', {
      before: async ({ hq }) => void (await hq.dead.schedule(new Date(), { class: 'Mail', args: [1] })),
    })
    const error = { code: 'STORE_TIMEOUT', message: 'the store did not answer' }
    await page.route('**/dead/errors*', (route) => route.fulfill({ status: 503, json: { error } }))
    await go('/dead')
    await row(page, 'Mail').waitFor()
    await page.getByRole('alert').getByText('The store did not answer in time').waitFor()
    await page.unroute('**/dead/errors*')
    await page.getByRole('button', { name: 'Try now' }).click()
    await page.getByRole('alert').waitFor({ state: 'detached' })
    expect(faults.splice(0).filter((fault) => !fault.includes('503'))).toEqual([])
  })

  test('a read-only page offers no action', async () => {
    const { page, hq, go } = await open('/retries', {
      http: { readOnly: true },
      before: ({ hq }) => failed(hq, 'SyncStock', ['sku-1']),
    })
    await row(page, 'sku-1').click()
    await drawer(page).getByText('["sku-1"]').waitFor()
    const acts = page.getByRole('button', { name: /Retry|Kill|Delete|Later|More actions/ })
    expect([await acts.count(), await page.getByRole('checkbox').count()]).toEqual([0, 0])
    await go(`/jobs/${(await hq.retries.page()).items[0]?.jid}`)
    await page.locator('h1 .pill').waitFor()
    expect(await acts.count()).toBe(0)
  })

  test('a hostile job is shown as text and runs no script', async () => {
    const bad = '<img src=x onerror="document.title=1">\u202egnp.exe\u0007'
    const { page, hq } = await open('/retries', {
      before: async ({ hq }) => {
        const text = JSON.stringify({
          jid: '<svg onload=alert(1)>/..?#',
          class: `${bad}${'W'.repeat(5000)}`,
          args: [bad, 'long '.repeat(200_000), { [bad]: '12345678901234567890' }],
          queue: `q${bad}`,
          tags: [bad, 'y'.repeat(2000)],
          retry_count: 0,
          failed_at: Date.now(),
          error_class: bad,
          error_message: `${bad}\nsecond line ${'m'.repeat(9000)}`,
        })
        await hq.retries.schedule(inMinutes(5), text)
        await hq.retries.schedule(inMinutes(6), text.replace('second line', 'the same again'))
        const garbage = {
          to: 'retry',
          text: '{"class": [1, <b>no job</b>',
          score: inMinutes(7).getTime() / 1000,
        } as const
        await hq.store.jobs.push([garbage], Date.now())
      },
      viewport: { width: 390, height: 844 },
    })
    await expect.poll(() => rowsOf(page).count(), SOON).toBe(3)
    await fits(page)
    await rowsOf(page).first().getByRole('link').click()
    await drawer(page).locator('.err', { hasText: 'second line' }).waitFor()
    await drawer(page).getByText('\\u202egnp.exe\\u0007').first().waitFor()
    await fits(page)
    for (const name of ['Retry now', 'Later…', 'Kill', 'Delete…'])
      await inSight(page, drawer(page).getByRole('button', { name }))
    await button(page, 'Show all 1MB').click()
    await drawer(page).getByText('12345678901234567890').waitFor()
    expect(await page.locator('img').count()).toBe(0)
    await button(page, 'Close').click()

    // Two jobs have the same jid, and each action applies to the chosen one. The last entry is not a job, and has no jid.
    await rowsOf(page).last().getByRole('link').click()
    await drawer(page).getByRole('button', { name: 'Delete…' }).click()
    await button(page, 'Delete 1 retry').click()
    await page.getByText('1 job deleted.').waitFor()
    await drawer(page).locator('.err', { hasText: 'the same again' }).waitFor()
    await drawer(page).getByRole('button', { name: 'Delete…' }).click()
    await button(page, 'Delete 1 retry').click()
    await page.getByText('1 job deleted.').waitFor()
    expect((await hq.retries.page()).items.map(({ errorMessage }) => errorMessage)).toEqual([
      expect.stringContaining('second line'),
    ])
  })
})

async function fits(page: Page): Promise<void> {
  expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBe(0)
}

async function inSight(page: Page, what: ReturnType<Page['getByRole']>): Promise<void> {
  const box = await what.boundingBox()
  const { width, height } = page.viewportSize() as { width: number; height: number }
  expect(box && box.x >= 0 && box.y >= 0 && box.x + box.width <= width && box.y + box.height <= height).toBe(true)
}
