import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openFile } from '#dist/tasks/spreadsheet/file.js'
import { Example } from './example.ts'

test("the README's example does what it says", async () => {
  const example = new Example('README.md', ['jobs.ts', 'main.ts', 'products.csv'])
  const printed = example.run('main.ts')
  expect(printed).toMatch(/100%\n1 imported, 2 rejected\n$/)
  // Who tries it once more meets no error.
  expect(example.run('main.ts')).toMatch(/100%\n1 imported, 2 rejected\n$/)
  const report = await openFile(join(example.folder, 'rejected.xlsx'))
  const rows: unknown[][] = []
  for await (const { values } of report.rows) rows.push(Object.values(values))
  expect(rows).toEqual([
    [
      'a-2',
      '12,5O',
      3,
      expect.stringMatching(/^[0-9a-f]{16}:1:1$/),
      'failed',
      'price',
      'price: "12,5O" is no price',
      1,
    ],
    ['a-3', '', 4, expect.stringMatching(/^[0-9a-f]{16}:2:1$/), 'failed', 'price', 'price: "" is no price', 1],
  ])
})
