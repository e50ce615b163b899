// How the tables of the PostgreSQL store grow while very many jobs run, and the plans of the statements that each job needs.
//   node bench/postgres-growth.js [--jobs 10000000] [--waiting 100000]
// Starts a server of its own, with its default settings for vacuum. After each tenth of the jobs it prints the size of each table.
// Then it runs a few jobs of each kind while auto_explain logs the plans, also of the statements within functions.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { numberOf, UsageError } from './core/options.js'
import { openStores } from './core/stores.js'

const USAGE = `node bench/postgres-growth.js [--jobs N] [--waiting N]

  --jobs N     jobs that run, one in a hundred of them a second later (10000000)
  --waiting N  jobs in the queue at any time (100000)
`
const BULK = 1000
/** Tables with less are not shown. */
const SHOWN_BYTES = 64 * 1024
const megabytes = (bytes) => Number((bytes / 1e6).toFixed(2))

const [command, url] = process.argv.slice(2)
if (command === 'work') await work()
else {
  try {
    await main()
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    process.stderr.write(`${error.message}\n`)
    process.exitCode = 2
  }
}

async function main() {
  const options = readOptions(process.argv.slice(2))
  if (options.help) return process.stdout.write(USAGE)
  const stores = openStores()
  try {
    const store = await stores.fresh({ store: 'postgres' })
    await grow(store.url, options)
    await explain(store.url)
  } finally {
    await stores.close()
  }
}

function readOptions(args) {
  try {
    const text = { type: 'string' }
    const { values } = parseArgs({ args, options: { jobs: text, waiting: text, help: { type: 'boolean' } } })
    const { jobs = '10000000', waiting = '100000', help } = values
    return { help, jobs: numberOf('jobs', jobs, 1000), waiting: numberOf('waiting', waiting, 1000) }
  } catch (error) {
    throw new UsageError(`${error.message.split('. ')[0]}\n\n${USAGE}`)
  }
}

/** Pushes jobs, and lets a worker run them, so that about `waiting` of them are in the queue. */
async function grow(url, { jobs, waiting }) {
  const hq = await open(url)
  const job = hq.job('Noop', async () => {})
  const worker = fork(fileURLToPath(import.meta.url), ['work', url])
  let done = 0
  let wake = () => {}
  worker.on('message', (count) => {
    done = count
    wake()
  })
  const admin = new pg.Client({ connectionString: url })
  admin.on('error', () => {})
  await admin.connect()
  const started = performance.now()
  let shown = 0
  for (let pushed = 0; pushed < jobs; pushed += BULK) {
    const rows = Array.from({ length: Math.min(BULK, jobs - pushed) }, (_, i) => [pushed + i, 'x'.repeat(100)])
    await job.performBulk(rows.slice(rows.length / 100))
    await job.set({ wait: 1 }).performBulk(rows.slice(0, rows.length / 100))
    while (pushed + BULK - done > waiting) {
      await new Promise((resolve) => {
        wake = resolve
      })
    }
    for (; done - shown >= jobs / 10; shown += jobs / 10) await show(admin, done, started)
  }
  await show(admin, done, started)
  worker.kill('SIGTERM')
  await once(worker, 'exit')
  await admin.end()
  await hq.close()
}

async function work() {
  const hq = await open(url)
  let done = 0
  hq.job('Noop', async () => {
    done++
  })
  const worker = hq.worker({ concurrency: 50, queues: ['default,1'] })
  const timer = setInterval(() => process.send(done), 200)
  process.once('SIGTERM', async () => {
    clearInterval(timer)
    await worker.stop()
    await hq.close()
    process.disconnect()
  })
  await worker.start()
}

async function show(admin, done, started) {
  const seconds = (performance.now() - started) / 1000
  console.log(`\n${done} jobs done in ${seconds.toFixed(0)} s, ${Math.round(done / seconds)} jobs/s`)
  const { rows } = await admin.query(
    `SELECT relname AS table, pg_relation_size(relid) AS heap, pg_indexes_size(relid) AS indexes, n_live_tup AS live,
       n_dead_tup AS dead, autovacuum_count AS vacuums
     FROM pg_stat_user_tables WHERE pg_total_relation_size(relid) > $1 ORDER BY pg_total_relation_size(relid) DESC`,
    [SHOWN_BYTES],
  )
  console.table(
    rows.map(({ heap, indexes, live, dead, vacuums, table }) => ({
      table,
      'heap, MB': megabytes(heap),
      'indexes, MB': megabytes(indexes),
      live: Number(live),
      dead: Number(dead),
      vacuums: Number(vacuums),
    })),
  )
}

/** Prints the plans of the statements of a push, a fetch, a settlement, a retry, and the rows of a task, once each. */
async function explain(url) {
  const admin = new pg.Client({ connectionString: url })
  await admin.connect()
  const database = new URL(url).pathname.slice(1)
  const settings = {
    session_preload_libraries: 'auto_explain',
    'auto_explain.log_min_duration': '0',
    'auto_explain.log_nested_statements': 'on',
    'auto_explain.log_analyze': 'on',
    'auto_explain.log_timing': 'off',
    client_min_messages: 'log',
  }
  for (const [name, value] of Object.entries(settings)) {
    await admin.query(`ALTER DATABASE ${database} SET ${name} = '${value}'`)
  }
  await admin.end()
  const plans = new Map()
  const connect = pg.Client.prototype.connect
  pg.Client.prototype.connect = function (...args) {
    this.on('notice', ({ message }) => {
      const [, text, plan] = /Query Text: (.*?)\n(\S.*\(cost=.*)/s.exec(message ?? '') ?? []
      const query = text?.replace(/\s+/g, ' ').trim()
      if (query && !plans.has(query)) plans.set(query, plan)
    })
    return connect.apply(this, args)
  }
  const hq = await open(url)
  const noop = hq.job('Noop', async () => {})
  const row = hq.job('Row', async () => {})
  const failing = hq.job('Failing', { retryIn: () => 0 }, async (ctx) => {
    if (ctx.attempt === 1) throw new Error('fails once')
  })
  let end
  const ended = new Promise((resolve) => {
    end = resolve
  })
  const last = hq.job('Last', async () => end())
  const worker = hq.worker({ concurrency: 10, queues: ['default,1'] })
  await worker.start()
  await noop.performAsync(1)
  await noop.performBulk([[1], [2]])
  await failing.performAsync()
  const task = await hq.tasks.create(
    row,
    Array.from({ length: 100 }, (_, i) => [i]),
  )
  await task.wait()
  await last.set({ wait: 1 }).performAsync()
  await ended
  await worker.stop()
  await hq.close()
  pg.Client.prototype.connect = connect
  const whole = [...plans].filter(([, plan]) => / Seq Scan on /.test(plan))
  for (const [query, plan] of plans) if (/ on /.test(plan)) console.log(`\n${query}\n${plan}`)
  console.log(`\n${plans.size} statements, ${whole.length} of them read a whole table:`)
  for (const [query] of whole) console.log(`  ${query.slice(0, 110)}`)
}

async function open(url) {
  const { Highkiq } = await import('../dist/index.js')
  const quiet = { debug() {}, info() {}, warn() {}, error() {}, child: () => quiet }
  return new Highkiq({ url, logger: quiet })
}
