/** Examines the file of a store, and its disk. To add a check, add a function to `CHECKS`. */

import { accessSync, constants, existsSync, statfsSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { finding } from '../../contract/finding-texts.ts'
import { type Check, type Finding, runChecks } from '../../contract.ts'
import type { DatabaseOptions } from './database.ts'
import { isOpenTwice, openedTwice, otherLibraries } from './libraries.ts'
import { readVersion } from './migration-plan.ts'
import { driverName } from './open-driver.ts'
import { OLDEST_VERSION, SCHEMA_VERSION } from './schema-version.ts'

const LITTLE_BYTES = 1e9
const NOTHING_BYTES = 100e6
/** Two times the size above which Highkiq empties the log. */
const LARGE_LOG_BYTES = 128 * 1024 * 1024
/** Types of file systems in statfs(2), by their numbers on Linux. */
const NETWORK: Record<number, string> = { 26985: 'NFS', 20859: 'SMB', 4283649346: 'CIFS', 4266872130: 'SMB2' }

const CHECKS: Record<string, Check<DatabaseOptions>> = {
  file({ path }) {
    const size = sizeOf(path)
    try {
      accessSync(dirname(path), constants.W_OK)
      if (size !== undefined) accessSync(path, constants.W_OK)
    } catch {
      return finding('error', 'sqlite-file-read-only', { path })
    }
    if (size === undefined) return finding('ok', 'sqlite-file-new', { path })
    return finding('ok', 'sqlite-file-ok', { path, bytes: size })
  },

  async schema({ path, driver }) {
    // Opening the store says why a file can't be read.
    // Another library than that of the store, which has the file open, would drop the store's locks when it closes the file.
    const version = await readVersion(path, driver).catch(() => 0)
    if (version < OLDEST_VERSION || version >= SCHEMA_VERSION) return undefined
    const found = { path, version, needed: SCHEMA_VERSION }
    if (version === OLDEST_VERSION) return finding('warning', 'sqlite-of-0.1', found)
    return finding('warning', 'sqlite-of-older', found)
  },

  async libraries({ path, driver }) {
    if (await isOpenTwice(path)) return openedTwice(path)
    const others = [...new Set(otherLibraries(driverName(driver)))]
    if (others.length === 0) return undefined
    return finding('warning', 'sqlite-libraries', { path, libraries: others.join(', ') })
  },

  disk({ path }) {
    // The check of the file reports a folder that is missing.
    if (!existsSync(dirname(path))) return undefined
    const { bavail, bsize, type } = statfsSync(dirname(path))
    const system = NETWORK[type]
    if (system !== undefined) return finding('error', 'sqlite-on-network', { system })
    const bytes = bavail * bsize
    const severity = bytes > LITTLE_BYTES ? 'ok' : bytes > NOTHING_BYTES ? 'warning' : 'error'
    return finding(severity, 'disk-free', { bytes })
  },

  log({ path }) {
    const bytes = sizeOf(`${path}-wal`) ?? 0
    if (bytes < LARGE_LOG_BYTES) return finding('ok', 'sqlite-log-ok', { bytes })
    return finding('warning', 'sqlite-log-large', { bytes, path })
  },
}

/** Returns nothing for a store in memory. */
export async function diagnose(options: DatabaseOptions): Promise<Finding[]> {
  const { path } = options
  if (path === ':memory:') return []
  const failed = (error: string) => finding('warning', 'sqlite-check-failed', { error })
  return runChecks(CHECKS, { ...options, path: resolve(path) }, failed)
}

function sizeOf(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.size
}
