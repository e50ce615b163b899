import { readXlsx } from 'hucre/xlsx'
import { expect, test } from 'vitest'
import { workbookBytes } from './workbook-writer.ts'

async function* each(rows: unknown[][]) {
  yield* rows
}

async function written(rows: unknown[][], mostRows?: number): Promise<Buffer> {
  const pieces: Uint8Array[] = []
  for await (const piece of workbookBytes(each(rows), mostRows)) pieces.push(piece)
  return Buffer.concat(pieces)
}

const readBack = async (workbook: Buffer) => (await readXlsx(workbook)).sheets.map(({ name, rows }) => ({ name, rows }))

test('each kind of cell is written as its value, also dates before and after 29 February 1900 of Excel', async () => {
  const day = (year: number, month: number, date: number) => new Date(Date.UTC(year, month - 1, date))
  const rows = [
    ['text', 'number', 'flag', 'nothing', 'day'],
    ['<a> & "b"', -1.5e-7, true, null, day(2024, 2, 29)],
    [' space', 1e21, false, null, day(1900, 1, 1)],
    ['line 1\nline 2', 4_000_000_000_001, null, null, day(1900, 3, 1)],
    ['_x0041_', 0, null, null, new Date(Date.UTC(2024, 0, 2, 12, 30))],
  ]
  expect(await readBack(await written(rows))).toEqual([{ name: 'Sheet1', rows }])
})

test('rows that do not fit on a sheet go to another one with the same header', async () => {
  const numbers = (...all: number[]) => all.map((n) => [n])
  const sheets = await readBack(await written([['n'], ...numbers(1, 2, 3, 4, 5)], 3))
  expect(sheets).toEqual([
    { name: 'Sheet1', rows: [['n'], [1], [2]] },
    { name: 'Sheet1_2', rows: [['n'], [3], [4]] },
    { name: 'Sheet1_3', rows: [['n'], [5]] },
  ])
  expect(await readBack(await written([['n'], [1], [2]], 3))).toHaveLength(1)
})

test('the same rows give the same bytes, and a file without rows is a valid workbook', async () => {
  expect(await written([['a'], ['b']])).toEqual(await written([['a'], ['b']]))
  expect(await readBack(await written([]))).toEqual([{ name: 'Sheet1', rows: [] }])
})
