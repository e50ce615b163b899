// Photographs every page of the dashboard, light, dark and on a phone, from a shop that works while it is looked at:
// `npm run screenshots [-- --out FOLDER --only overview,task --seconds 60]`. `--keep` leaves it open afterwards.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { serve } from 'highkiq/http'
import { chromium } from 'playwright-core'
import { findChromium } from './chromium.js'
import { PAGES } from './screenshots/pages.js'
import { makePast } from './screenshots/past.js'
import { JOBS, openShop } from './screenshots/shop.js'
import { furnish, makeWorkbook } from './screenshots/stock.js'

const ROWS = 4000
const VIEWS = {
  light: { colorScheme: 'light', viewport: { width: 1280, height: 800 } },
  dark: { colorScheme: 'dark', viewport: { width: 1280, height: 800 } },
  phone: { colorScheme: 'light', viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true },
}
const WORKERS = [
  ['worker-a1', '-c', '12', '--ordered-concurrency', '6', '-q', 'critical,3', '-q', 'default,2', '-q', 'mail,1'],
  ['worker-b1', '-c', '14', '--ordered-concurrency', '4', '-q', 'imports,3', '-q', 'images,1'],
]

const { values: options } = parseArgs({
  options: {
    out: { type: 'string', default: 'docs/images/dashboard' },
    only: { type: 'string' },
    seconds: { type: 'string', default: '45' },
    keep: { type: 'boolean', default: false },
    whole: { type: 'boolean', default: false },
  },
})
const out = resolve(options.out)
const names = options.only?.split(',') ?? Object.keys(PAGES)

process.env.APP_ENV = 'production'
const folder = mkdtempSync(join(tmpdir(), 'highkiq-shop-'))
const path = join(folder, 'shop.db')
const shop = openShop(`sqlite:${path}`)
const { hq } = shop
const workers = []
const chance = random(89)
try {
  const { jid } = await furnish(shop, chance)
  const busy = customers()
  for (const [name, ...args] of WORKERS) workers.push(begin(name, args))
  while ((await hq.stats()).processes < WORKERS.length) await sleep(100)
  // From here on figures are those of the workers, which tell theirs every ten seconds.
  await sleep(10_000)
  await makePast(hq, path, chance)
  const { url, close } = await serve(hq, { port: 0, secret: 'of the screenshots' })
  const sheet = join(folder, 'spring-catalogue.xlsx')
  await makeWorkbook(sheet, ROWS, chance)
  const task = await hq.tasks.import(shop.importing, sheet, {
    ...{ name: 'Spring catalogue', window: 200, maxFailures: '10%', onDone: shop.notify },
  })
  const { token } = await (await fetch(`${url}/api/v1/tasks/${task.id}/link`)).json()
  const known = { task, jid, link: `/tasks/${task.id}?token=${token}` }
  await photograph(url, known)
  if (options.keep) {
    console.log(url)
    await once(process, 'SIGINT')
  }
  busy.stop()
  await close()
} finally {
  for (const child of workers) child.kill()
  await Promise.all(workers.map((child) => child.exitCode ?? once(child, 'exit')))
  await hq.close()
  rmSync(folder, { recursive: true, force: true })
}

function begin(name, args) {
  const env = { ...process.env, DYNO: name, HIGHKIQ_URL: `sqlite:${path}`, HIGHKIQ_LOG_LEVEL: 'silent' }
  const app = join(import.meta.dirname, 'screenshots/app.js')
  const program = join(import.meta.dirname, '../dist/cli/main.js')
  const all = [program, 'work', '-r', app, '--tag', 'shop-backend', ...args]
  return spawn(process.execPath, all, { env, stdio: 'ignore' })
}

/** Work comes in while it is done. */
function customers() {
  let n = 0
  const come = () => {
    const changes = Array.from({ length: 3 }, (_, i) => ({ id: `sku:FRN-${n}-${i}`, payload: { level: n % 250 } }))
    shop.stock.performAsync(changes).catch(() => {})
    for (const name of ['UpdateSearch', 'SyncStock', 'UpdateSearch', 'ChargeCard', 'SendReceipt', 'RenderInvoice']) {
      if (name === 'RenderInvoice' && n++ % 2) continue
      hq.push({ class: name, queue: JOBS[name].queue, args: ['FRN-0412', 'north', n], retry: true }).catch(() => {})
    }
    hq.push({ class: 'ResizeImage', queue: 'images', args: [`products/FRN-${n}/1.jpg`], retry: true }).catch(() => {})
  }
  const timer = setInterval(come, 130)
  return { stop: () => clearInterval(timer) }
}

async function photograph(url, known) {
  mkdirSync(out, { recursive: true })
  const browser = await chromium.launch({ executablePath: findChromium(), args: ['--no-sandbox'] })
  try {
    const views = await Promise.all(
      Object.entries(VIEWS).map(async ([view, about]) => {
        const context = await browser.newContext({
          locale: 'en-GB',
          timezoneId: 'UTC',
          reducedMotion: 'reduce',
          ...about,
        })
        const page = await context.newPage()
        page.setDefaultTimeout(20_000)
        page.on('pageerror', (error) => console.error(`${view}: ${error.message}`))
        return { view, page }
      }),
    )
    // Some charts are of what the page has seen.
    await Promise.all(views.map(({ page }) => page.goto(url + PAGES.task.path(known))))
    await sleep(Number(options.seconds) * 1000)
    for (const name of names) {
      const { path: pathOf, act } = PAGES[name]
      for (const { view, page } of views) {
        if (name !== 'task') await page.goto(url + pathOf(known))
        await page.locator('h1').first().waitFor()
        await page.locator('[aria-busy=true]').first().waitFor({ state: 'detached' })
        await act?.(page, view)
        await page.locator('[aria-busy=true]').first().waitFor({ state: 'detached' })
        await page.waitForLoadState('networkidle', { timeout: 1000 }).catch(() => {})
        await page.screenshot({ path: join(out, `${name}-${view}.png`), fullPage: options.whole })
        const spill = await page.evaluate('document.documentElement.scrollWidth - innerWidth')
        if (spill > 0) console.error(`${name}-${view}: ${spill} px wider than the window`)
      }
    }
  } finally {
    await browser.close()
  }
}

/** Numbers that look random and are the same at each run. */
function random(seed) {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}
