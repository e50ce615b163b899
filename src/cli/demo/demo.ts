/** What `highkiq demo` does. */

import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { stat } from 'node:fs/promises'
import { Highkiq, HighkiqError, type Job, type Task, type TaskStatus } from '../../index.ts'
import { readSpreadsheet, writeSpreadsheet } from '../../tasks/spreadsheet/spreadsheet.ts'
import { count, duration } from '../figures.ts'
import { onInterrupt } from '../interrupt.ts'
import { quoted } from '../open-app.ts'
import { watchTask } from '../progress.ts'
import { serveWeb, WEB_HOST, WEB_PORT } from '../serve-web.ts'
import { CliError } from '../usage.ts'
import { Catalogue } from './catalogue.ts'
import { type Columns, findColumns } from './columns.ts'
import { type Folder, openFolder, shown } from './folder.ts'
import { defineImportProduct, defineImportRow, type SheetRow } from './jobs.ts'
import { type DemoOptions, ROWS } from './options.ts'
import { outcomeOf } from './outcome.ts'
import { CATEGORIES, cellValues, HEADER, makeProducts } from './products.ts'
import { Screen } from './screen.ts'

/** The handlers wait for nothing: more at a time make larger batches. */
const CONCURRENCY = 50

/** @returns the exit code */
export async function demo(options: DemoOptions): Promise<number> {
  // The screen belongs to the demo.
  process.env.HIGHKIQ_LOG_LEVEL ??= 'warn'
  const interrupt = onInterrupt()
  try {
    return await importFile(options, new Screen(process.stdout), interrupt.signal)
  } catch (thrown) {
    if (interrupt.signal.aborted) return interrupt.exitCode
    throw thrown
  } finally {
    interrupt.release()
  }
}

async function importFile(options: DemoOptions, screen: Screen, stop: AbortSignal): Promise<number> {
  if (options.file !== undefined && options.rows !== undefined) {
    throw new HighkiqError('INVALID_OPTION', '--rows is for the workbook that the demo makes: leave it out with --file')
  }
  // First of all, so that a file that can't be read costs nothing.
  const header = options.file === undefined ? HEADER : await headerOf(options.file)
  const found = findColumns(header)
  const columns = 'columns' in found ? found.columns : undefined
  const folder = await openFolder(options.out, options.file)
  const file = options.file ?? folder.products
  const url = options.url ?? `sqlite:${folder.queue}`
  const hq = new Highkiq({ url })
  let catalogue: Catalogue | undefined
  try {
    await hq.store.open()
    catalogue = await Catalogue.open(folder.catalogue)
    introduce(screen, options)
    if (options.file === undefined) await makeWorkbook(screen, folder.products, options.rows ?? ROWS)
    else if ('missing' in found) screen.plainImport(found.missing)

    const rules = options.file === undefined ? { categories: CATEGORIES } : {}
    const job = columns ? defineImportProduct(hq, catalogue, columns, rules) : defineImportRow(hq, catalogue)
    // In a store that others use too, nobody else's jobs, nor those of an earlier demo.
    const queue = options.url === undefined ? 'demo' : `demo-${randomBytes(4).toString('hex')}`
    await hq.worker({ concurrency: CONCURRENCY, queues: [queue] }).start()
    const { task, status, broken } = await runImport(hq, job, file, queue, screen, stop)
    const outcome = await outcomeOf(task, status, columns)
    screen.outcome(outcome)
    if (outcome.rejected > 0) await task.report(folder.report)
    tellWhere(screen, folder, outcome.rejected, columns)
    if (broken) throw broken
    tellNext(screen, folder, outcome.rejected, task.id, options.url === undefined ? url : hq.store.url, !options.web)
    if (options.web) await leaveOpen(hq, task, screen, stop)
    return status.counts.error + status.counts.cancelled > 0 ? 1 : 0
  } finally {
    await hq.close()
    catalogue?.close()
  }
}

/** @throws INVALID_FILE, with the file's name */
async function headerOf(file: string): Promise<string[]> {
  try {
    const sheet = await readSpreadsheet(file)
    await sheet.close()
    return sheet.header
  } catch (thrown) {
    if (!(thrown instanceof HighkiqError)) throw thrown
    throw new HighkiqError(thrown.code, `${file}: ${thrown.message}`, thrown.details, { cause: thrown })
  }
}

/** `broken`: why the file could not be read to its end; what came before is imported all the same. */
async function runImport(
  hq: Highkiq,
  job: Job<[SheetRow]>,
  file: string,
  queue: string,
  screen: Screen,
  stop: AbortSignal,
): Promise<{ task: Task; status: TaskStatus; broken: unknown }> {
  let broken: unknown
  let importing: Promise<unknown> = Promise.resolve()
  const task = await new Promise<Task>((resolve, reject) => {
    importing = hq.tasks.import(job, file, { queue, window: 4 * CONCURRENCY, onStart: resolve }).catch((thrown) => {
      broken = thrown
      reject(thrown)
    })
  })
  try {
    screen.blank()
    const status = await watchTask(task, { out: process.stdout, title: '  Importing', signal: stop })
    await importing
    return { task, status, broken }
  } catch (thrown) {
    if (stop.aborted) screen.stopped('Stopped. What was imported until now is in the catalogue.')
    throw thrown
  }
}

function introduce(screen: Screen, { file, rows = ROWS }: DemoOptions): void {
  if (file !== undefined) {
    screen.title(
      `Highkiq imports ${shown(file)}`,
      'One row, one job: each is checked and written to a SQLite catalogue.',
    )
    return
  }
  screen.title(
    `Highkiq imports ${count(rows)} products`,
    'One row, one job: each is checked and written to a SQLite catalogue. About 2% are broken',
    'in the ways that spreadsheets really are, and some are merely untidy.',
  )
}

async function makeWorkbook(screen: Screen, path: string, rows: number): Promise<void> {
  const startedAt = performance.now()
  const made = makeProducts(rows)
  await writeSpreadsheet(path, { header: HEADER, rows: made.rows.map(cellValues) })
  const { size } = await stat(path)
  const seconds = duration((performance.now() - startedAt) / 1000)
  screen.done(
    `A workbook of ${count(rows)} rows: ${shown(path)}`,
    `${count(Math.ceil(size / 1000))} kB, made in ${seconds}`,
  )
}

function tellWhere(screen: Screen, folder: Folder, rejected: number, columns: Columns | undefined): void {
  const what = columns ? 'table "product"' : 'table "row"'
  const places: [string, string, string][] = [['Catalogue', shown(folder.catalogue), `SQLite, ${what}`]]
  if (rejected > 0) places.unshift(['Report', shown(folder.report), 'the rejected rows with reasons, ready to correct'])
  screen.places(places)
}

/** Its worker goes on: what is put back there runs. */
async function leaveOpen(hq: Highkiq, task: Task, screen: Screen, stop: AbortSignal): Promise<void> {
  const { url, close } = await serveWeb(hq, { port: WEB_PORT, host: WEB_HOST }).catch((thrown) => {
    // Another one may be open.
    if (!(thrown instanceof CliError)) throw thrown
    return serveWeb(hq, { port: 0, host: WEB_HOST })
  })
  screen.dashboard(`${url}/tasks/${task.id}`)
  if (!stop.aborted) await once(stop, 'abort')
  await close()
}

function tellNext(screen: Screen, folder: Folder, rejected: number, id: string, url: string, offersWeb: boolean): void {
  const open = { darwin: 'open', win32: 'start' }[process.platform as string] ?? 'xdg-open'
  const demo = process.env.npm_lifecycle_event === 'demo' ? 'npm run demo --' : 'npx highkiq demo'
  screen.next([
    rejected > 0
      ? ['open the report', `${open} ${shown(folder.report)}`]
      : ['see what the queue did', `npx highkiq stats --url ${quoted(url)}`],
    ...(offersWeb ? [['see it in the dashboard', `${demo} --web`] as [string, string]] : []),
    ['import a file of yours', `${demo} --file yours.xlsx`],
    ['ask how it went', `npx highkiq task show ${id} --url ${quoted(url)}`],
  ])
}
