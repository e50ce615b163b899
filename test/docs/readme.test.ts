import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { openFile } from '#dist/tasks/spreadsheet/file.js'
import { PackedProject, written } from './packed.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** The cells of the rows of a workbook. */
async function rowsOf(file: string): Promise<unknown[][]> {
  const report = await openFile(file)
  const rows: unknown[][] = []
  for await (const { values } of report.rows) rows.push(Object.values(values))
  return rows
}

test('the README does what it says, with the packed package', { timeout: 300_000 }, async () => {
  const project = new PackedProject('README.md', ['jobs.ts', 'main.ts', 'products.csv'])
  expect(project.run('npx tsx main.ts').stdout).toMatch(/100%\n1 imported, 2 rejected\n$/)
  const reason = (price: string) => `price: "${price}" is not a price`
  const key = expect.stringMatching(/^[0-9a-f]{16}:[12]:1$/)
  const rejected = [
    ['a-2', '12,5O', 3, key, 'failed', 'price', reason('12,5O'), 1],
    ['a-3', '', 4, key, 'failed', 'price', reason(''), 1],
  ]
  expect(await rowsOf(join(project.folder, 'rejected.xlsx'))).toEqual(rejected)
  // Who tries it once more meets no error.
  expect(project.run('npx tsx main.ts').stdout).toMatch(/100%\n1 imported, 2 rejected\n$/)

  const worker = project.start('npx highkiq work -r jobs.ts -c 20')
  await written(worker, /"concurrency":20/)
  expect(project.run(`npx highkiq enqueue Greet '"bob"' --in 5m`)).toMatchObject({ status: 0 })
  const imported = project.run(
    'npx highkiq import products.csv --job ImportProduct -r jobs.ts --report rejected.xlsx --allow-duplicate',
  )
  expect(imported).toMatchObject({ status: 3 })
  expect(await rowsOf(join(project.folder, 'rejected.xlsx'))).toEqual(rejected)
  // Those of main.ts, which ran twice, and the one of the command line.
  expect(project.run('npx highkiq stats').stdout).toMatch(/^scheduled +3$/m)
  worker.kill('SIGTERM')
  expect(await once(worker, 'exit')).toEqual([0, null])

  const dashboard = project.start('npx highkiq web -r jobs.ts', '--port 0')
  const [, url = ''] = /is at (http:\S+\d)/.exec(await written(dashboard, /is at http:\S+\d/)) ?? []
  const response = await fetch(`${url}/api/v1/stats`)
  expect(await response.json()).toMatchObject({ scheduled: 3 })
  dashboard.kill('SIGTERM')
  await once(dashboard, 'exit')
})

test('the README packs this version', () => {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const names = readFileSync(join(root, 'README.md'), 'utf8').match(/highkiq-[\d.]+\.tgz/g) ?? []
  expect(new Set(names)).toEqual(new Set([`highkiq-${version}.tgz`]))
})
