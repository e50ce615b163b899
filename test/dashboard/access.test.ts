import { BusinessFailure } from 'highkiq'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { Collector, gate, until } from '../engine/bench.ts'
import type { ServedApi } from '../http/api.ts'
import { inBrowser } from './browser.ts'

/** Puts something with actions on each page. */
async function furnish({ hq, work, clock }: ServedApi): Promise<string[]> {
  const doors = gate()
  const begun = new Collector<void>()
  const Row = hq.job('Row', async () => {
    throw new BusinessFailure('no', { code: 'price' })
  })
  const Long = hq.job('Long', async () => {
    begun.add()
    await doors.opened
  })
  hq.job('Broken', { retry: 5, retryIn: () => 3600 }, async () => {
    throw new Error('no')
  })
  const Once = hq.job('Once', { unique: true, queue: 'nobody' }, async (_ctx, _n: number) => {})
  const Stock = hq.ordered('Stock', { shards: 1, maxRetries: 0 }, async () => {
    throw new Error('no')
  })
  hq.cron('nightly', '0 3 * * *', Long)
  const retry = await hq.push({ class: 'Broken', args: [1] })
  const queued = await hq.push({ class: 'Waits', args: [1], queue: 'nobody' })
  await hq.push({ class: 'Later', args: [1], at: clock.now() / 1000 + 3600 })
  await Once.performAsync(1)
  const bid = await hq.batch({}, () => hq.push({ class: 'Waits', args: [2], queue: 'nobody' }))
  await hq.dead.schedule(clock.now() / 1000, { class: 'Gone', args: [1], error_class: 'Error', error_message: 'no' })
  const task = await hq.tasks.create(Row, [[], []], { name: 'Spring sale' })
  await Stock.performAsync([{ id: 'dies', payload: {} }])
  const worker = await work()
  await task.wait({ every: 10 })
  await until(async () => (await hq.retries.size()) === 1 && (await Stock.stats()).morgueLength === 1)
  await Stock.performAsync([{ id: 'waits', payload: {}, performIn: '1h' }])
  const running = await hq.push({ class: 'Long', args: [] })
  await begun.atLeast(1)
  await worker.quiet()
  const ruby = { identity: 'web-1:77:abc', info: JSON.stringify({ hostname: 'web-1', queues: ['x'] }) }
  await hq.store.workers.heartbeat({ ...ruby, concurrency: 5, busy: 2, beat: clock.now(), quiet: false, rss: 1 }, 60)
  return [
    ...['/', '/tasks', `/tasks/${task.id}`, '/queues', '/queues/nobody', `/queues/nobody?job=${queued}`, '/busy'],
    ...['/retries', `/retries?job=${retry}`, '/scheduled', '/dead', '/ordered', '/ordered?id=waits'],
    ...[
      '/ordered?tab=morgue',
      '/ordered?tab=inWork',
      '/cron',
      '/metrics',
      `/jobs/${retry}`,
      `/jobs/${queued}`,
      `/jobs/${running}`,
    ],
    ...['/batches', `/batches/${bid}`, '/limits', '/locks', '/events', '/deploys', '/doctor'],
  ]
}

/** Buttons that only change what the page shows. */
const LOOKS =
  /^(Copy .*|Close|Previous|Next|Previous page|Next page|.* Newer|Older.*|Highest first|By error|Examine again|class|queue|error|text|meta|job|code|field|)$/

async function acts(page: Page): Promise<string[]> {
  const buttons = page.locator(
    'main button:enabled:not(th button), aside.drawer button:enabled, main input[type=checkbox]',
  )
  const names = await buttons.evaluateAll((all: { ariaLabel: string | null; textContent: string }[]) =>
    all.map(({ ariaLabel, textContent }) => (ariaLabel ?? textContent).trim()),
  )
  return names.filter((name) => !LOOKS.test(name))
}

inBrowser('who may do what', (open) => {
  test('a read-only dashboard offers no action on any page, and the server refuses every action', async () => {
    let paths: string[] = []
    const t = await open('/nowhere', {
      http: { readOnly: true },
      before: async (app) => {
        paths = await furnish(app)
      },
    })
    const { page, hq, go, faults } = t
    const sent: string[] = []
    page.on('request', (request) => {
      if (request.method() !== 'GET') sent.push(request.url())
    })
    const offered: string[] = []
    const actionsOf = async (path: string) => {
      // A page writes its title when it is ready. A drawer has the title of the page beside it.
      if (!path.includes('?')) await page.evaluate('document.title = ""')
      await go(path)
      await expect.poll(() => page.title()).not.toBe('')
      if (/job=|id=/.test(path)) await page.getByRole('complementary').waitFor()
      await expect.poll(() => page.locator('[aria-busy=true]').count()).toBe(0)
      const found = await acts(page)
      // The checkboxes of the metrics select the classes that a chart compares.
      return path.startsWith('/metrics') ? found.filter((name) => !name.startsWith('Select ')) : found
    }
    await page.getByText('Live', { exact: true }).waitFor()
    for (const path of paths) {
      for (const act of await actionsOf(path)) offered.push(`${path}: ${act}`)
      for (const key of ['p', 'r', 'Shift+D']) await page.keyboard.press(key)
    }
    // This button pauses only the list on the page.
    expect(offered).toEqual(['/events: Pause'])
    expect(await page.getByRole('dialog').count()).toBe(0)
    expect(sent).toEqual([])

    // When the server has become read-only, an open page says why it refuses an action.
    await page.route('**/api/v1/about', async (route) => {
      const answer = await route.fetch()
      await route.fulfill({ response: answer, json: { ...(await answer.json()), readOnly: false } })
    })
    await page.reload()
    await go('/queues')
    await page.getByRole('button', { name: 'Pause' }).first().click()
    await page.getByText(/^The action failed: .*read-only/).waitFor()
    expect(await hq.queue('nobody').isPaused()).toBe(false)
    // Each page offers actions to a caller with rights, and `actionsOf` finds them.
    for (const path of paths.filter(
      (one) => !['/', '/tasks', '/metrics', '/batches', '/limits', '/deploys', '/doctor'].includes(one),
    )) {
      expect(await actionsOf(path), path).not.toEqual([])
    }
    expect(faults.splice(0).every((fault) => fault.includes('403'))).toBe(true)
  })

  test('a refusal is in the language of the page', async () => {
    const { page, go, faults } = await open(`/tasks/${'0'.repeat(16)}`, {
      locale: 'ru-RU',
      http: { readOnly: true },
      before: ({ hq }) => hq.push({ class: 'HardJob', args: [] }),
    })
    const note = page.getByRole('alert')
    await note.getByText('Этой задачи больше нет').waitFor()
    await note.getByText('Она удалена, или адрес неверен.').waitFor()
    await note.getByText('UNKNOWN_TASK').waitFor()
    await page.route('**/api/v1/about', async (route) => {
      const answer = await route.fetch()
      await route.fulfill({ response: answer, json: { ...(await answer.json()), readOnly: false } })
    })
    await page.reload()
    await go('/queues')
    await page.getByRole('button', { name: 'Пауза' }).first().click()
    await page.getByText('Не получилось: Этот сервер только для чтения: Здесь ничего нельзя изменить.').waitFor()
    expect(faults.splice(0).every((fault) => /40[34]/.test(fault))).toBe(true)
  })

  test('a right token logs in, a wrong one does not, and logging out ends the login', async () => {
    const { page, hq, url, faults } = await open('/queues?by=size', {
      http: { auth: { bearer: 'a long secret' } },
      before: ({ hq }) => hq.push({ class: 'Waits', args: [] }),
    })
    await page.getByRole('heading', { name: 'Log in' }).waitFor()
    expect(await page.getByText('default').count()).toBe(0)
    await page.getByLabel('Token').fill('a wrong secret')
    await page.getByRole('button', { name: 'Log in' }).click()
    await page.getByText('This token is wrong.').waitFor()
    await page.getByLabel('Token').fill('a long secret')
    await page.keyboard.press('Enter')
    // The login leads to the page that was requested.
    await page.getByRole('heading', { level: 1, name: 'Queues' }).waitFor()
    expect(page.url()).toBe(`${url}/queues?by=size`)
    await page.getByText('Live', { exact: true }).waitFor()
    await page.locator('tbody tr', { hasText: 'default' }).getByRole('button', { name: 'Pause' }).click()
    await expect.poll(() => hq.queue('default').isPaused()).toBe(true)
    await page.getByRole('button', { name: 'Log out' }).first().click()
    await page.getByRole('heading', { name: 'Log in' }).waitFor()
    await page.goto(`${url}/queues`)
    await page.getByRole('heading', { name: 'Log in' }).waitFor()
    expect(faults.splice(0).every((fault) => fault.includes('401'))).toBe(true)
  })
})
