// Photographs every page of the dashboard, light, dark and on a phone, from a shop that works while it is looked at:
// `npm run screenshots [-- --out FOLDER --only overview,task --seconds 60]`. `--keep` leaves it open afterwards.
// `--all` also takes each language, and the phone in the dark: `--all --views ru,en-dark` only those whose name has one of these.
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
const WIDE = { viewport: { width: 1280, height: 800 } }
const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true }
const VIEWS = {
  light: { colorScheme: 'light', ...WIDE },
  dark: { colorScheme: 'dark', ...WIDE },
  phone: { colorScheme: 'light', ...PHONE },
}
const LOCALES = ['en-GB', 'zh-CN', 'ru-RU']
/** Each language, light and dark, 1280 and 390 pixels wide: `ru-dark-390`. */
const ALL_VIEWS = Object.fromEntries(
  LOCALES.flatMap((locale) =>
    ['light', 'dark'].flatMap((colorScheme) =>
      [WIDE, PHONE].map((size) => [
        `${locale.slice(0, 2)}-${colorScheme}-${size.viewport.width}`,
        { locale, colorScheme, ...size },
      ]),
    ),
  ),
)
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
    all: { type: 'boolean', default: false },
    views: { type: 'string', default: '' },
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
  const { jid, bid } = await furnish(shop, chance)
  // Before the workers store their first figures, so that none of them counts the past as work of this minute.
  await makePast(hq, path, chance)
  const busy = customers()
  for (const [name, ...args] of WORKERS) workers.push(begin(name, args))
  while ((await hq.stats()).processes < WORKERS.length) await sleep(100)
  const { url, close } = await serve(hq, { port: 0, secret: 'of the screenshots' })
  const sheet = join(folder, 'spring-catalogue.xlsx')
  await makeWorkbook(sheet, ROWS, chance)
  const task = await hq.tasks.import(shop.importing, sheet, {
    ...{ name: 'Spring catalogue', window: 200, maxFailures: '10%', onDone: shop.notify },
  })
  const { token } = await (await fetch(`${url}/api/v1/tasks/${task.id}/link`)).json()
  const mine = (await (await fetch(`${url}/api/v1/tasks/link?meta.user=7`)).json()).url
  const locked = await serve(hq, { port: 0, auth: { bearer: 'of the screenshots' } })
  const link = `/tasks/${task.id}?token=${token}`
  await photograph(url, { task, jid, bid, sheet, link, mine, locked: locked.url })
  if (options.keep) {
    console.log(url)
    await once(process, 'SIGINT')
  }
  busy.stop()
  await close()
  await locked.close()
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
  const addressOf = (name) => new URL(PAGES[name].path(known), url).href
  try {
    const views = await Promise.all(
      shownViews().map(async ([view, about]) => {
        const context = await browser.newContext({
          locale: 'en-GB',
          timezoneId: 'UTC',
          reducedMotion: 'reduce',
          ...about,
        })
        const page = await context.newPage()
        // Twelve open pages, a shop and its workers share the machine, so one picture can take long.
        page.setDefaultTimeout(60_000)
        page.on('pageerror', (error) => console.error(`${view}: ${error.message}`))
        return { view, page }
      }),
    )
    // The server takes samples only while a page is open.
    await Promise.all(views.map(({ page }) => page.goto(addressOf('task'))))
    await sleep(Number(options.seconds) * 1000)
    for (const name of names) {
      const { act } = PAGES[name]
      for (const { view, page } of views) {
        await page.goto(addressOf(name))
        await page.locator('h1').first().waitFor()
        await page.locator('[aria-busy=true]').first().waitFor({ state: 'detached' })
        await act?.(page, known)
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

function shownViews() {
  return Object.entries(options.all ? ALL_VIEWS : VIEWS).filter(([name]) =>
    options.views.split(',').some((part) => name.includes(part)),
  )
}

/** Numbers that look random and are the same at each run. */
function random(seed) {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}
