import { expect, test } from 'vitest'
import { QueueSizeRecorder } from '#dist/metrics/queue-sizes.js'
import { inBrowser } from './browser.ts'

inBrowser('queues', (open) => {
  test('queues are searched, sorted and paused; their jobs are shown, deleted one by one and cleared', async () => {
    const t = await open('/queues', {
      before: async ({ hq }) => {
        await hq.pushBulk({ class: 'Bulk', args: Array.from({ length: 1001 }, (_, n) => [n]), queue: 'bulk' })
        await hq.push({ class: 'Special', args: [{ to: 'ann@example.com' }], queue: 'bulk', jid: 'special' } as never)
        await hq.pushBulk({ class: 'Mail', args: [[1], [2], [3]] })
      },
    })
    const { hq, page, faults } = t
    const bulk = hq.queue('bulk')
    const rows = page.getByRole('table', { name: 'Queues' }).locator('tbody tr')
    const names = () => rows.locator('td:first-child a').allTextContents()
    await rows.first().waitFor()
    expect(await names()).toEqual(['bulk', 'default'])
    await rows.filter({ hasText: 'default' }).getByText('no process serves it').waitFor()

    // The address has the search and the order.
    await page.getByLabel('Queue name').fill('FAU')
    await expect.poll(names).toEqual(['default'])
    expect(new URL(page.url()).search).toBe('?search=FAU')
    await page.getByLabel('Queue name').fill('')
    await page.getByRole('button', { name: 'Queue', exact: true }).click()
    await page.getByRole('button', { name: 'Size' }).click()
    await expect.poll(names).toEqual(['bulk', 'default'])
    await page.getByRole('columnheader', { name: 'Size' }).and(page.locator('[aria-sort=descending]')).waitFor()
    expect(new URL(page.url()).search).toBe('?by=size')

    // Workers fetch nothing from a paused queue. Figures update without a reload.
    const mail = rows.filter({ hasText: 'default' })
    await mail.getByRole('button', { name: 'Pause' }).click()
    await mail.getByText('paused', { exact: true }).waitFor()
    expect(await hq.queue('default').isPaused()).toBe(true)
    const got: number[] = []
    hq.job('Mail', async (_ctx, n: number) => void got.push(n))
    await t.work({ queues: ['default'], concurrency: 7 })
    await mail.getByText('7', { exact: true }).waitFor()
    expect(await hq.queue('default').size()).toBe(3)
    await mail.getByRole('button', { name: 'Resume' }).click()
    await expect.poll(() => got.sort()).toEqual([1, 2, 3])
    expect(await hq.queue('default').isPaused()).toBe(false)
    await mail.getByRole('cell', { name: '0', exact: true }).waitFor()
    // Keys apply to the focused row.
    await page.keyboard.press('k')
    await page.keyboard.press('p')
    await expect.poll(() => hq.queue('bulk').isPaused()).toBe(true)
    await rows.filter({ hasText: 'bulk' }).getByRole('button', { name: 'Resume' }).waitFor()
    await page.keyboard.press('p')
    await expect.poll(() => hq.queue('bulk').isPaused()).toBe(false)

    // The page of a queue lists its jobs page by page, searches them, and opens one.
    await page.getByRole('link', { name: 'bulk' }).click()
    await page.getByRole('heading', { level: 1, name: 'bulk 1,002' }).waitFor()
    const jobs = page.getByRole('table', { name: 'Waiting jobs' }).locator('tbody tr')
    await expect.poll(() => jobs.first().textContent()).toContain('Special')
    await page.getByRole('button', { name: 'Next page' }).click()
    await expect.poll(() => jobs.first().textContent()).toContain('Bulk [976]')
    await page.getByRole('button', { name: 'Previous page' }).click()
    await page.getByLabel('Class, jid or argument').fill('ann@')
    await expect.poll(() => jobs.count()).toBe(1)
    await jobs.first().getByRole('link').click()
    const drawer = page.getByRole('complementary')
    await drawer.getByText('"ann@example.com"').waitFor()
    // Escape in a field does not close the drawer.
    await page.getByLabel('Class, jid or argument').press('Escape')
    await page.getByLabel('Class, jid or argument').fill('')
    await expect.poll(() => jobs.count()).toBe(25)
    // The list shows new jobs, and the open job stays.
    const fresh = (await hq.push({ class: 'Bulk', args: ['fresh'], queue: 'bulk' })) as string
    await jobs.filter({ hasText: fresh }).waitFor()
    await drawer.getByText('"ann@example.com"').waitFor()
    await drawer.getByRole('button', { name: 'Previous' }).click()
    await drawer.getByText('"fresh"').waitFor()
    await page.keyboard.press('j')
    await drawer.getByText('"ann@example.com"').waitFor()

    // A deletion asks first. The key applies to the open job, not to the whole queue.
    await page.keyboard.press('Shift+D')
    await page.getByRole('button', { name: 'Keep it' }).click()
    expect(await bulk.size()).toBe(1003)
    await drawer.getByRole('button', { name: 'Delete…' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete the job' }).click()
    await page.getByText('The job is deleted').waitFor()
    await drawer.waitFor({ state: 'detached' })
    expect(await bulk.size()).toBe(1002)
    expect(await bulk.find('special')).toBe(null)

    // Above 1,000 jobs the number is typed.
    await page.keyboard.press('p')
    await page.getByText('bulk is paused; running jobs continue').waitFor()
    expect(await bulk.isPaused()).toBe(true)
    await page.keyboard.press('Shift+D')
    const sure = page.getByRole('dialog').getByRole('button', { name: 'Delete 1,002 jobs' })
    expect(await sure.isDisabled()).toBe(true)
    await page.getByLabel('Type 1002 to confirm').fill('1002')
    await sure.click()
    await page.getByText('1,002 jobs of bulk deleted').waitFor()
    expect(await bulk.size()).toBe(0)
    await page.getByText('No job is waiting').waitFor()

    // When a worker fetches the open job, the page says that it is gone.
    hq.job('Last', async () => {})
    const last = await hq.push({ class: 'Last', args: ['last'], queue: 'bulk' })
    await jobs.filter({ hasText: last as string }).click()
    await drawer.getByText('"last"', { exact: true }).waitFor()
    await t.work({ queues: ['bulk'] })
    await page.keyboard.press('p')
    await drawer.getByText('No longer here').waitFor()
    expect(await bulk.isPaused()).toBe(false)
    expect(await drawer.getByRole('button', { name: 'Delete…' }).count()).toBe(0)
    // The page expects these answers.
    expect(faults.splice(0).every((fault) => fault.includes('404'))).toBe(true)
  })

  test('of many queues the page loads those that have changed, and shows them page by page', async () => {
    const names = Array.from({ length: 250 }, (_, n) => `q${String(n).padStart(3, '0')}`)
    const { hq, page } = await open('/nowhere', {
      before: async ({ hq }) => {
        for (const queue of names) await hq.push({ class: 'A', args: [], queue })
      },
    })
    const sent: { since: string | null; names: string[]; removed: string[] }[] = []
    page.on('response', async (response) => {
      const url = new URL(response.url())
      if (!url.pathname.endsWith('/live-queues')) return
      // The page may be closed while an answer is on its way.
      const body = await response.json().catch(() => undefined)
      if (!body) return
      const { items, removed } = body as { items: { name: string }[]; removed: string[] }
      sent.push({ since: url.searchParams.get('since'), names: items.map(({ name }) => name), removed })
    })
    await page.goto(page.url().replace('/nowhere', '/queues'))
    await page.getByRole('heading', { level: 1, name: 'Queues 250' }).waitFor()
    const rows = page.getByRole('table', { name: 'Queues' }).locator('tbody tr')
    await expect.poll(() => rows.count()).toBe(50)
    expect(sent[0]).toEqual({ since: null, names, removed: [] })

    // A queue grows, and another one disappears.
    await hq.push({ class: 'A', args: [], queue: 'q007' })
    await rows.filter({ hasText: 'q007' }).getByText('2', { exact: true }).waitFor()
    await hq.queue('q008').clear()
    await page.getByRole('heading', { level: 1, name: 'Queues 249' }).waitFor()
    const later = sent.slice(1)
    expect(later.every(({ since }) => since !== null)).toBe(true)
    expect(new Set(later.flatMap((one) => one.names))).toEqual(new Set(['q007']))
    expect(later.flatMap((one) => one.removed)).toEqual(['q008'])

    // The address has the page. A search finds queues of every page.
    await page.getByText('1–50 of 249').waitFor()
    await page.getByRole('button', { name: 'Next page' }).click()
    await page.getByText('51–100 of 249').waitFor()
    expect(await rows.first().textContent()).toContain('q051')
    await page.reload()
    await page.getByText('51–100 of 249').waitFor()
    await page.getByLabel('Queue name').fill('q24')
    await expect.poll(() => rows.count()).toBe(10)
    await page.getByLabel('Queue name').fill('')
    await page.getByRole('button', { name: 'Size' }).click()
    await expect.poll(() => rows.first().textContent()).toContain('q007')
  })

  test('waits above the largest bucket are shown as at least its limit', async () => {
    const { page } = await open('/queues/images', {
      before: async ({ hq, clock }) => {
        await hq.push({ class: 'Resize', args: [], queue: 'images' })
        const histogram = Array.from({ length: 26 }, (_, bucket) => (bucket === 25 ? 50 : 0))
        const waits = [{ queue: 'images', ms: 50 * 3_600_000, histogram }]
        await hq.store.metrics.record({ source: 'a', number: 1, at: clock.now() - 120_000, jobs: [], waits })
      },
    })
    await page.getByText('≥ 5 min 35 s').waitFor()
    await page.getByText('half 5 min 35 s or longer, last hour').waitFor()
  })

  test('the page of a queue says what is in it, since when, who serves it and what takes long', async () => {
    const { page } = await open('/queues', {
      before: async ({ hq, clock }) => {
        await hq.pushBulk({ class: 'Resize', args: Array.from({ length: 30 }, (_, n) => [n]), queue: 'images' })
        await hq.pushBulk({ class: 'Scan', args: [['a'], ['b']], queue: 'images' })
        const now = clock.now()
        const job = { class: 'Resize', args: ['huge.tiff'], queue: 'images', jid: 'long' }
        const info = { hostname: 'web', queues: ['images'], capsules: {}, highkiq: '0.2.0' }
        const record = { identity: 'web:1:a', concurrency: 5, busy: 1, beat: now, quiet: false, rss: 1 }
        const running = [{ slot: 'a', queue: 'images', text: JSON.stringify(job), startedAt: now - 600_000 }]
        await hq.store.workers.heartbeat({ ...record, info: JSON.stringify(info) }, 60, running)
        const histogram = Array.from({ length: 26 }, (_, bucket) => (bucket === 20 ? 50 : 0))
        const waits = [{ queue: 'images', ms: 50_000, histogram }]
        await hq.store.metrics.record({ source: 'a', number: 1, at: now - 120_000, jobs: [], waits })
        const older = [{ queue: 'images', ms: 900_000, histogram: histogram.map((n) => n * 3).reverse() }]
        await hq.store.metrics.record({ source: 'a', number: 2, at: now - 4 * 3_600_000, jobs: [], waits: older })
      },
    })
    await page.getByRole('link', { name: 'images' }).click()
    const classes = page.getByRole('table', { name: 'What is in it' }).locator('tbody tr')
    await expect
      .poll(() => classes.allTextContents())
      .toEqual([expect.stringMatching(/^Resize30/), expect.stringMatching(/^Scan2/)])
    await page.getByRole('table', { name: 'Served by' }).getByText('web:1:a').waitFor()
    await page.getByRole('table', { name: 'Served by' }).getByRole('button', { name: 'Slots…' }).waitFor()
    await page.getByRole('table', { name: 'Runs longest' }).getByText('huge.tiff').waitFor()
    await page.getByRole('img', { name: /^Seconds that jobs had waited/ }).waitFor()
    // 50 runs in five minutes.
    await page.getByText('10 a minute').waitFor()
    await page.getByRole('img', { name: 'Runs per minute' }).waitFor()
    const half = page.getByText(/^half under /)
    const lastHour = await half.innerText()
    await page.getByRole('link', { name: '8 hours' }).click()
    await page.getByRole('heading', { name: 'Waits in seconds, last 8 hours' }).waitFor()
    await expect.poll(() => half.innerText()).toMatch(/, last 8 hours$/)
    expect((await half.innerText()).split(',')[0]).not.toBe(lastHour.split(',')[0])
    // The average of the last five minutes is the same for each period.
    await page.getByText('10 a minute').waitFor()

    const jobs = page.getByRole('table', { name: 'Waiting jobs' }).locator('tbody tr')
    await expect.poll(() => jobs.first().textContent()).toContain('Scan')
    await page.getByRole('link', { name: 'Oldest first' }).click()
    await expect.poll(() => jobs.first().textContent()).toContain('Resize [0]')
    await page.getByRole('button', { name: 'Next page' }).click()
    await expect.poll(() => jobs.first().textContent()).toContain('Resize [25]')
    await classes.getByRole('link', { name: 'Scan' }).click()
    await expect.poll(() => jobs.count()).toBe(2)
    expect(new URL(page.url()).search).toBe('?range=8h&order=oldest&class=Scan')
    await page.getByRole('link', { name: '1 runs' }).click()
    await page.getByRole('table', { name: 'Running now' }).getByText('huge.tiff').waitFor()
    expect(new URL(page.url()).search).toBe('?queue=images')
  })

  test('the page of a queue shows its size over time, and a gap where no worker ran', async () => {
    const { page } = await open('/queues/images', {
      before: async ({ hq, clock }) => {
        const minute = 60_000
        let time = 0
        const report = (error: unknown) => {
          throw error
        }
        const recorder = new QueueSizeRecorder({ store: hq.store, now: () => time, report })
        /** Stores a size from and to these minutes before now. */
        const sample = async (from: number, to: number, size: number) => {
          await hq.queue('images').clear()
          await hq.pushBulk({ class: 'Resize', queue: 'images', args: Array.from({ length: size }, () => []) })
          for (let ago = from; ago >= to; ago--) {
            time = clock.now() - ago * minute
            await recorder.run()
          }
        }
        await sample(330, 240, 70)
        await sample(59, 36, 40)
        await sample(19, 0, 3)
      },
    })
    const chart = page.getByRole('img', { name: /^Jobs that waited in the queue/ })
    await chart.waitFor()
    /** Returns the figures at a share of the chart's width. */
    const figuresAt = async (share: number) => {
      const { x, y, width } = (await chart.locator('.u-over').boundingBox()) ?? { x: 0, y: 0, width: 0 }
      await page.mouse.move(x + width * share, y + 20)
      await expect.poll(() => chart.locator('.readout > *').count()).toBeGreaterThan(0)
      return (await chart.locator('.readout > *').allTextContents()).slice(1)
    }
    await page.getByText('at the start of each minute').waitFor()
    expect(await figuresAt(0.2)).toEqual(['Size: 40'])
    expect(await figuresAt(0.53)).toEqual([])
    expect(await figuresAt(0.85)).toEqual(['Size: 3'])

    await page.getByRole('link', { name: '72 hours' }).click()
    await page.getByText('the largest in ten minutes').waitFor()
    // The waits are kept for eight hours only.
    await page.getByRole('heading', { name: 'Waits in seconds, last 8 hours' }).waitFor()
    await expect.poll(() => figuresAt(1 - 4.75 / 72)).toEqual(['Size: 70'])
    expect(await figuresAt(1 - 2.5 / 72)).toEqual([])
    await page.goto(page.url().replace('/images', '/never'))
    await chart.waitFor()
    expect(await figuresAt(1 - 4.75 / 72)).toEqual(['Size: 0'])

    // The list has the last hour of each queue.
    await page.getByRole('link', { name: 'Queues' }).first().click()
    const row = page.getByRole('table', { name: 'Queues' }).locator('tbody tr').filter({ hasText: 'images' })
    await row.locator('svg.spark').waitFor()
  })

  test('a queue says when it will be empty, or by how much it grows', async () => {
    const push = (n: number) => ({ class: 'Bulk', args: Array.from({ length: n }, () => []), queue: 'bulk' })
    const { hq, page } = await open('/queues/bulk', { before: ({ hq }) => hq.pushBulk(push(300)) })
    await page.getByText('Oldest waits').waitFor()
    await hq.queue('bulk').clear()
    await hq.pushBulk(push(30))
    await page.getByText(/^empty in about \d\ss$/).waitFor()
    await hq.pushBulk(push(900))
    await page.getByText(/^grows by [\d,]+ a minute$/).waitFor()
  })

  test('when the store was unreachable at first, actions are offered as soon as it answers', async () => {
    const { page, hq, faults } = await open('/nowhere', { before: ({ hq }) => hq.push({ class: 'Waits', args: [] }) })
    await page.route('**/api/v1/about', (route) => route.fulfill({ status: 503, json: {} }), { times: 1 })
    await page.goto(page.url().replace('/nowhere', '/queues'))
    await page.getByRole('button', { name: 'Pause' }).click()
    await expect.poll(() => hq.queue('default').isPaused()).toBe(true)
    expect(faults.splice(0).every((fault) => fault.includes('503'))).toBe(true)
  })

  test.each([
    ['.', '.'],
    ['..', '..'],
    ['~..', '~..'],
    ['\u0001', '\\u0001'],
    ['a\u0007/\u001f', 'a\\u0007/\\u001f'],
  ])(
    'the queue %j, which only Ruby can have made, is opened from the list and by its address, and acted on',
    async (name, shown) => {
      const { hq, page } = await open('/queues', {
        before: ({ raw }) => raw(JSON.stringify({ class: 'Ruby', args: ['here'], jid: '..', queue: name }), name),
      })
      const queue = hq.queue(name)
      await page.getByRole('table', { name: 'Queues' }).getByRole('link', { name: shown, exact: true }).click()
      const heading = page.getByRole('heading', { level: 1, name: `${shown} 1` })
      await heading.waitFor()
      await page.reload()
      await heading.waitFor()
      await page.getByRole('button', { name: 'Pause' }).click()
      await expect.poll(() => queue.isPaused()).toBe(true)
      const job = page.getByRole('table', { name: 'Waiting jobs' }).locator('tbody tr')
      await job.getByRole('link').click()
      // The page of the job has the jid in its address, and leads back to the queue.
      await page.getByRole('complementary').locator('a[href*="/jobs/"]').click()
      await page.getByRole('heading', { level: 1, name: 'Ruby' }).waitFor()
      await page.getByRole('main').locator('a[href*="/queues/"]').click()
      await heading.waitFor()
      await job.getByRole('link').click()
      await page.getByRole('complementary').getByRole('button', { name: 'Delete…' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Delete the job' }).click()
      await expect.poll(() => queue.size()).toBe(0)
    },
  )

  test('the drawer of a job wraps the name of a long queue of another program', async () => {
    const name = 'q'.repeat(400)
    const { page } = await open(`/queues/${name}`, {
      before: ({ raw }) => raw(JSON.stringify({ class: 'J', args: [1], jid: 'a1', queue: name }), name),
    })
    await page.getByRole('table', { name: 'Waiting jobs' }).getByRole('link').click()
    const life = page.getByRole('complementary').locator('.life')
    await life.getByText('in queue qqq').waitFor()
    expect(await life.evaluate(({ scrollWidth, clientWidth }) => scrollWidth <= clientWidth)).toBe(true)
  })

  test('hostile names and jobs are shown as text and can be deleted, also on a phone', async () => {
    const name = '<img src=x onerror="throw 1">/50%?#\u202e'
    const evil = '<b>bold</b>\u202e\u0007'
    const { hq, page } = await open('/queues', {
      viewport: { width: 390, height: 844 },
      before: async ({ raw }) => {
        await raw(JSON.stringify({ class: evil, args: [evil, 'x'.repeat(1_000_000)], jid: evil, queue: name }), name)
        await raw('no json, and no jid', name)
      },
    })
    const queue = hq.queue(name)
    await page.getByRole('link', { name: /onerror/ }).click()
    await page.getByRole('heading', { level: 1, name: /onerror/ }).waitFor()
    const jobs = page.getByRole('table', { name: 'Waiting jobs' }).locator('tbody tr')
    await expect.poll(() => jobs.count()).toBe(2)
    expect(await jobs.last().textContent()).toContain('<b>bold</b>\\u202e\\u0007')
    await jobs.last().getByRole('link').click()
    const drawer = page.getByRole('complementary')
    await drawer.getByRole('button', { name: /Show all/ }).waitFor()
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
    await drawer.getByRole('button', { name: 'Close' }).click()
    await jobs.first().getByRole('link').click()
    await drawer.getByRole('button', { name: 'Delete…' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete the job' }).click()
    await page.getByText('The job is deleted').waitFor()
    expect(await queue.size()).toBe(1)
    await page.getByRole('button', { name: 'Clear…' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete 1 job' }).click()
    await expect.poll(() => queue.size()).toBe(0)
    expect(await page.locator('main img, main b b').count()).toBe(0)
  })
})
