import { fork } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'

test('a row of NDJSON with 16 MB of numbers is imported with a heap of 96 MB', { timeout: 180_000 }, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'highkiq-large-row-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'large.ndjson')
  const numbers = Array.from({ length: 2_097_000 }, (_, i) => 1_000_000 + (i % 1_000_000))
  writeFileSync(file, `${JSON.stringify({ numbers })}\n`)
  const program = fileURLToPath(new URL('large-row.js', import.meta.url))
  const options = { silent: true, execArgv: ['--max-old-space-size=96'] }
  const child = fork(program, [`sqlite:${folder}/jobs.db`, file], options)
  onTestFinished(() => void child.kill('SIGKILL'))
  expect(await text(child.stdout as NodeJS.ReadableStream)).toBe('1\n')
})
