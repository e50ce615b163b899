import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'

/** Runs ending.js and returns its exit code and everything it wrote. */
async function run(how: string) {
  const folder = mkdtempSync(join(tmpdir(), 'highkiq-ending-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const child = spawn(process.execPath, [fileURLToPath(new URL('ending.js', import.meta.url)), how, folder])
  let written = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (written += data))
  const [code, signal] = await once(child, 'close')
  return { code, signal, written }
}

// libsql aborts the process when a thread ends inside one of its calls.
test('a store closes while its thread copies the log', async () => {
  expect(await run('close')).toEqual({ code: 0, signal: null, written: 'ended in order\n' })
})

test('the threads of jobs are ended while they push', async () => {
  expect(await run('threads')).toEqual({ code: 0, signal: null, written: 'ended in order\n' })
})

test('a process exits at any moment while a thread copies the log', async () => {
  for (let n = 0; n < 8; n++) expect(await run('exit')).toEqual({ code: 7, signal: null, written: '' })
})
