// Fills a store with many tasks, one of them large with rejected rows, and many dead jobs. Then a worker runs rows.
//   node bench/dashboard/catalogue.js URL DEAD
// For 1,000,000 dead jobs there are 50,000 tasks, and one more of 500,000 rows with 200,000 rejected for 5,000 codes.
import { setTimeout as sleep } from 'node:timers/promises'
import { appOn } from './app.js'

export const LARGE_TASK = '00000000000beac4'
/** A code that the large task has. */
export const CODE = 'code_77'

const CODES = 5000
const CHUNK = 5000
const TASKS_AT_ONCE = 50
/** The running rows of the large task, and how long each takes. */
const SLOTS = 5
const ROW_MS = 50
const PRODUCER = 'bench'
const YEAR_SECONDS = 365 * 86_400

async function fillCatalogue(hq, dead) {
  const tasks = dead / 20
  const rows = dead / 2
  const now = Date.now()
  for (let from = 0; from < dead; from += CHUNK) {
    await hq.store.jobs.push(
      range(from, Math.min(from + CHUNK, dead)).map((i) => deadJob(i, now)),
      now,
    )
  }
  for (let from = 0; from < tasks; from += TASKS_AT_ONCE) {
    await Promise.all(range(from, Math.min(from + TASKS_AT_ONCE, tasks)).map((i) => smallTask(hq, i, now)))
  }
  await createTask(hq, LARGE_TASK, 'Spring catalogue', now)
  for (let from = 0; from < rows; from += CHUNK) {
    await hq.store.tasks.addRows(
      LARGE_TASK,
      PRODUCER,
      from,
      range(from, Math.min(from + CHUNK, rows)).map((i) => (i % 5 < 2 ? rejectedRow(i) : row(i))),
      now,
    )
  }
  await hq.store.tasks.endAdding(LARGE_TASK, PRODUCER, now)
}

function range(from, to) {
  return Array.from({ length: to - from }, (_, i) => from + i)
}

function deadJob(i, now) {
  const failed = {
    ...{ retry: true, retry_count: 24, failed_at: now - i, error_class: `Error${i % 12}` },
    error_message: `connect ECONNREFUSED 10.4.0.${i % 12}:8090`,
  }
  const job = {
    class: `Job${i % 12}`,
    args: [{ customer: i }],
    queue: `q${i % 100}`,
    jid: jidOf(i),
    created_at: now - i,
  }
  return { to: 'dead', score: (now - i * 1000) / 1000, text: JSON.stringify({ ...job, ...failed }) }
}

/** Returns the jid of a dead job; `i` is its position from the newest (0 = the newest). */
export function jidOf(i) {
  return `dead${i.toString(16).padStart(20, '0')}`
}

/** An ended task of two rows, both rejected. */
async function smallTask(hq, i, now) {
  const id = i.toString(16).padStart(16, '0')
  await createTask(hq, id, `Import of shop ${i}`, now - (i + 1) * 1000)
  const rejected = { status: 'failed', code: 'price_missing', messages: [{ at: now, code: 'failed', params: {} }] }
  await hq.store.tasks.addRows(
    id,
    PRODUCER,
    0,
    [
      { ...row(0), rejected },
      { ...row(1), rejected },
    ],
    now,
  )
  await hq.store.tasks.endAdding(id, PRODUCER, now)
}

function createTask(hq, id, name, createdAt) {
  const template = { class: 'ImportProduct', queue: 'imports', retry: false, created_at: createdAt, hk_task: id }
  return hq.store.tasks.create({
    ...{ id, name, job: 'ImportProduct', queue: 'imports', template: JSON.stringify(template), window: 100 },
    ...{ keepArgs: 'rejected', meta: '{}', createdAt, producer: PRODUCER },
  })
}

const row = (i) => ({
  args: JSON.stringify([{ sku: `sku-${i}`, name: `Product ${i}`, price: i % 1000 }]),
  number: i + 2,
})

function rejectedRow(i) {
  const params = { text: `the price ${i % 1000} is too low for product ${i}`, field: 'price' }
  const messages = [{ at: Date.now(), code: 'failed', params }]
  const nth = Math.floor(i / 5) * 2 + (i % 5)
  return { ...row(i), rejected: { status: 'failed', code: `code_${nth % CODES}`, messages } }
}

if (process.argv[1] === import.meta.filename) {
  const [, , url, dead] = process.argv
  // With the default limits of the dead set the worker would remove most of the dead jobs within a minute.
  const hq = appOn(url, { dead: { max: Number(dead), seconds: 10 * YEAR_SECONDS } })
  await hq.store.open()
  await fillCatalogue(hq, Number(dead))
  hq.job('ImportProduct', { queue: 'imports', retry: 0 }, () => sleep(ROW_MS))
  await hq.worker({ concurrency: SLOTS, queues: ['imports'] }).start()
  console.log('ready')
}
