import { expect, test } from 'vitest'
import { Child, Collector, gate } from '../engine/bench.ts'
import { focusRow, inBrowser } from './browser.ts'

inBrowser('busy', (open) => {
  test('running jobs are shown with progress and cancelled; processes are quieted, traced and stopped', async () => {
    const begun = new Collector<string>()
    const ended = new Collector<unknown>()
    const reports = gate()
    const t = await open('/busy', {
      before: ({ hq }) => {
        hq.job('Slow', { retry: 5 }, async (ctx, n: number) => {
          begun.add(ctx.jid)
          await reports.opened
          ctx.progress(n, 10, 'on the way')
          await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve))
          ended.add(ctx.signal.reason.code)
          throw ctx.signal.reason
        })
      },
    })
    const { hq, page } = t
    await page.getByText('No worker is running').waitFor()
    await page.getByText('No job is running', { exact: true }).waitFor()

    // The page shows a worker inside another program, but can't quiet or stop it.
    const jid = (await hq.push({ class: 'Slow', args: [3] })) as string
    const worker = await t.work({ concurrency: 4 })
    await begun.atLeast(1)
    // The store knows the number of running jobs before the process reports the jobs.
    await page.getByText('Not reported yet').waitFor()
    reports.open()
    await worker.quiet()
    const processes = page.getByRole('table', { name: 'Processes' }).locator('tbody tr')
    const own = processes.filter({ hasText: worker.identity })
    await own.getByText('part of another program').waitFor()
    expect(await own.getByRole('button').allTextContents()).toEqual(['Slots…'])
    await own.getByText('1 of 4').waitFor()
    const running = page.getByRole('table', { name: 'Running now' }).locator('tbody tr')
    await running.locator('.done-cell').getByText('3 of 10').waitFor()
    await running.locator('.done-cell').getByText('on the way').waitFor()

    // A cancelled job ends and does not run again.
    await focusRow(running)
    await page.keyboard.press('Shift+D')
    await page.getByRole('button', { name: 'Keep running' }).click()
    expect(ended.all).toEqual([])
    await running.getByRole('button', { name: 'Cancel…' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel the job' }).click()
    await page.getByText(`${jid} is asked to stop`).waitFor()
    expect(await ended.atLeast(1)).toEqual(['JOB_CANCELLED'])
    await t.settled()
    expect([await hq.retries.size(), await hq.dead.size(), await hq.queue('default').size()]).toEqual([0, 0, 0])

    // A Sidekiq process gets the signal with its next heartbeat.
    const ruby = { identity: 'web-1:77:abc', concurrency: 5, busy: 2, quiet: false, rss: 204_800 }
    const info = { hostname: 'web-1', pid: 77, queues: ['mail'], labels: ['blue'], tag: 'shop', version: '8.0' }
    const beat = (more = {}) =>
      hq.store.workers.heartbeat(
        { ...ruby, beat: Date.now(), info: JSON.stringify({ ...info, started_at: 1 }), ...more },
        60,
      )
    await beat()
    const other = processes.filter({ hasText: 'web-1:77:abc' })
    await other.getByText('Sidekiq 8.0').waitFor()
    await other.getByRole('button', { name: 'Trace' }).click()
    await page.getByText('web-1:77:abc writes what it runs into its log').waitFor()
    expect((await beat()).signal).toBe('TTIN')
    await other.getByRole('button', { name: 'Quiet' }).click()
    await page.getByText('web-1:77:abc fetches no more jobs').waitFor()
    expect((await beat({ quiet: true })).signal).toBe('TSTP')
    await other.getByText('quiet', { exact: true }).waitFor()
    expect(await other.getByRole('button', { name: 'Quiet' }).isDisabled()).toBe(true)

    expect(await other.getByRole('button', { name: 'Slots…' }).count()).toBe(0)

    // A Highkiq process gets more slots with its next heartbeat.
    const child = new Child(t.another().url)
    await child.waitFor('heartbeat')
    const ours = processes.filter({ has: page.getByText(`:${child.process.pid}:`) })
    await ours.getByRole('button', { name: 'Slots…' }).click()
    await page.getByLabel('Jobs at the same time in the capsule default').fill('25')
    await page.getByRole('dialog').getByRole('button', { name: 'Change the slots' }).click()
    await page.getByText('changes its slots at its next heartbeat').waitFor()
    await ours.getByText('0 of 25').waitFor()

    // The process stops once the question is answered.
    await ours.getByRole('button', { name: 'Stop…' }).click()
    await page.getByRole('button', { name: 'Keep running' }).click()
    await ours.getByRole('button', { name: 'Stop…' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Stop it' }).click()
    await page.getByText('is stopping').waitFor()
    // This signal makes it send a heartbeat at once.
    child.kill('SIGTSTP')
    expect(await child.exited).toEqual({ code: 0, signal: null })
    await ours.waitFor({ state: 'detached' })
  })

  test('slots for jobs and slots for ordered batches are two numbers', async () => {
    const { page, go } = await open('/busy', {
      before: async ({ hq, work }) => {
        hq.ordered('Sync', async () => {})
        await work({ concurrency: 4, orderedConcurrency: 2 })
      },
    })
    const slots = page.getByTitle('jobs + batches of ordered queues at the same time')
    await expect.poll(() => slots.allTextContents()).toEqual(['4 + 2 slots', 'of 4 + 2'])
    await go('/')
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
    await expect.poll(() => slots.allTextContents()).toEqual(['4 + 2 slots', 'of 4 + 2'])
  })

  test('the details of a process show its whole name', async () => {
    const identity = 'imports-worker-7f9c6d5b4-x2x9k.jobs.svc.cluster.local:12345:0123456789ab'
    const { page } = await open('/busy', {
      before: ({ hq }) => {
        const info = {
          hostname: 'imports',
          queues: ['a', 'b'],
          labels: ['blue', 'eu-central-1'],
          tag: 'shop',
          version: '8',
        }
        const record = { identity, info: JSON.stringify(info), concurrency: 5, busy: 0, quiet: false, rss: 204_800 }
        const job = { slot: 'a', queue: 'a', text: '{"class":"Import","jid":"a"}', startedAt: Date.now() }
        return hq.store.workers.heartbeat({ ...record, beat: Date.now() }, 60, [job])
      },
    })
    const name = page.getByRole('table', { name: 'Processes' }).getByText(identity, { exact: true })
    await name.waitFor()
    const names = `[...document.querySelectorAll('bdi')].filter((one) => one.textContent === ${JSON.stringify(identity)})`
    await page.getByRole('table', { name: 'Running now' }).getByText(identity, { exact: true }).waitFor()
    expect(await page.evaluate(`${names}.map((one) => getComputedStyle(one).overflow)`)).toEqual(['visible', 'visible'])
    // It breaks into lines, not into letters, and labels are as wide as their text, also on a phone.
    for (const width of [1280, 390]) {
      await page.setViewportSize({ width, height: 900 })
      expect(await page.evaluate(`Math.max(...${names}.map((one) => one.offsetHeight))`)).toBeLessThanOrEqual(100)
      const tag = await page.getByText('blue', { exact: true }).locator('..').boundingBox()
      expect(tag?.width).toBeLessThan(60)
    }
  })

  test('one of many running jobs is found by filters and cancelled; of many processes the silent ones come first', async () => {
    const { page } = await open('/busy', {
      before: async ({ hq, clock }) => {
        const now = clock.now()
        for (let n = 0; n < 60; n++) {
          const running = Array.from({ length: 10 }, (_, i) => {
            const id = n * 10 + i
            const job = {
              class: id % 100 ? 'Send' : 'Export',
              args: [id],
              queue: 'mail',
              jid: `jid-${id}`,
              tags: [`t${n}`],
            }
            return { slot: `s${i}`, queue: 'mail', text: JSON.stringify(job), startedAt: now - id * 1000 }
          })
          const identity = `web-${String(n).padStart(2, '0')}:1:a`
          const info = JSON.stringify({ queues: ['mail'], labels: [`rack-${n % 5}`], tag: 'shop', version: '8' })
          const record = { identity, info, concurrency: 10, busy: 10, quiet: false, rss: 1 }
          await hq.store.workers.heartbeat({ ...record, beat: n === 59 ? now - 40_000 : now }, 600, running)
        }
      },
    })
    const processes = page.getByRole('table', { name: 'Processes' }).locator('tbody tr')
    const running = page.getByRole('table', { name: 'Running now' }).locator('tbody tr')
    await expect.poll(() => processes.count()).toBe(10)
    expect(await processes.first().textContent()).toContain('web-59:1:a')
    await processes.first().getByText('rack-4').waitFor()
    // The running jobs are below the processes, one click away.
    const filter = page.getByPlaceholder('Class, jid or argument')
    const isSeen = async () => {
      const [box, { height }] = [await filter.boundingBox(), page.viewportSize() ?? { height: 0 }]
      return box !== null && box.y > 0 && box.y + box.height < height
    }
    await page.getByText('1–50 of 600').waitFor()
    expect(await isSeen()).toBe(false)
    await page.getByRole('link', { name: 'Running now' }).click()
    await expect.poll(isSeen).toBe(true)
    await page.getByRole('button', { name: 'Show all 60 processes' }).click()
    await expect.poll(() => processes.count()).toBe(60)
    await page.getByLabel('Process, label or queue').fill('rack-3')
    await expect.poll(() => processes.count()).toBe(12)

    // The longest come first, fifty on a page.
    await page.getByText('1–50 of 600').waitFor()
    expect(await running.first().textContent()).toContain('jid-599')
    await page.getByRole('button', { name: 'Next page' }).click()
    await page.getByText('51–100 of 600').waitFor()
    await page.getByRole('button', { name: 'Previous page' }).click()

    await page.getByRole('button', { name: 'class', exact: true }).click()
    await page.getByLabel('class', { exact: true }).fill('Export')
    await page.keyboard.press('Enter')
    await expect.poll(() => running.count()).toBe(6)
    await page.getByRole('button', { name: 'running for' }).click()
    await page.getByLabel('running for').fill('soon')
    await page.keyboard.press('Enter')
    expect(await running.count()).toBe(6)
    await page.getByLabel('running for').fill('8m')
    await page.keyboard.press('Enter')
    await expect.poll(() => running.count()).toBe(1)
    expect(new URL(page.url()).searchParams.get('seconds')).toBe('480')
    await running.getByText('t50').waitFor()
    await running.getByRole('button', { name: 'Cancel…' }).click()
    await page.getByRole('dialog').getByText('Export [500] jid-500').waitFor()
    // Only the queue of the job is searched, whatever the number of queues.
    const request = page.waitForRequest((sent) => sent.method() === 'DELETE')
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel the job' }).click()
    expect(new URL((await request).url()).search).toBe('?queue=mail')
    await page.getByText('jid-500 is asked to stop').waitFor()

    // The load of a process leads to its jobs.
    await page.getByLabel('Process, label or queue').fill('web-07')
    await expect.poll(() => processes.count()).toBe(1)
    await processes.getByRole('link', { name: '10' }).click()
    await page.getByText('1–10 of 10').waitFor()
    expect(await running.first().textContent()).toContain('jid-79')
    await page.getByRole('button', { name: 'Remove the filter process' }).click()
    await page.getByText('1–50 of 600').waitFor()
  })

  test("when the slots of one capsule can't be changed, the page says so and leaves the others", async () => {
    const { page, faults } = await open('/busy', {
      before: async ({ hq, clock }) => {
        const capsules = { default: { concurrency: 5 }, slow: { concurrency: 1 } }
        const info = JSON.stringify({ queues: ['mail'], version: '8', highkiq: '0.2.0', capsules })
        const record = { identity: 'a', info, concurrency: 6, busy: 0, beat: clock.now(), quiet: false, rss: 1 }
        await hq.store.workers.heartbeat(record, 600)
      },
    })
    const asked: string[] = []
    await page.route('**/api/v1/processes/a', (route) => {
      const { capsule } = route.request().postDataJSON() as { capsule: string }
      asked.push(capsule)
      if (capsule !== 'default') return route.continue()
      const error = { code: 'STORE_TIMEOUT', message: 'the store did not answer' }
      return route.fulfill({ status: 503, json: { error } })
    })
    await page.getByRole('button', { name: 'Slots…' }).click()
    for (const name of ['default', 'slow']) await page.getByLabel(`in the capsule ${name}`).fill('9')
    await page.getByRole('dialog').getByRole('button', { name: 'Change the slots' }).click()
    await page.locator('.toast.refusal', { hasText: 'The store did not answer in time' }).waitFor()
    await page.getByRole('button', { name: 'Slots…' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
    expect(asked).toEqual(['default'])
    expect(faults.splice(0)).toEqual([expect.stringContaining('503')])
  })

  test('j and k walk the rows of both lists, and stay beside the drawer of a queue', async () => {
    const { page, hq, go } = await open('/busy', {
      before: async ({ hq, clock }) => {
        for (const name of ['a', 'b']) {
          const job = { slot: name, queue: 'mail', text: `{"class":"Send","jid":"${name}"}`, startedAt: clock.now() }
          const info = JSON.stringify({ queues: ['mail'], version: '8' })
          const record = { identity: name, info, concurrency: 5, busy: 1, beat: clock.now(), quiet: false, rss: 1 }
          await hq.store.workers.heartbeat(record, 600, [job])
        }
      },
    })
    const focused = () => page.evaluate('document.activeElement.dataset.key')
    const running = page.getByRole('table', { name: 'Running now' }).locator('tbody tr')
    await expect.poll(() => running.count()).toBe(2)
    const keys = await page.locator('tr[data-key]').evaluateAll((rows) => rows.map((row) => row.dataset.key))
    expect(keys).toEqual(['a', 'b', expect.any(String), expect.any(String)])
    const walked: unknown[] = []
    for (const key of ['j', 'j', 'ArrowDown', 'k']) {
      await page.keyboard.press(key)
      walked.push(await focused())
    }
    expect(walked).toEqual([keys[0], keys[1], keys[2], keys[1]])

    await hq.pushBulk({ class: 'Send', args: [['first'], ['second']], queue: 'mail' })
    await go('/queues/mail')
    await page.getByRole('table', { name: 'Waiting jobs' }).getByRole('link', { name: 'second' }).click()
    const drawer = page.getByRole('complementary')
    await drawer.getByText('"second"').waitFor()
    await page.keyboard.press('j')
    await drawer.getByText('"first"').waitFor()
    await page.keyboard.press('k')
    await drawer.getByText('"second"').waitFor()
  })

  test('hostile names are shown as text, and every action can be reached, also on a phone', async () => {
    const evil = '<img src=x onerror="throw 1">\u202e\u0007'
    const doors = gate()
    const t = await open('/busy', {
      viewport: { width: 390, height: 844 },
      before: async ({ hq, raw, work }) => {
        const begun = new Collector<void>()
        hq.job(evil, async (ctx) => {
          ctx.progress(1, 2, evil)
          begun.add()
          await doors.opened
        })
        await raw(
          JSON.stringify({ class: evil, args: [evil, 'x'.repeat(1_000_000)], jid: `${evil}\ud83d`, queue: 'default' }),
        )
        const info = JSON.stringify({ hostname: evil, queues: [evil], labels: [evil, evil], tag: evil, version: evil })
        const record = {
          identity: evil,
          info,
          concurrency: 1,
          busy: 0,
          beat: Date.now() - 50_000,
          quiet: false,
          rss: 1,
        }
        await hq.store.workers.heartbeat(record, 60)
        const worker = await work()
        await begun.atLeast(1)
        await worker.quiet()
      },
    })
    const { page, hq } = t
    const job = page.getByRole('table', { name: 'Running now' }).locator('tbody tr')
    await job
      .getByText(/onerror="throw 1">\\u202e\\u0007/)
      .first()
      .waitFor()
    const process = page.getByRole('table', { name: 'Processes' }).locator('tbody tr', { hasText: 'silent' })
    await process.getByRole('button', { name: 'Trace' }).click()
    await expect.poll(() => page.getByRole('status').last().textContent()).toContain('writes what it runs into its log')
    expect(
      (
        await hq.store.workers.heartbeat(
          { identity: evil, info: '', concurrency: 1, busy: 0, beat: Date.now(), quiet: false, rss: 1 },
          60,
        )
      ).signal,
    ).toBe('TTIN')
    const widest = `Math.max(...[...document.querySelectorAll('main button')].map((one) => one.getBoundingClientRect().right))`
    expect(await page.evaluate(widest)).toBeLessThanOrEqual(390)
    await job.getByRole('button', { name: 'Cancel…' }).click()
    await page.getByRole('button', { name: 'Keep running' }).click()
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
    expect(await page.locator('img').count()).toBe(0)
    doors.open()
  })
})
