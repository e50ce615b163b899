// Exporting that many rows × 10 columns, pages of 1,000: computed, kept, and written as one file. Time and memory.
import { createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { appOn, memory, seconds } from '../app.js'
import { columns, objectOf } from './rows.js'

const [, , url, count, folder] = process.argv
const ROWS = Number(count)
const PAGE = 1000
const hq = appOn(url)
const Page = hq.job('Page', async (_ctx, from) =>
  Array.from({ length: Math.min(PAGE, ROWS - from) }, (_, i) => objectOf(from + i)),
)
await hq.worker({ concurrency: 10 }).start()
const figures = {}
for (const format of ['csv', 'xlsx']) {
  const most = memory()
  figures[`export ${format} s (aim ${format === 'csv' ? 12 : 30})`] = await seconds(async () => {
    const pages = Array.from({ length: Math.ceil(ROWS / PAGE) }, (_, i) => [i * PAGE])
    const task = await hq.tasks.export(Page, pages, { format, columns })
    await task.wait({ every: 20 })
    const file = createWriteStream(join(folder, `out.${format}`))
    await pipeline(Readable.fromWeb(await task.download()), file)
    await task.delete()
  })
  figures[`export ${format} MB (aim 400)`] = most()
}
console.log(JSON.stringify(figures))
process.exit()
