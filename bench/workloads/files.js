// Importing and exporting files of ten columns. A row of an import is a job; its number is its first cell.

import { once } from 'node:events'
import { createWriteStream, existsSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { Effects } from '../core/effects.js'
import { cpuMicros, megabytes, now } from '../core/roles.js'
import { measureOwn } from '../core/scenarios.js'

const PAGE = 1000
const COLOURS = ['red', 'green', 'blue', 'white', 'black']
const COLUMNS = ['number', 'name', 'price', 'stock', 'colour', 'size', 'weight', 'ean', 'category', 'added']

const rowOf = (i) => [
  i,
  `Product number ${i}, with "quotes"`,
  (i % 10_000) / 100,
  i % 500,
  COLOURS[i % 5],
  `${i % 50}`,
  i % 1000,
  4_000_000_000_000 + i,
  `category ${i % 40}`,
  '2026-11-21',
]

const objectOf = (i) => Object.fromEntries(rowOf(i).map((value, at) => [COLUMNS[at], value]))

function rejectedRow(i) {
  const params = { text: `the price ${i % 1000} is too low for product ${i}`, field: 'price' }
  const rejected = {
    status: 'failed',
    code: `code_${i % 5000}`,
    messages: [{ at: Date.now(), code: 'failed', params }],
  }
  return { args: JSON.stringify([objectOf(i)]), number: i + 2, rejected }
}

async function writeCsv(path, rows) {
  const file = createWriteStream(path)
  const cell = (value) => (/[",\n]/.test(String(value)) ? `"${String(value).replaceAll('"', '""')}"` : value)
  file.write(`${COLUMNS.join(',')}\n`)
  for (let i = 0; i < rows; i++) if (!file.write(`${rowOf(i).map(cell).join(',')}\n`)) await once(file, 'drain')
  file.end()
  await once(file, 'close')
}

async function exportFile(hq, page, { format, jobs }, path) {
  const task = await hq.tasks.export(
    page,
    Array.from({ length: Math.ceil(jobs / PAGE) }, (_, i) => [i * PAGE]),
    { format, columns: COLUMNS },
  )
  await task.wait({ every: 20 })
  await pipeline(Readable.fromWeb(await task.download()), createWriteStream(path))
}

async function timed(work) {
  const before = { at: now(), cpu: cpuMicros() }
  await work()
  return { seconds: (now() - before.at) / 1000, cpu: cpuMicros() - before.cpu }
}

export const roles = {
  async import(peer, options, { say, go }) {
    const path = join(options.folder, `rows.${options.format}`)
    const hq = await peer.app(options)
    const page = hq.job('Page', async (_ctx, from) => Array.from({ length: PAGE }, (_, i) => objectOf(from + i)))
    const effects = new Effects(options.jobs)
    const job = hq.job('Import', { retry: 0 }, async (_ctx, row) => {
      effects.ran(Number(row.number))
    })
    if (!existsSync(path) && options.format === 'csv') await writeCsv(path, options.jobs)
    if (!existsSync(path)) {
      const writer = hq.worker({ concurrency: 10 })
      await writer.start()
      await exportFile(hq, page, options, path)
      await writer.stop()
    }
    say({ ready: true })
    await go
    let task
    const figures = await timed(async () => {
      task = await hq.tasks.import(job, path, { allowDuplicate: true })
    })
    const memory = megabytes()
    await hq.worker({ concurrency: 50 }).start()
    await task.wait({ every: 20 })
    await hq.close()
    return { ...figures, effects, memory }
  },

  async export(peer, options, { say, go }) {
    const hq = await peer.app(options)
    const effects = new Effects(options.jobs)
    const page = hq.job('Page', async (_ctx, from) =>
      Array.from({ length: PAGE }, (_, i) => {
        effects.ran(from + i)
        return objectOf(from + i)
      }),
    )
    await hq.worker({ concurrency: 10 }).start()
    say({ ready: true })
    await go
    const figures = await timed(() => exportFile(hq, page, options, join(options.folder, `out.${options.format}`)))
    await hq.close()
    return { ...figures, effects, memory: megabytes() }
  },

  /** Writes the report of a task all of whose rows were rejected, for 5,000 codes. */
  async report(peer, options, { say, go }) {
    const hq = await peer.app(options)
    const effects = new Effects(options.jobs)
    const id = '00000000000beac4'
    const { tasks } = hq.store
    await tasks.create({
      ...{ id, name: 'rejected', job: 'Import', queue: 'default', template: '{}', window: 1, keepArgs: 'rejected' },
      ...{ meta: JSON.stringify({ columns: COLUMNS, format: 'csv' }), createdAt: Date.now(), producer: 'bench' },
    })
    for (let from = 0; from < options.jobs; from += PAGE) {
      const rows = Array.from({ length: PAGE }, (_, i) => {
        effects.ran(from + i)
        return rejectedRow(from + i)
      })
      await tasks.addRows(id, 'bench', from, rows, Date.now())
    }
    await tasks.endAdding(id, 'bench', Date.now())
    say({ ready: true })
    await go
    const figures = await timed(() => hq.tasks.get(id).report(join(options.folder, `report.${options.format}`)))
    await hq.close()
    return { ...figures, effects, memory: megabytes() }
  },
}

const TITLES = {
  import: (format) => `import ${format.toUpperCase()}: until all rows are stored`,
  export: (format) => `export ${format.toUpperCase()}: computed, kept and written`,
  report: (format) => `report ${format.toUpperCase()}: rejected rows, written`,
}

export default {
  name: 'files',
  order: 11,
  title: 'Imports and exports',
  text: 'A file of 10 columns; with 30,000 counted jobs elsewhere it has 100,000 rows. A job here is a row. After an import a worker runs all rows.',
  workloads: ['import', 'export', 'report'].flatMap((way) =>
    ['csv', 'xlsx'].map((format) => ({
      name: `files.${way}-${format}`,
      title: TITLES[way](format),
      needs: ['app'],
      ...(way === 'report' ? { named: true } : {}),
      measure: ({ folder, jobs, ...bench }) =>
        measureOwn(bench, `files:${way}`, { jobs: PAGE * Math.ceil(jobs / 300), warmup: 0, format, folder }),
    })),
  ),
}
