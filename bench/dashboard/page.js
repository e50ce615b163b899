// Measures the first load, layout shifts, and what an open page costs while jobs run.
import { setTimeout as sleep } from 'node:timers/promises'
import { serve } from '../../dist/http/index.js'
import { appOn } from './app.js'
import { openBrowser } from './browser.js'

const [, , url] = process.argv
const PAGES = ['tasks', 'queues', 'busy', 'retries', 'scheduled', 'dead', 'cron', 'metrics']
const CPU_SECONDS = 20

const hq = appOn(url)
const Works = hq.job('Works', async () => sleep(40))
const Fails = hq.job('Fails', { retryIn: () => 3600 }, async () => {
  throw new Error('connect ECONNREFUSED 10.4.0.17:8090')
})
await hq.worker({ concurrency: 5 }).start()
await Fails.performBulk(Array.from({ length: 100 }, (_, i) => [i]))
const task = await hq.tasks.create(
  Works,
  Array.from({ length: 20_000 }, (_, i) => [i]),
  { name: 'Spring catalogue' },
)
const pushing = setInterval(() => void Works.performAsync(1), 50)

const server = await serve(hq, { port: 0 })
const browser = await openBrowser()
try {
  const first = []
  for (let i = 0; i < 5; i++) first.push(await browser.load(`${server.url}/`, '.stat .v'))
  const jumps = [await browser.shifted()]
  for (const name of PAGES) {
    await browser.page.locator(`.nav a[href$="/${name}"]`).click()
    await browser.page.locator('[aria-busy=true]').first().waitFor({ state: 'detached' })
    await sleep(500)
  }
  jumps.push(await browser.shifted())
  await browser.load(`${server.url}/`, '.stat .v')
  const overview = await browser.cpu(CPU_SECONDS)
  jumps.push(await browser.shifted())
  await browser.load(`${server.url}/tasks/${task.id}`, '.hero')
  const ofTask = await browser.cpu(CPU_SECONDS)
  jumps.push(await browser.shifted())
  console.log(
    JSON.stringify({
      'first contentful paint, ms': round(median(first.map(({ painted }) => painted))),
      'figures of the overview are there, ms': round(median(first.map(({ whole }) => whole))),
      'layout shift, most of any page': round(Math.max(...jumps), 4),
      'CPU of the overview, live, %': round(overview),
      'CPU of a task that runs, live, %': round(ofTask),
    }),
  )
} finally {
  clearInterval(pushing)
  await browser.close()
  await server.close()
  await hq.close()
}

function median(list) {
  return list.sort((a, b) => a - b)[Math.floor(list.length / 2)]
}

function round(n, digits = 1) {
  return Number(n.toFixed(digits))
}
