import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openStore } from '#dist/store/open.js'
import { isOpenTwice } from '#dist/store/sqlite/file/libraries.js'
import { driverName, openDriver } from '#dist/store/sqlite/file/open-driver.js'
import { Collector } from '../engine/bench.ts'

/** Only Linux tells which files a process has open, and Node 20 has one library. */
const canTell = process.platform === 'linux' && driverName() === 'node'

function newPath(): string {
  const dir = mkdtempSync(join(tmpdir(), 'hk-libraries-'))
  onTestFinished(() => rmSync(dir, { recursive: true }))
  return join(dir, 'a.db')
}

function open(path: string, warn?: (message: string) => void) {
  const store = openStore(`sqlite:${path}?driver=node`, warn ? { warn } : {})
  onTestFinished(() => store.close())
  return store
}

test.runIf(canTell)('a store warns when a second SQLite library of its process has its file open', async () => {
  const path = newPath()
  const other = await openDriver(path, 'libsql')
  onTestFinished(() => other.close())
  other.exec('PRAGMA journal_mode = WAL')
  other.exec('CREATE TABLE theirs (id)')
  const received = new Collector<string>()
  const store = open(path, (message) => received.add(message))
  await store.open()
  const [warning] = await received.atLeast(1)
  expect(warning).toContain(`${path} is open in this process with two SQLite libraries`)
  const found = (await store.diagnose?.())?.filter(({ check }) => check === 'libraries')
  expect(found).toMatchObject([{ severity: 'error', text: expect.stringContaining('two SQLite libraries') }])
})

test.runIf(canTell)('several connections of one library do not count as two libraries', async () => {
  const path = newPath()
  const stores = [open(path), open(path)]
  for (const store of stores) await store.workers.join('one', { queues: [], seconds: 15, host: '' })
  expect(await isOpenTwice(path)).toBe(false)
})

test.runIf(driverName() === 'node')('the doctor names SQLite libraries that the process has loaded', async () => {
  const other = await openDriver(':memory:', 'libsql')
  other.close()
  const store = open(newPath())
  await store.open()
  const found = (await store.diagnose?.())?.filter(({ check }) => check === 'libraries')
  expect(found).toMatchObject([
    { severity: 'warning', text: expect.stringMatching(/beside that of the store: libsql$/) },
  ])
})
