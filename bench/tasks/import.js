// Importing a file of that many rows × 10 columns, while a worker of another process would run them: time and memory.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { appOn, memory, seconds } from '../app.js'
import { columns, rowOf, writeFile } from './rows.js'

const [, , url, count, folder] = process.argv
const ROWS = Number(count)
const figures = {}
for (const format of ['csv', 'xlsx']) {
  const path = join(folder, `rows-${ROWS}.${format}`)
  if (!existsSync(path)) await writeFile(path, format, columns, ROWS, rowOf)
}
const hq = appOn(url)
const Import = hq.job('Import', async () => {})
for (const format of ['csv', 'xlsx']) {
  const most = memory()
  figures[`import ${format} s`] = await seconds(async () => {
    const task = await hq.tasks.import(Import, join(folder, `rows-${ROWS}.${format}`), { allowDuplicate: true })
    const { total } = await task.status()
    if (total !== ROWS) throw new Error(`${total} rows came of ${ROWS}`)
  })
  figures[`import ${format} MB (aim 300)`] = most()
}
console.log(JSON.stringify(figures))
process.exit()
