import { readFileSync, writeFileSync } from 'node:fs'
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { beforeAll, expect, test } from 'vitest'
import { read, readCsv, readXlsx, SpreadsheetFolder } from '../../../test/spreadsheet.ts'
import { openFile } from './file.ts'
import type { Source } from './source.ts'
import { writeSpreadsheet } from './write.ts'

const BIG_ROWS = 200_000
const folder = new SpreadsheetFolder()
const big = { csv: folder.at('big.csv'), xlsx: folder.at('big.xlsx') }

beforeAll(async () => {
  const lines = ['id,name,city,price,email']
  for (let i = 1; i <= BIG_ROWS; i++) lines.push(`${i},"Item, no. ${i}",München,${i * 1.5},x${i}@example.com`)
  writeFileSync(big.csv, lines.join('\n'))
  const rows = Array.from({ length: BIG_ROWS }, (_, i) => [i, `Item ${i}`])
  await writeSpreadsheet(big.xlsx, { header: ['id', 'name'], rows })
}, 60_000)

const gc: () => void = (() => {
  setFlagsFromString('--expose-gc')
  return runInNewContext('gc')
})()

function heapMegabytes(): number {
  gc()
  return process.memoryUsage().heapUsed / 1024 ** 2
}

test.each([
  ['csv', 15, ['200000', 'Item, no. 200000', 'München', '300000', 'x200000@example.com']],
  ['xlsx', 20, [199_999, 'Item 199999']],
] as const)(
  '200,000 rows of %s are read with little memory, only as fast as they are consumed',
  async (format, megabytes, last) => {
    const before = heapMegabytes()
    let count = 0
    let most = 0
    for await (const { number, values } of (await openFile(big[format])).rows) {
      count++
      // Time for the parser to run ahead, if it did.
      if (count === 1) await sleep(200)
      if (count === 1 || count % 40_000 === 0) most = Math.max(most, heapMegabytes())
      if (count === BIG_ROWS) expect([number, ...Object.values(values)]).toEqual([200_001, ...last])
    }
    expect(count).toBe(BIG_ROWS)
    expect(most - before).toBeLessThan(megabytes)
    await expect.poll(folder.openFiles).toBe(0)
  },
)

test.each<[string, copies: number, sourceOf: () => Source]>([
  ['a CSV file', 0, () => big.csv],
  ['a workbook that came as a stream', 1, () => Readable.from([readFileSync(big.xlsx)])],
])(
  'leaving the loop, an error and close() each close %s and remove its temporary copy',
  async (_name, copies, sourceOf) => {
    const left = await openFile(sourceOf())
    expect(folder.spooled()).toHaveLength(copies)
    for await (const _row of left.rows) break
    expect(folder.spooled()).toEqual([])
    await expect(read(sourceOf(), { maxRows: 3 })).rejects.toMatchObject({ code: 'TOO_MANY_ROWS' })
    const closed = await openFile(sourceOf())
    await closed.close()
    await closed.close()
    expect(folder.spooled()).toEqual([])
    await expect.poll(folder.openFiles).toBe(0)
  },
)

test('a stream is read only as fast as its rows are consumed, and stays open when the loop ends', async () => {
  let given = 0
  let finished = false
  async function* bytes() {
    try {
      yield Buffer.from('a,b\n')
      for (let i = 0; i < 10_000; i++) {
        given++
        yield Buffer.from('1,2\n'.repeat(1000))
      }
    } finally {
      finished = true
    }
  }
  const source = Readable.from(bytes())
  const { rows } = await openFile(source, { format: 'csv' })
  let count = 0
  for await (const _row of rows) {
    if (++count < 5) continue
    await sleep(50)
    break
  }
  expect(given).toBeLessThan(100)
  expect([source.destroyed, finished]).toEqual([false, false])
  source.destroy()
})

test('an error of the given stream is passed on unchanged', async () => {
  const lost = new Error('connection lost')
  const source = Readable.from(
    (async function* () {
      yield Buffer.from('a,b\n1,2\n')
      throw lost
    })(),
  )
  await expect(readCsv(source)).rejects.toBe(lost)
})

test.each([
  ['a path', (path: string) => path],
  ['bytes', (path: string) => readFileSync(path)],
  ['a view into a larger buffer', (path: string) => Buffer.concat([Buffer.alloc(9), readFileSync(path)]).subarray(9)],
  ['a Node stream', (path: string) => Readable.from([readFileSync(path)])],
  ['a web stream', (path: string) => new Blob([readFileSync(path)]).stream()],
])('a workbook is read from %s and nothing is left open or behind', async (_name, sourceOf) => {
  const path = folder.at('small.xlsx')
  await writeSpreadsheet(path, { header: ['a'], rows: [['x'], ['y']] })
  expect((await readXlsx(sourceOf(path))).rows).toEqual([
    [2, 'x'],
    [3, 'y'],
  ])
  expect(folder.spooled()).toEqual([])
  await expect.poll(folder.openFiles).toBe(0)
})

test('a file that is not a workbook is refused, also as a stream', async () => {
  const path = folder.at('broken.xlsx')
  writeFileSync(path, readFileSync(big.xlsx).subarray(0, 5000))
  await expect(readXlsx(path)).rejects.toMatchObject({ code: 'INVALID_FILE' })
  const nonsense = Readable.from([Buffer.from('PK\x03\x04 nonsense')])
  await expect(readXlsx(nonsense)).rejects.toMatchObject({ code: 'INVALID_FILE' })
  expect(folder.spooled()).toEqual([])
  await expect.poll(folder.openFiles).toBe(0)
})
