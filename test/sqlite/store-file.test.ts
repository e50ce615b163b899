/** The file of a store: what its reads see, and what becomes of its writes when it is locked, closed or examined. */

import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openStore } from '#dist/store/open.js'
import { Checkpoints } from '#dist/store/sqlite/file/checkpoints.js'
import { Database } from '#dist/store/sqlite/file/database.js'
import type { Driver } from '#dist/store/sqlite/file/driver.js'
import { openDriver } from '#dist/store/sqlite/file/open-driver.js'
import { StoreFile } from '#dist/store/sqlite/file/store-file.js'

const LONG_MS = 60_000

function newPath(): string {
  const folder = mkdtempSync(join(tmpdir(), 'hk-store-file-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, 'a.db')
}

/** A file with another connection, which has a table of its own. */
async function newFile(): Promise<{ file: StoreFile; other: Driver }> {
  const path = newPath()
  const file = new StoreFile({ path, synchronous: 'NORMAL' })
  await file.open()
  const other = await openDriver(path)
  other.exec('CREATE TABLE t (id)')
  onTestFinished(async () => {
    other.close()
    await file.close()
  })
  return { file, other }
}

test('after a write that found the file locked and gave up, reads see what others write from then on', async () => {
  const { file, other } = await newFile()
  const count = () => file.read((db) => db.first<{ n: number }>('SELECT count(*) AS n FROM t')?.n)
  expect(await count()).toBe(0)
  other.exec('BEGIN IMMEDIATE')
  other.exec('INSERT INTO t VALUES (1)')
  await expect(file.write(() => 1, 0)).rejects.toMatchObject({ code: 'STORE_TIMEOUT' })
  expect(await count()).toBe(0)
  other.exec('COMMIT')
  expect(await count()).toBe(1)
  other.exec('INSERT INTO t VALUES (1)')
  expect(await count()).toBe(2)
})

test('the time for which the file is locked counts from zero again after a write that gave up', async () => {
  const { file, other } = await newFile()
  other.exec('BEGIN IMMEDIATE')
  await expect(file.write(() => 1, 0)).rejects.toMatchObject({ code: 'STORE_TIMEOUT' })
  other.exec('ROLLBACK')
  const now = performance.now.bind(performance)
  // A minute later it is locked for a moment, while the store closes.
  performance.now = () => now() + LONG_MS
  onTestFinished(() => {
    performance.now = now
  })
  other.exec('BEGIN IMMEDIATE')
  const written = file.write(() => 'stored')
  await file.read(() => 1)
  setTimeout(() => other.exec('ROLLBACK'), 20)
  const closed = file.close()
  expect(await written).toBe('stored')
  await closed
})

test('two calls of close resolve when the write before them is stored', async () => {
  const { file } = await newFile()
  const written = file.write(() => 'stored')
  await file.read(() => 1)
  const again = file.write(() => 'also')
  await Promise.all([file.close(), file.close()])
  expect(await Promise.all([written, again])).toEqual(['stored', 'also'])
})

test('a first wait ends at a write that another connection made before it, and after the opening', async () => {
  const { file, other } = await newFile()
  await file.read((db) => db.first('SELECT id FROM t'))
  other.exec('INSERT INTO t VALUES (1)')
  const began = performance.now()
  await file.wait(['nobody'], LONG_MS, new AbortController().signal)
  expect(performance.now() - began).toBeLessThan(LONG_MS / 2)
})

test('where Node starts no thread, each commit copies the log', async () => {
  const path = newPath()
  const db = await Database.open({ path, synchronous: 'NORMAL' })
  onTestFinished(() => db.close())
  db.exec('CREATE TABLE t (bytes)')
  const warnings: string[] = []
  // A function can't be sent to a thread, so none starts.
  const driver = (() => {}) as unknown as 'libsql'
  const checkpoints = new Checkpoints(db, { path, synchronous: 'NORMAL', driver }, (message) => warnings.push(message))
  for (let n = 0; n < 3; n++) {
    for (let i = 0; i < 20; i++) db.run('INSERT INTO t VALUES (zeroblob(1000000))')
    await new Promise((resolve) => setTimeout(resolve, 25))
    checkpoints.committed()
  }
  expect(warnings).toHaveLength(1)
  // A log that is copied is written from its beginning again.
  expect(statSync(`${path}-wal`).size).toBeLessThan(45_000_000)
})

test.skipIf(process.platform !== 'linux')('an examination of the file keeps the locks of the store', async () => {
  const path = newPath()
  const store = openStore(`sqlite:${path}?driver=libsql`)
  onTestFinished(() => store.close())
  await store.open()
  await store.workers.join('one', { queues: [], seconds: 15, host: '' })
  // Linux lists the locks of a file by its inode.
  const files = [path, `${path}-shm`].map((file) => `:${statSync(file).ino} `)
  const locks = () =>
    readFileSync('/proc/locks', 'utf8')
      .split('\n')
      .filter((line) => files.some((file) => line.includes(file))).length
  const before = locks()
  expect(before).toBeGreaterThan(0)
  await store.diagnose?.()
  expect(locks()).toBe(before)
})
