/** Copies the file of a store while other processes use it. */

import { randomUUID } from 'node:crypto'
import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { HighkiqError, invalidOption, messageOf } from '../../../job/errors.ts'
import type { DatabaseOptions } from './database.ts'
import type { Driver } from './driver.ts'
import { FULL, unusable } from './errors.ts'
import { openDriver } from './open-driver.ts'

const WAIT_MS = 5000

/**
 * Copies the file, as it is at one moment, to a new file. The copy has the schema of the file, even when that is an older
 * one. A failed copy is removed. A killed process leaves its copy as `TO.….part`.
 * @throws INVALID_OPTION, STORE_FULL, STORE_UNUSABLE
 */
export async function backUp({ path, driver: name }: DatabaseOptions, to: string): Promise<void> {
  if (path === ':memory:') throw invalidOption('a store in memory has no file to copy')
  // SQLite would create a missing file.
  if (!existsSync(path)) throw invalidOption(`there is no file ${path}: name the file of a store`)
  // SQLite would apply a log or journal that an earlier file has left behind to the copy.
  const existing = ['', '-wal', '-shm', '-journal'].map((end) => to + end).find((file) => existsSync(file))
  if (existing !== undefined) throw invalidOption(`${existing} exists already: name a new file, or remove that one`)
  const part = `${to}.${randomUUID()}.part`
  try {
    // Only this user may read the copy. SQLite writes into an empty file.
    closeSync(openSync(part, 'wx', 0o600))
  } catch (thrown) {
    throw notWritable(to, thrown)
  }
  let driver: Driver | undefined
  try {
    driver = await openDriver(path, name)
    driver.exec(`PRAGMA busy_timeout = ${WAIT_MS}`)
    driver.exec(`VACUUM INTO '${part.replaceAll("'", "''")}'`)
    // SQLite does not wait until the copy is on the disk.
    sync(part, 'r+')
    renameSync(part, to)
  } catch (thrown) {
    rmSync(part, { force: true })
    throw explained(thrown, path, to, driver?.resultCode(thrown))
  } finally {
    driver?.close()
  }
  try {
    sync(dirname(to), 'r')
  } catch {
    // Not every system can open a folder.
  }
}

function sync(path: string, flags: string): void {
  const file = openSync(path, flags)
  try {
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}

function explained(thrown: unknown, path: string, to: string, code: number | undefined): unknown {
  if (thrown instanceof HighkiqError) return thrown
  if ((thrown as NodeJS.ErrnoException).syscall) return notWritable(to, thrown)
  if (code !== FULL) return unusable(path, code, thrown)
  const message = `${to}: the disk is full, and no copy was made: free some space, or name another disk`
  return new HighkiqError('STORE_FULL', message, undefined, { cause: thrown })
}

function notWritable(to: string, thrown: unknown): HighkiqError {
  return invalidOption(
    `${to} can't be written (${messageOf(thrown)}): name a file in a folder that exists and that this user may write to`,
  )
}
