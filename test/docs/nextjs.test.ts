import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Example } from './example.ts'
import { build, FILES, importFile, install, pushPrice, runTests, start } from './next.ts'
import { written } from './packed.ts'

test('the app of docs/nextjs.md is built, passes its tests, imports a file and runs its jobs; an edited job replaces the old one', {
  timeout: 400_000,
}, async () => {
  const { folder } = new Example('docs/nextjs.md', FILES, install)
  build(folder)
  expect(runTests(folder)).toBe('')
  const { url, next } = await start(folder, 'start')
  const saved = written(next, /"sku":"A-1"/)
  expect((await pushPrice(url, 'A-1')).status).toBe(202)
  await saved

  await importFile(url)
  next.kill('SIGTERM')
  await once(next, 'exit')

  const { url: edited, next: dev } = await start(folder, 'dev')
  const before = written(dev, /"sku":"C-1".*saving/)
  expect((await pushPrice(edited, 'C-1')).status).toBe(202)
  await before
  const after = written(dev, /the edited handler/)
  const jobs = join(folder, 'lib/jobs.ts')
  writeFileSync(jobs, readFileSync(jobs, 'utf8').replace("'saving'", "'the edited handler'"))
  // The server sees the edit some time after it, and evaluates the module again at the next request.
  let isEdited = false
  void after.finally(() => {
    isEdited = true
  })
  while (!isEdited) expect((await pushPrice(edited, 'C-2')).status).toBe(202)
  await after
})
