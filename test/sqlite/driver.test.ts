import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { Driver } from '#dist/store/sqlite/file/driver.js'
import { openDriver } from '#dist/store/sqlite/file/open-driver.js'

/** Two connections to a new file with the table `t`, which do not wait while it is locked. */
async function twoConnections(): Promise<{ holder: Driver; other: Driver }> {
  const dir = mkdtempSync(join(tmpdir(), 'hk-driver-'))
  const path = join(dir, 'a.db')
  const [holder, other] = [await openDriver(path), await openDriver(path)]
  onTestFinished(() => {
    for (const driver of [holder, other]) driver.close()
    rmSync(dir, { recursive: true })
  })
  for (const driver of [holder, other]) driver.exec('PRAGMA busy_timeout = 0')
  holder.exec('CREATE TABLE t (id)')
  return { holder, other }
}

test('a statement returns rows by column name, and can be used again after an error', async () => {
  const driver = await openDriver(':memory:')
  driver.exec('CREATE TABLE t (id INTEGER PRIMARY KEY, text TEXT NOT NULL)')
  const add = driver.prepare('INSERT INTO t (text) VALUES (?) RETURNING id, text')
  const read = driver.prepare('SELECT id, text FROM t WHERE id > ?')
  expect({ ...(add.get('one') as object) }).toEqual({ id: 1, text: 'one' })
  for (const name of ['get', 'all'] as const) {
    for (let n = 0; n < 2; n++) expect(() => add[name](null)).toThrow(/NOT NULL/)
  }
  expect({ ...(add.get('two') as object) }).toEqual({ id: 2, text: 'two' })
  expect(read.get(2)).toBeUndefined()
  expect({ ...(read.get(0) as object) }).toEqual({ id: 1, text: 'one' })
  expect(read.all(0).map((row) => ({ ...(row as object) }))).toEqual([
    { id: 1, text: 'one' },
    { id: 2, text: 'two' },
  ])
  driver.close()
})

test("with libsql a statement that fails throws its own error, also when it can't be prepared again", async () => {
  const driver = await openDriver(':memory:', 'libsql')
  driver.exec('CREATE TABLE t (id INTEGER PRIMARY KEY, text TEXT NOT NULL)')
  const add = driver.prepare('INSERT INTO t (text) VALUES (?) RETURNING id, text')
  const db = Object.getPrototypeOf(driver.connection) as { prepare?: unknown }
  const prepare = db.prepare
  db.prepare = () => {
    throw new Error('no statement can be prepared')
  }
  expect(() => add.get(null)).toThrow(/NOT NULL/)
  expect(() => add.get('one')).toThrow('no statement can be prepared')
  db.prepare = prepare
  expect(add.get('one')).toEqual({ id: 1, text: 'one' })
  driver.close()
})

test('a statement that found the file locked keeps no lock once it has run again', async () => {
  const { holder, other } = await twoConnections()
  const version = other.prepare('PRAGMA user_version')
  holder.exec('BEGIN EXCLUSIVE')
  other.exec('BEGIN')
  expect(() => version.get()).toThrow('locked')
  other.exec('COMMIT')
  holder.exec('COMMIT')
  other.exec('BEGIN')
  expect(version.get()).toMatchObject({ user_version: 0 })
  other.exec('COMMIT')
  // Any lock of the other connection would make this throw.
  holder.exec('BEGIN EXCLUSIVE')
})

test.each(['get', 'all'] as const)(
  'a statement that found the file locked and is not used again keeps no old state of the file (%s)',
  async (name) => {
    const { holder, other } = await twoConnections()
    const version = other.prepare('PRAGMA user_version')
    const begin = other.prepare('BEGIN IMMEDIATE')
    holder.exec('BEGIN EXCLUSIVE')
    expect(() => version[name]()).toThrow('locked')
    // Still locked: it can't end yet.
    expect(() => begin.run()).toThrow('locked')
    holder.exec('COMMIT')
    holder.exec('PRAGMA journal_mode = WAL')
    for (let n = 0; n < 3; n++) {
      holder.exec('INSERT INTO t VALUES (1)')
      // With an old state of the file this would throw, however often it is tried.
      begin.run()
      other.exec('INSERT INTO t VALUES (2)')
      other.exec('COMMIT')
    }
  },
)
