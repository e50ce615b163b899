// Rows of ten columns, as a catalogue would have them.

import { once } from 'node:events'
import { createWriteStream } from 'node:fs'

export const columns = ['sku', 'name', 'price', 'stock', 'colour', 'size', 'weight', 'ean', 'category', 'added']

const COLOURS = ['red', 'green', 'blue', 'white', 'black']

export function rowOf(i) {
  return [
    `SKU-${String(i).padStart(7, '0')}`,
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
}

export function objectOf(i) {
  const row = rowOf(i)
  return Object.fromEntries(columns.map((column, at) => [column, row[at]]))
}

/** XLSX is written by the library that the project itself writes with. */
export async function writeFile(path, format, header, count, row) {
  if (format === 'csv') {
    const file = createWriteStream(path)
    const cell = (value) => (/[",\n]/.test(String(value)) ? `"${String(value).replaceAll('"', '""')}"` : value)
    file.write(`${header.join(',')}\n`)
    for (let i = 0; i < count; i++) {
      if (!file.write(`${row(i).map(cell).join(',')}\n`)) await once(file, 'drain')
    }
    file.end()
    await once(file, 'close')
    return
  }
  const { writeSpreadsheet } = await import('../../dist/tasks/spreadsheet/write.js')
  await writeSpreadsheet(path, {
    header,
    rows: (function* () {
      for (let i = 0; i < count; i++) yield row(i)
    })(),
  })
}
