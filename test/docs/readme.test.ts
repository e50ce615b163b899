import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { readSheet } from '#dist/tasks/sheet/sheet.js'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** The README's block behind a line that names its file. */
function blockOf(file: string): string {
  const readme = readFileSync(join(root, 'README.md'), 'utf8')
  const block = new RegExp(`\`${file}\`:\\n\\n\`\`\`(?:ts|csv)\\n(.*?)\`\`\``, 's').exec(readme)?.[1]
  if (block === undefined) throw new Error(`README.md shows no ${file}`)
  return block
}

test("the README's example does what it says", async () => {
  const folder = mkdtempSync(join(tmpdir(), 'highkiq-readme-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  mkdirSync(join(folder, 'node_modules'))
  symlinkSync(root, join(folder, 'node_modules', 'highkiq'))
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  for (const file of ['jobs.ts', 'main.ts', 'products.csv']) writeFileSync(join(folder, file), blockOf(file))
  const tsx = join(root, 'node_modules', 'tsx', 'dist', 'loader.mjs')
  const printed = execFileSync(process.execPath, ['--import', tsx, 'main.ts'], {
    cwd: folder,
    encoding: 'utf8',
    env: { ...process.env, HIGHKIQ_URL: '', HIGHKIQ_LOG_LEVEL: 'warn' },
  })
  expect(printed).toMatch(/100%\n1 imported, 2 rejected\n$/)
  const report = await readSheet(join(folder, 'rejected.xlsx'))
  const rows: unknown[][] = []
  for await (const { values } of report.rows) rows.push(values)
  expect(rows).toEqual([
    ['a-2', '12,5O', 3, 1, 'failed', 'price', 'price: "12,5O" is no price', 1],
    ['a-3', '', 4, 2, 'failed', 'price', 'price: "" is no price', 1],
  ])
})
