/** Imports a workbook of products, row by row, and shows which rows were rejected and why. */

import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { stat } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { Highkiq, HighkiqError, UNSUCCESSFUL_STATUSES } from 'highkiq'
import { serve } from 'highkiq/http'
import { Catalogue } from './catalogue.js'
import { findColumns } from './columns.js'
import { openFolder } from './folder.js'
import { defineImportProduct, defineImportRow } from './jobs.js'
import { skuOf } from './product.js'
import { CATEGORIES, cellValues, HEADER, makeProducts } from './products.js'
import { Screen } from './screen.js'
import { count, duration, quoted, shown } from './text.js'

/** Rows of the generated workbook. */
const ROWS = 10_000
/** Jobs that run at the same time. The handlers wait for nothing, so more only make larger batches. */
const CONCURRENCY = 50
/** Rejected rows that are printed. */
const SHOWN = 8
const PORT = 7433

/**
 * @typedef {object} DemoOptions
 * @property {string} out the folder for the files that the demo writes
 * @property {string} [file] a file to import instead of a generated workbook
 * @property {string} [url] the store; default: a new SQLite file in the folder
 * @property {number} [rows] rows of the generated workbook
 * @property {(path: string, content: { header: string[], rows: unknown[][] }) => Promise<unknown>} writeSpreadsheet writes
 *   the workbook
 * @property {boolean} [web] serve the dashboard at the end, until Ctrl-C
 */

/**
 * Returns the exit code.
 *
 * @param {DemoOptions} options
 * @param {AbortSignal} signal ends the demo in order
 * @returns {Promise<number>}
 */
export async function demo(options, signal) {
  // Log lines of the worker would break the progress line.
  process.env.HIGHKIQ_LOG_LEVEL ??= 'warn'
  const screen = new Screen(process.stdout)
  if (options.file !== undefined && options.rows !== undefined) {
    throw new HighkiqError('INVALID_OPTION', '--rows is for the generated workbook: leave it out with --file')
  }
  // Read the header first, so that a file that can't be read leaves no folder behind.
  const header = options.file === undefined ? HEADER : await headerOf(options.file)
  const { columns, missing } = findColumns(header)
  const folder = await openFolder(options.out, options.file)
  const url = options.url ?? `sqlite:${folder.queue}`
  const hq = new Highkiq({ url })
  let catalogue
  try {
    await hq.store.open()
    catalogue = await Catalogue.open(folder.catalogue)
    screen.introduction(options.file, options.rows ?? ROWS)
    if (options.file === undefined) await makeWorkbook(screen, folder.products, options)
    else if (missing) screen.plainImport(missing)

    const rules = options.file === undefined ? { categories: CATEGORIES } : {}
    // A store given by --url may hold jobs of others, so the demo uses a queue of its own there.
    const queue = options.url === undefined ? 'demo' : `demo-${randomBytes(4).toString('hex')}`
    const job = columns
      ? defineImportProduct(hq, queue, catalogue, columns, rules)
      : defineImportRow(hq, queue, catalogue)
    await hq.worker({ concurrency: CONCURRENCY, queues: [queue] }).start()

    const { task, status, broken } = await importFile(hq, job, options.file ?? folder.products, screen, signal)
    const outcome = await outcomeOf(task, status, columns)
    screen.outcome(outcome)
    if (outcome.rejected > 0) await task.report(folder.report)
    screen.files([
      ...(outcome.rejected > 0
        ? [['Report', shown(folder.report), 'the rejected rows with reasons, ready to correct']]
        : []),
      ['Catalogue', shown(folder.catalogue), `SQLite, table "${columns ? 'product' : 'row'}"`],
    ])
    if (broken) throw broken
    screen.next(nextSteps(folder, outcome.rejected, task.id, options.url === undefined ? url : hq.store.url, options))
    if (options.web) await serveDashboard(hq, task, screen, signal)
    return status.counts.error + status.counts.cancelled > 0 ? 1 : 0
  } finally {
    await hq.close()
    catalogue?.close()
  }
}

/** Returns the names of the columns, by a dry run that stops after the first rows. @throws INVALID_FILE, with the file */
async function headerOf(file) {
  const hq = new Highkiq({ url: 'sqlite::memory:' })
  try {
    const job = hq.job('ReadHeader', async () => {})
    const { columns, preview } = await hq.tasks.import(job, file, { dryRun: true, maxRows: 1 })
    return columns ?? Object.keys(preview[0]?.value ?? {})
  } catch (thrown) {
    if (!(thrown instanceof HighkiqError)) throw thrown
    throw new HighkiqError(thrown.code, `${file}: ${thrown.message}`, thrown.details, { cause: thrown })
  } finally {
    await hq.close()
  }
}

async function makeWorkbook(screen, path, { rows = ROWS, writeSpreadsheet }) {
  const startedAt = performance.now()
  const cells = makeProducts(rows).rows.map((row) => cellValues(row).map((value) => (value === '' ? null : value)))
  await writeSpreadsheet(path, { header: HEADER, rows: cells })
  const { size } = await stat(path)
  const seconds = duration((performance.now() - startedAt) / 1000)
  screen.done(
    `A workbook of ${count(rows)} rows: ${shown(path)}`,
    `${count(Math.ceil(size / 1000))} kB, made in ${seconds}`,
  )
}

/**
 * Imports a file and shows the progress. Rows before a place where the file is broken are imported, too; then `broken`
 * is the error.
 */
async function importFile(hq, job, file, screen, signal) {
  let broken
  let importing = Promise.resolve()
  const task = await new Promise((resolve, reject) => {
    importing = hq.tasks.import(job, file, { window: 4 * CONCURRENCY, onStart: resolve }).catch((thrown) => {
      broken = thrown
      reject(thrown)
    })
  })
  try {
    const status = await task.wait({ signal, every: 100, onProgress: (status) => screen.progress(status) })
    screen.progress(status, true)
    await importing
    return { task, status, broken }
  } catch (thrown) {
    if (signal.aborted) screen.stopped('Stopped. The rows imported so far are in the catalogue.')
    throw thrown
  }
}

/** Counts the rejected rows by reason, and reads the first of them. Without `columns` the rows are not products. */
async function outcomeOf(task, status, columns) {
  const reasons = new Map()
  const first = []
  for await (const event of task.events({ status: [...UNSUCCESSFUL_STATUSES] })) {
    const code = event.code ?? event.status
    reasons.set(code, (reasons.get(code) ?? 0) + 1)
    if (first.length >= SHOWN) continue
    const [row = {}] = event.args ?? []
    // An event also has a message when its job starts.
    const reason = event.messages.findLast(({ text }) => text !== 'working')?.text ?? code
    first.push({ row: event.number, sku: columns && skuOf(row, columns), reason })
  }
  return {
    status,
    rejected: [...reasons.values()].reduce((sum, n) => sum + n, 0),
    reasons: [...reasons].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)),
    first,
    noun: columns ? 'product' : 'row',
  }
}

/** Serves the dashboard until Ctrl-C. The worker stays, so rows that are retried there run. */
async function serveDashboard(hq, task, screen, signal) {
  const { url, close } = await serve(hq, { port: PORT, host: '127.0.0.1' }).catch((thrown) => {
    if (thrown.code !== 'EADDRINUSE') throw thrown
    return serve(hq, { port: 0, host: '127.0.0.1' })
  })
  screen.dashboard(`${url}/tasks/${task.id}`)
  if (!signal.aborted) await once(signal, 'abort')
  await close()
}

function nextSteps(folder, rejected, id, url, { web }) {
  const open = { darwin: 'open', win32: 'start' }[process.platform] ?? 'xdg-open'
  const command = process.env.npm_lifecycle_event === 'demo' ? 'npm run demo --' : 'npx highkiq demo'
  return [
    rejected > 0
      ? ['open the report', `${open} ${shown(folder.report)}`]
      : ['show the counts of the store', `npx highkiq stats --url ${quoted(url)}`],
    ...(web ? [] : [['see it in the dashboard', `${command} --web`]]),
    ['import a file of yours', `${command} --file yours.xlsx`],
    ['show the task again', `npx highkiq task show ${id} --url ${quoted(url)}`],
  ]
}

// `node demo.js` runs the copy of a folder; `highkiq demo` has options, too.
if (process.argv[1] === fileURLToPath(import.meta.url)) process.exitCode = await demo({ out: 'demo-output' })
