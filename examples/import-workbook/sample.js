// Makes products.xlsx: 10,000 products, of which one in fifty is wrong. `node sample.js [rows]`
// A workbook is written by an export, in a store that is gone when the program ends.
import { createWriteStream } from 'node:fs'
import { rename } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { fileURLToPath } from 'node:url'
import { Highkiq } from 'highkiq'

const PAGE = 1000
const CATEGORIES = ['Books', 'Garden', 'Kitchen', 'Toys']
const MISTAKES = [
  (row) => ({ ...row, Price: '12,5O' }),
  (row) => ({ ...row, Category: 'Kichen' }),
  (row) => ({ ...row, SKU: 'P-00001', Name: 'Counted twice' }),
  (row) => ({ ...row, SKU: ' ' }),
]

function product(n) {
  const row = {
    SKU: `P-${String(n).padStart(5, '0')}`,
    Name: `Product ${n}`,
    Category: CATEGORIES[n % CATEGORIES.length],
    Price: (100 + ((n * 37) % 9900)) / 100,
  }
  return n % 50 === 0 ? MISTAKES[(n / 50) % MISTAKES.length](row) : row
}

export async function makeSample(path, rows = 10_000) {
  const hq = new Highkiq({ url: 'sqlite::memory:' })
  const MakePage = hq.job('MakePage', async (_ctx, from, to) =>
    Array.from({ length: to - from }, (_, i) => product(from + i)),
  )
  await hq.worker().start()
  const pages = []
  for (let from = 1; from <= rows; from += PAGE) pages.push([from, Math.min(from + PAGE, rows + 1)])
  const task = await hq.tasks.export(MakePage, pages, { format: 'xlsx' })
  await pipeline(Readable.fromWeb(await task.download({ wait: true })), createWriteStream(`${path}.part`))
  await rename(`${path}.part`, path)
  await hq.close()
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await makeSample('products.xlsx', Number(process.argv[2] ?? 10_000))
  console.log('products.xlsx is there')
}
