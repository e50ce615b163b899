import { BusinessFailure } from 'highkiq'
import { expect, test } from 'vitest'
import { gate, until } from '../engine/bench.ts'
import type { ServedApi } from '../http/api.ts'
import { barriers } from './barriers.ts'
import { failing, inBrowser } from './browser.ts'

const PAGES = [
  '/',
  '/tasks',
  '/queues',
  '/busy',
  '/jobs',
  '/retries',
  '/scheduled',
  '/dead',
  '/finished',
  '/ordered',
  '/batches',
  '/limits',
  '/locks',
  '/cron',
  '/events',
  '/metrics',
  '/deploys',
  '/doctor',
]
const TITLES = [
  'Overview',
  'Tasks',
  'Queues',
  'Busy',
  'Jobs',
  'Retries',
  'Scheduled',
  'Dead',
  'Finished',
  'ApplyStock',
  'Batches',
  'Limits',
  'Unique locks',
  'Cron',
  'Events',
  'Metrics',
  'Deploys',
  'Doctor',
]

/** Puts something on every page. */
async function furnish({ hq, work }: ServedApi): Promise<{ task: string; jid: string }> {
  const Row = hq.job('Row', async (_ctx, n: number) => {
    if (n === 1) throw new BusinessFailure('Price is empty', { code: 'price' })
  })
  hq.job('Broken', { retry: 5, retryIn: () => 3600 }, async () => {
    throw new Error('connect ECONNREFUSED 10.4.0.17')
  })
  const Stock = hq.ordered('ApplyStock', { shards: 2, maxRetries: 0 }, async (_ctx, batch) => {
    if (batch.has('dies')) throw new Error('older than what is stored')
  })
  hq.cron('nightly', '0 3 * * *', Row, { args: [1] })
  const jid = (await hq.push({ class: 'Broken', args: ['a', { b: 1 }] })) as string
  await hq.push({ class: 'Later', args: [1], at: Date.now() / 1000 + 3600 })
  await hq.push({ class: 'Waits', args: [1], queue: 'nobody' })
  await hq.dead.schedule(Date.now() / 1000, { class: 'Gone', args: [1], error_class: 'Error', error_message: 'no' })
  const task = await hq.tasks.create(Row, [[1], [2], [3]], { name: 'Spring sale' })
  await Stock.performAsync([{ id: 'dies', payload: { v: 1 }, score: 1 }])
  await Stock.performAsync([{ id: 'waits', payload: { v: 1 }, score: 1, performIn: '1h' }])
  await work()
  await task.wait({ every: 10 })
  await expect.poll(() => hq.retries.size()).toBe(1)
  await expect.poll(async () => (await Stock.stats()).morgueLength).toBe(1)
  return { task: task.id, jid }
}

inBrowser('everywhere', (open) => {
  test('every page is reached by its link, below any path, and is accessible in both themes', async () => {
    let made = { task: '', jid: '' }
    const { page, url, go } = await open('/', {
      http: { basePath: '/jobs' },
      before: async (app) => {
        made = await furnish(app)
      },
    })
    await page.getByText('Live', { exact: true }).waitFor()
    await page.getByText('No process serves queue nobody').waitFor()
    const reach = async (name: string) => {
      await page.getByRole('navigation', { name: 'Pages' }).first().getByRole('link', { name }).click()
    }
    const links = [
      'Overview',
      'Tasks',
      'Queues',
      'Busy',
      'Jobs',
      'Retries',
      'Scheduled',
      'Dead',
      'Finished',
      'Ordered',
      'Batches',
      'Limits',
      'Unique locks',
      'Cron',
      'Events',
      'Metrics',
      'Deploys',
      'Doctor',
    ]
    const found: string[] = []
    for (const [i, name] of links.entries()) {
      await reach(name)
      await page.getByRole('heading', { level: 1, name: TITLES[i] as string }).waitFor()
      expect(new URL(page.url()).pathname).toBe(`/jobs${PAGES[i]}`)
      await expect.poll(() => page.locator('[aria-busy=true]').count()).toBe(0)
      for (const theme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' })
        for (const barrier of await barriers(page, { again: theme === 'dark' }))
          found.push(`${name}, ${theme}: ${barrier}`)
      }
    }
    for (const path of [`/tasks/${made.task}`, '/queues/nobody', `/jobs/${made.jid}`, '/metrics/Row', '/nowhere']) {
      await go(path)
      await page.locator('main h1').waitFor()
      await expect.poll(() => page.locator('[aria-busy=true]').count()).toBe(0)
      for (const barrier of await barriers(page)) found.push(`${path}: ${barrier}`)
    }
    expect(found).toEqual([])
    // A reload keeps the page.
    await page.goto(`${url}/jobs/queues/nobody`)
    await page.getByRole('heading', { name: 'nobody' }).waitFor()
    // An incomplete or mistyped address.
    await page.goto(`${url}/jobs/queues/%E0%A4`)
    await page.getByRole('heading', { name: 'Page not found' }).waitFor()
  })

  test('on a wide screen the bar above a page begins and ends where the content does', async () => {
    const { page } = await open('/')
    for (const width of [1280, 1920, 2560]) {
      await page.setViewportSize({ width, height: 900 })
      const beginOf = (what: string) => page.evaluate(`document.querySelector('${what}').getBoundingClientRect().left`)
      expect(await beginOf('.crumbs'), String(width)).toBe(await beginOf('.head'))
    }
  })

  test('on a tablet the bar above a page fits into the window, and names the page', async () => {
    const { page } = await open('/queues/images', { locale: 'ru-RU' })
    await page.getByText('Вживую', { exact: true }).waitFor()
    for (const width of [768, 820, 900]) {
      await page.setViewportSize({ width, height: 900 })
      expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth'), String(width)).toBe(0)
      expect(await page.evaluate(`document.querySelector('.crumbs').clientWidth`), String(width)).toBeGreaterThan(40)
    }
  })

  test('an old task is found by its name, and of many tasks the running one is on the overview', async () => {
    const { page } = await open('/', {
      before: async ({ hq, work }) => {
        const Row = hq.job('Row', async () => {})
        const Long = hq.job('Long', { queue: 'nobody' }, async () => {})
        await hq.tasks.create(Long, [[]], { name: 'Runaway' })
        for (let n = 0; n < 104; n++) await hq.tasks.create(Row, [[]], { name: `Newer ${n}` })
        await work()
        await until(async () => (await hq.store.metrics.totals()).enqueued === 1)
      },
    })
    const tasks = page.locator('section', { has: page.getByRole('heading', { name: 'Tasks' }) })
    await tasks.locator('tbody tr').first().getByText('Runaway').waitFor()
    await page.keyboard.press('Control+k')
    await page
      .getByRole('dialog')
      .getByPlaceholder(/jid, class/)
      .fill('runaw')
    await page.getByRole('option', { name: /Runaway/ }).click()
    await page.getByRole('button', { name: 'Pause', exact: true }).click()
    await page.getByText('Paused: no further row starts').waitFor()
  })

  test('Ctrl K finds ordered queues, cron entries and batches', async () => {
    let bid = ''
    const { page } = await open('/', {
      before: async ({ hq, work }) => {
        hq.ordered('SyncUser', async () => {})
        hq.cron(
          'nightly',
          '0 3 * * *',
          hq.job('CleanUp', async () => {}),
        )
        bid = await hq.batch({ description: 'Shops' }, () => hq.push({ class: 'Shop', args: [], queue: 'nobody' }))
        await work()
        await until(async () => (await hq.store.crons.list()).length === 1)
      },
    })
    for (const [text, option, heading] of [
      ['syncu', 'SyncUser', 'SyncUser'],
      ['night', 'nightly', 'nightly'],
      [bid, 'batch by its id', 'Shops'],
      ['SHOPS', 'Shops Batch', 'Shops'],
    ] as const) {
      await page.keyboard.press('Control+k')
      await page
        .getByRole('dialog')
        .getByPlaceholder(/jid, class/)
        .fill(text)
      await page.getByRole('option', { name: option }).click()
      await page.getByRole('heading', { name: heading }).waitFor()
    }
  })

  test('what the arrows have reached in Ctrl K stays chosen when more matches arrive', async () => {
    const held = gate()
    const { page } = await open('/nowhere', {
      before: async ({ hq }) => {
        const push = () => hq.push({ class: 'Shop', args: [], queue: 'shops' })
        await hq.batch({ description: 'All shops' }, push)
      },
    })
    await page.route('**/api/v1/batches?*', async (route) => {
      await held.opened
      await route.continue()
    })
    await page.keyboard.press('Control+k')
    await page.getByRole('dialog').getByRole('searchbox').fill('shops')
    await page.getByRole('option', { name: 'shops queue', exact: true }).waitFor()
    await page.keyboard.press('ArrowDown')
    const chosen = page.getByRole('dialog').getByRole('option', { selected: true })
    await expect.poll(() => chosen.textContent()).toBe('shopssearch all jobs')
    held.open()
    await page.getByRole('option', { name: 'All shops' }).waitFor()
    expect(await chosen.textContent()).toBe('shopssearch all jobs')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Jobs', level: 1 }).waitFor()
  })

  test('keys, languages, themes and zones work without a mouse and are kept', async () => {
    let made = { task: '', jid: '' }
    const { page } = await open('/', {
      before: async (app) => {
        made = await furnish(app)
      },
    })
    await page.keyboard.press('g')
    await page.keyboard.press('r')
    await page.getByRole('heading', { name: 'Retries' }).waitFor()
    await page.keyboard.press('/')
    await expect.poll(() => page.evaluate('document.activeElement.matches("input[data-search]")')).toBe(true)
    await page.keyboard.press('Control+k')
    await page
      .getByRole('dialog')
      .getByPlaceholder(/jid, class/)
      .fill(made.jid)
    // Enter takes the word that an input method composes.
    const composed = `new KeyboardEvent('keydown', { key: 'Enter', isComposing: true, bubbles: true })`
    expect(await page.evaluate(`document.activeElement.dispatchEvent(${composed}) && location.pathname`)).toBe(
      '/retries',
    )
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Broken' }).waitFor()
    await page.keyboard.press('Control+k')
    await page
      .getByRole('dialog')
      .getByPlaceholder(/jid, class/)
      .fill('spring')
    await page.getByRole('option', { name: /Spring sale/ }).waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Spring sale' }).waitFor()
    await page.keyboard.press('?')
    await page.getByRole('heading', { name: 'Keys' }).waitFor()
    const dialog = page.getByRole('dialog', { name: 'Keys' })
    // A wide window shows the whole list, in two columns.
    const lefts = `[...document.querySelectorAll('dialog[open] li')].map((one) => one.getBoundingClientRect().left)`
    const hidden = `(({ scrollHeight, clientHeight }) => scrollHeight - clientHeight)(document.querySelector('dialog[open]'))`
    expect(await page.evaluate(`[${hidden}, new Set(${lefts}).size]`)).toEqual([0, 2])
    const keys = dialog.locator('kbd')
    const goes = (await keys.allTextContents()).filter((text) => text.startsWith('g '))
    expect(new Set(goes).size).toBe(PAGES.length)
    await page.keyboard.press('Escape')
    await page.getByRole('heading', { name: 'Keys' }).waitFor({ state: 'detached' })

    await page.getByRole('button', { name: 'Light or dark' }).click()
    expect(await page.evaluate('document.documentElement.dataset.theme')).toBe('dark')
    await page.getByRole('button', { name: 'Local time' }).click()
    await page.getByRole('combobox', { name: 'Language' }).selectOption('ru')
    await page.getByRole('link', { name: 'Очереди' }).first().waitFor()
    await page.reload()
    await page.getByRole('link', { name: 'Очереди' }).first().waitFor()
    expect(await page.evaluate('[document.documentElement.lang, document.documentElement.dataset.theme]')).toEqual([
      'ru',
      'dark',
    ])
    await page.getByRole('button', { name: 'UTC' }).waitFor()
    await page.getByRole('combobox', { name: 'Язык' }).selectOption('zh')
    await page.getByRole('link', { name: '队列' }).first().waitFor()
  })

  test('the focus returns from a dialog to the button that opened it', async () => {
    const { page } = await open('/retries', {
      before: (app) => failing(app, [{ class: 'Broken', args: [1], error: new Error('boom') }]),
    })
    const button = (name: string) => page.getByRole('button', { name, exact: true })
    const focused = () => page.evaluate('document.activeElement.getAttribute("aria-label")')
    await button('More actions').click()
    await page.getByRole('menuitem', { name: 'Delete all…' }).click()
    await button('Keep it').click()
    await expect.poll(focused).toBe('More actions')
    await page.keyboard.press('?')
    await page.getByRole('dialog', { name: 'Keys' }).getByRole('button', { name: 'Close' }).click()
    await expect.poll(focused).toBe('More actions')
  })

  test('the tab shows the number of alerts, and paper only the content', async () => {
    const { page, hq } = await open('/queues')
    await expect.poll(() => page.title()).toBe('Queues · Highkiq')
    const icon = () => page.locator('link[rel=icon]').getAttribute('href')
    const without = await icon()
    await hq.push({ class: 'Waits', args: [] })
    await expect.poll(() => page.title()).toBe('(1) Queues · Highkiq')
    expect(await icon()).not.toBe(without)
    const isShown = () => page.getByRole('navigation', { name: 'Pages' }).first().isVisible()
    expect(await isShown()).toBe(true)
    await page.emulateMedia({ media: 'print', colorScheme: 'dark' })
    expect(await isShown()).toBe(false)
    await page.getByRole('heading', { name: 'Queues' }).waitFor()
    const lightness = `getComputedStyle(document.body).backgroundColor.match(/\\d+/g).slice(0, 3).every((one) => Number(one) > 200)`
    expect(await page.evaluate(lightness)).toBe(true)
  })

  test('the job that is open beside a list is printed whole, without its buttons', async () => {
    const args = [{ lines: Array.from({ length: 90 }, (_, n) => `line ${n}`) }]
    const { page } = await open('/retries', {
      before: (app) => failing(app, [{ class: 'Broken', args, error: new Error('boom') }]),
    })
    await page.getByRole('table').getByRole('link', { name: 'Broken' }).first().click()
    const drawer = page.getByRole('complementary')
    await drawer.getByText('line 89').waitFor()
    await page.emulateMedia({ media: 'print' })
    expect(await drawer.getByText('line 89').isVisible()).toBe(true)
    expect(await drawer.getByRole('button', { name: 'Close' }).count()).toBe(0)
    const height = (await drawer.boundingBox())?.height ?? 0
    expect(height).toBeGreaterThan(800)
    // Nothing of it scrolls, because paper does not.
    const hidden = `[...document.querySelectorAll('.drawer, .drawer *')].filter((one) => /auto|scroll/.test(getComputedStyle(one).overflowY)).length`
    expect(await page.evaluate(hidden)).toBe(0)
  })

  test('without the stream the page polls; without the server it shows how old its figures are', async () => {
    const { page, hq, faults } = await open('/nowhere')
    await page.getByText('Live', { exact: true }).waitFor()
    // The answer of a proxy while its server restarts.
    await page.route('**/api/v1/live', (route) => route.fulfill({ status: 503 }))
    await page.reload()
    await page.evaluate('globalThis.isSame = true')
    await page.getByText('Not live').waitFor()
    await hq.push({ class: 'Later', args: [1], at: Date.now() / 1000 + 3600 })
    await page.getByRole('link', { name: 'Scheduled 1' }).waitFor()
    await page.route('**/api/v1/**', (route) => route.abort())
    await page.getByText('The server does not answer').waitFor()
    await page.getByText(/The numbers on this page are from/).waitFor()
    await page.unroute('**/api/v1/**')
    await page.getByRole('button', { name: 'Try now' }).first().click()
    await page.getByText('The server does not answer').waitFor({ state: 'detached' })
    await page.getByText('Not live').waitFor()
    await page.unroute('**/api/v1/live')
    await page.getByText('Live', { exact: true }).waitFor()
    expect(await page.evaluate('globalThis.isSame')).toBe(true)
    // The test expects these failures.
    expect(faults.splice(0).filter((fault) => !/ERR_FAILED|503/.test(fault))).toEqual([])
  })

  test('an answer of a proxy, such as its login page, is named as one', async () => {
    const { page, go, faults } = await open('/nowhere')
    const login = { contentType: 'text/html', body: '<h1>Log in</h1>' }
    await page.route('**/api/v1/batches?*', (route) => route.fulfill(login))
    await page.route('**/api/v1/cron', (route) => route.fulfill({ ...login, status: 502 }))
    for (const path of ['/batches', '/cron']) {
      await go(path)
      await page.getByRole('alert').getByText('The answer is not from Highkiq').waitFor()
      await page.getByRole('alert').getByText('Reload the page.').waitFor()
      await go('/nowhere')
      await page.getByRole('heading', { name: 'Page not found' }).waitFor()
    }
    expect(faults.splice(0).filter((fault) => !fault.includes('502'))).toEqual([])
  })

  test('on a phone every page can be reached, and none is wider than the screen', async () => {
    const { page, go } = await open('/', { viewport: { width: 390, height: 844 }, before: furnish })
    for (const path of PAGES) {
      await go(path)
      await page.locator('main h1').waitFor()
      await expect.poll(() => page.locator('[aria-busy=true]').count()).toBe(0)
      const wider = `[...document.querySelectorAll('body *')].filter((one) => !one.closest('.scroll') && one.getBoundingClientRect().right > innerWidth + 1)`
      const isWider = await page.evaluate('document.documentElement.scrollWidth > innerWidth')
      expect(
        [isWider, isWider && (await page.evaluate(`${wider}.map((one) => one.outerHTML.slice(0, 100))`))],
        path,
      ).toEqual([false, false])
    }
    await page.getByRole('button', { name: 'More' }).click()
    await page.getByRole('dialog').getByRole('link', { name: 'Cron' }).click()
    await page.getByRole('heading', { name: 'Cron' }).waitFor()
  })
})
