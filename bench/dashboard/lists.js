// Measures lists of a million retries and of a million jobs in a queue, over HTTP and in the browser.
import { serve } from '../../dist/http/index.js'
import { appOn } from './app.js'
import { openBrowser } from './browser.js'

const [, , url, rows] = process.argv
const COUNT = Number(rows)
const CHUNK = 5000
const TIMES = 5
const DEEP = 100_000
const CAUSES = Array.from({ length: 12 }, (_, i) => [`Job${i}`, `Error${i}`, `connect ECONNREFUSED 10.4.0.${i}:8090`])

const hq = appOn(url)
await fill()
const server = await serve(hq, { port: 0 })
const browser = await openBrowser()
const path = (rest) => `${server.url}/api/v1${rest}`
const ask = async (rest) => {
  const response = await fetch(path(rest))
  if (!response.ok) throw new Error(`${rest}: ${response.status} ${await response.text()}`)
  return response.json()
}
try {
  const figures = {}
  const measure = async (name, rest) => {
    const took = []
    for (let i = 0; i < TIMES; i++) {
      const began = performance.now()
      await ask(rest)
      took.push(performance.now() - began)
    }
    figures[`${name}, ms`] = Number(median(took).toFixed(1))
    figures[`${name}, slowest, ms`] = Number(Math.max(...took).toFixed(1))
  }
  await measure('live stats, right after another', '/live-stats')
  await measure('retries: first page', '/retries?limit=50')
  await measure('retries: the last of them', '/retries?limit=50&desc=true')
  await measure(`retries: ${Math.min(DEEP, COUNT / 2)} in`, `/retries?limit=50&cursor=${await deep('/retries')}`)
  await measure('retries: a search that finds', '/retries?limit=50&search=sku-77')
  await measure('retries: a search that finds nothing', '/retries?limit=50&search=nowhere-to-be-found')
  await measure('retries: one class', '/retries?limit=50&class=Job7')
  await measure('retries: one error', `/retries?limit=50&error=${encodeURIComponent('Error7')}`)
  await measure('retries: by error', '/retries/errors')
  await measure('all jobs: first page', '/jobs?limit=50')
  await measure('all jobs: an argument that nothing has', '/jobs?limit=50&args.*.customer=4711')
  await measure('all jobs: counts of one argument', '/jobs/counts?args.1=777777')
  await measure('queues', '/queues')
  await measure('queue: first page', '/queues/default/jobs?limit=50')
  await measure('queue: a search that finds nothing', '/queues/default/jobs?limit=50&search=nowhere')
  // Opened by a new viewer, so that the browser has cached nothing.
  for (const [name, place, ready] of [
    ['overview is seen', '/', '.stat .v'],
    ['queues are seen', '/queues', 'tbody tr'],
    ['retries are seen', '/retries', 'tbody tr'],
  ]) {
    const took = []
    for (let i = 0; i < 3; i++) took.push((await browser.load(server.url + place, ready)).whole)
    figures[`${name}, ms`] = Number(median(took).toFixed(0))
  }
  console.log(JSON.stringify(figures))
} finally {
  await browser.close()
  await server.close()
  await hq.close()
}

async function fill() {
  await hq.store.open()
  const now = Date.now()
  for (let from = 0; from < COUNT; from += CHUNK) {
    const numbers = Array.from({ length: Math.min(CHUNK, COUNT - from) }, (_, i) => from + i)
    await hq.store.jobs.push(
      numbers.map((i) => retry(i, now)),
      now,
    )
    await hq.store.jobs.push(
      numbers.map((i) => ({ to: 'queue', queue: 'default', text: JSON.stringify(job(i, now)) })),
      now,
    )
  }
}

function job(i, now) {
  const jid = i.toString(16).padStart(24, '0')
  return {
    class: `Job${i % 12}`,
    args: [`sku-${i % 5000}`, i],
    queue: 'default',
    jid,
    created_at: now,
    retry: true,
    enqueued_at: now,
  }
}

function retry(i, now) {
  const [name, error, message] = CAUSES[i % 12]
  const failed = { retry_count: i % 9, failed_at: now - i, error_class: error, error_message: message }
  return {
    to: 'retry',
    score: now / 1000 + 3600 + i / 10,
    text: JSON.stringify({ ...job(i, now), class: name, ...failed }),
  }
}

/** Returns the cursor of a page behind many others. */
async function deep(list) {
  let cursor = ''
  for (let seen = 0; seen < Math.min(DEEP, COUNT / 2); seen += 500) {
    const { next } = await ask(`${list}?limit=500${cursor && `&cursor=${cursor}`}`)
    cursor = encodeURIComponent(next)
  }
  return cursor
}

function median(list) {
  return [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)]
}
