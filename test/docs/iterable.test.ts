import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { Highkiq, Job } from 'highkiq'
import { expect, onTestFinished, test } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))

test('the example of docs/iterable.md handles each row of its file', async () => {
  const page = readFileSync(join(root, 'docs/iterable.md'), 'utf8')
  const example = /```ts\n(import .*?)```/s.exec(page)?.[1] ?? ''
  const folder = mkdtempSync(join(tmpdir(), 'highkiq-docs-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  const lines: unknown[] = []
  const logger =
    '{ debug() {}, warn() {}, error() {}, info: (...line) => globalThis.told.push(line), child() { return this } }'
  const options = `{ url: 'sqlite::memory:', logger: ${logger} as never }`
  writeFileSync(
    join(folder, 'jobs.ts'),
    example
      .replace("'highkiq'", `'${pathToFileURL(join(root, 'dist/index.js'))}'`)
      .replace('new Highkiq()', `new Highkiq(${options})`),
  )
  writeFileSync(join(folder, 'customers.csv'), 'name,mail\nBob,bob@example.com\nAnn,ann@example.com\n')
  Object.assign(globalThis, { told: lines })
  const { hq, Remind } = (await import(join(folder, 'jobs.ts'))) as { hq: Highkiq; Remind: Job<[string, string], void> }
  await Remind.performInline(join(folder, 'customers.csv'), 'see you')
  await hq.close()
  expect(lines).toEqual([
    [{ to: 'bob@example.com' }, 'see you'],
    [{ to: 'ann@example.com' }, 'see you'],
    [{ attempts: 1 }, 'all reminded'],
  ])
})
