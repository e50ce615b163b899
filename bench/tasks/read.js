// How fast files are read: 500,000 rows of 10 columns, beside the libraries that a program would use instead. Each
// reader has a process of its own and reads the file twice; the second time counts. On a busy machine the CPU's time
// tells more than the clock's. `--rows N`, `--only csv|xlsx`.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

const { values: options } = parseArgs({
  options: {
    rows: { type: 'string', default: '500000' },
    only: { type: 'string' },
    child: { type: 'string' },
    file: { type: 'string' },
  },
})

const READERS = {
  csv: {
    async highkiq(file) {
      const { openFile } = await import('../../dist/tasks/spreadsheet/file.js')
      return count((await openFile(file)).rows)
    },
    async iterate(file) {
      const { iterate } = await import('highkiq')
      return count(iterate.csv(file, null))
    },
  },
  xlsx: {
    async highkiq(file) {
      const { openFile } = await import('../../dist/tasks/spreadsheet/file.js')
      return count((await openFile(file)).rows)
    },
    // It wants all bytes in memory, and checks no sizes before it unpacks.
    async hucre(file) {
      const { readFileSync } = await import('node:fs')
      const { streamXlsxRows } = await import('hucre/xlsx')
      return (await count(streamXlsxRows(readFileSync(file)))) - 1
    },
  },
}

async function count(rows) {
  let n = 0
  for await (const _row of rows) n++
  return n
}

if (options.child) {
  const [format, name] = options.child.split('/')
  await READERS[format][name](options.file)
  const start = performance.now()
  const before = process.cpuUsage()
  const rows = await READERS[format][name](options.file)
  const seconds = (performance.now() - start) / 1000
  const cpu = process.cpuUsage(before).user / 1e6
  console.log(JSON.stringify({ rows, seconds, cpu, megabytes: process.resourceUsage().maxRSS / 1024 }))
} else {
  const folder = mkdtempSync(join(tmpdir(), 'highkiq-read-'))
  try {
    const { writeSpreadsheet } = await import('../../dist/tasks/spreadsheet/write.js')
    for (const format of Object.keys(READERS)) {
      if (options.only && options.only !== format) continue
      const file = join(folder, `rows.${format}`)
      const rows = made(Number(options.rows))
      await writeSpreadsheet(file, { header: Object.keys(row(1)), rows })
      let ours
      for (const name of Object.keys(READERS[format])) {
        const args = [import.meta.filename, '--child', `${format}/${name}`, '--file', file]
        const { stdout, stderr, status } = spawnSync(process.execPath, args, { encoding: 'utf8' })
        if (status !== 0) {
          console.log(`${format}  ${name}: ${stderr.trim().split('\n').at(-1)}`)
          continue
        }
        const { rows: read, seconds, cpu, megabytes } = JSON.parse(stdout)
        const rate = read / seconds
        ours ??= rate
        const rates = `${whole(rate)} rows/s, ${whole(read / cpu)} in a second of CPU`
        const figures = `${rates}, at most ${whole(megabytes)} MB`
        console.log(`${format}  ${name.padEnd(10)} ${figures}, highkiq ${(ours / rate).toFixed(2)} times that`)
      }
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function whole(number) {
  return Math.round(number).toLocaleString('en')
}

function row(i) {
  return {
    id: i,
    sku: `SKU-${i}`,
    name: `Item, no. ${i}`,
    city: ['München', 'Paris', '東京', 'Oslo'][i % 4],
    price: (i % 9999) / 4,
    stock: i % 500,
    active: i % 2 === 0,
    email: `user${i}@example.com`,
    note: `a note about row ${i}`,
    updated: `2026-03-0${1 + (i % 9)}`,
  }
}

function* made(rows) {
  for (let i = 1; i <= rows; i++) yield Object.values(row(i))
}
