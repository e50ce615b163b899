import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { sidekiq } from '../interop/program.ts'
import { suiteWith } from '../programs/suite.ts'
import { startServer } from '../redis/server.ts'
import { onRedis } from '../redis/suite.ts'
import { blocksOf } from './blocks.ts'
import { Example } from './example.ts'
import { written } from './packed.ts'

test.each([
  ['bullmq', 'shop.ts', "[ 'a.html', 'b.html' ]\n3\n[ 'converted a.pdf' ]\n"],
  ['sidekiq', 'tenant.ts', 'receipt of order 7 for acme\n'],
  ['pg-boss', 'shop.ts', 'welcome Ann\n'],
  ['agenda', 'reports.ts', 'report for Bob\nreport for Ann\n'],
  ['lowkiq', 'sync.ts', '7: Anne\n'],
  ['go-workers', 'sums.ts', '3\n'],
  ['own-tables', 'mails.ts', 'mail to ann\n'],
  ['own-tables', 'move.ts', '2 jobs\n'],
])('the example for people who come from %s does what it says', (origin, file, printed) => {
  expect(new Example(`docs/from-${origin}.md`, [file]).run(file)).toBe(printed)
})

test('the jobs beside the class of Sidekiq run with the command of their page', async () => {
  const { folder } = new Example('docs/from-sidekiq.md', ['charge.ts'], ['tsx'])
  const command = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))
  const args = ['work', '-r', 'charge.ts', '-q', 'critical', '-q', 'low']
  expect(readFileSync(new URL('../../docs/from-sidekiq.md', import.meta.url), 'utf8')).toContain(
    `highkiq ${args.join(' ')}`,
  )
  const { HIGHKIQ_URL: _, VITEST: __, ...env } = process.env
  const worker = spawn(process.execPath, [command, ...args], { cwd: folder, env })
  onTestFinished(() => void worker.kill('SIGKILL'))
  const lines = [/charging 1250 for order 7/, /charging 990 for order 8/, /charging 10 for order 9/]
  await Promise.all(lines.map((line) => written(worker, line)))
  worker.kill('SIGTERM')
  expect(await once(worker, 'exit')).toEqual([0, null])
})

test('the loop of a table of jobs does what its page says', () => {
  expect(new Example('docs/from-own-tables.md', ['loop.ts'], ['libsql']).run('loop.ts')).toBe('mail to ann\n')
})

test('each row of the table of tests for people who come from BullMQ names test files that exist', () => {
  const page = readFileSync('docs/from-bullmq.md', 'utf8')
  const [, section = ''] = page.split('| looked for | in Highkiq | tests |\n|---|---|---|\n')
  const rows = section.slice(0, section.indexOf('\n\n')).split('\n')
  expect(rows.length).toBeGreaterThan(20)
  const testsOf = (row: string) => [...row.matchAll(/`([\w/-]+\.test\.ts)`/g)].map(([, path]) => path as string)
  expect(rows.filter((row) => testsOf(row).length === 0)).toEqual([])
  expect(rows.flatMap(testsOf).filter((path) => !existsSync(path))).toEqual([])
})

onRedis('BullMQ', () => {
  test('prints what our example beside it prints', async () => {
    const server = await startServer()
    onTestFinished(() => server.remove())
    const example = new Example('docs/from-bullmq.md', ['before.ts'], ['bullmq'])
    const printed = example.run('before.ts', { REDIS_URL: server.url() })
    expect(printed).toBe("[ 'a.html', 'b.html' ]\n3\n[ 'converted a.pdf' ]\n")
  })
})

suiteWith([sidekiq], 'Sidekiq', () => {
  test('runs the class that its page shows', () => {
    const code = blocksOf('docs/from-sidekiq.md', 'ruby').find(({ file }) => file === 'charge_card.rb')?.code
    const program = `require 'sidekiq/testing'\nSidekiq::Testing.inline!\n${code}`
    const printed = execFileSync('ruby', ['-rsidekiq', '-e', program], { encoding: 'utf8' })
    expect(printed).toBe('charging 1250 for order 7\ncharging 990 for order 8\ncharging 10 for order 9\n')
  })
})
