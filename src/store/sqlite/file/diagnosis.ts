/** Examines the file of a store, and its disk. To add a check, add a function to `CHECKS`. */

import { accessSync, constants, existsSync, statfsSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { megabytes } from '../../../job/plural.ts'
import { type Check, type Finding, runChecks } from '../../contract.ts'
import type { DatabaseOptions } from './database.ts'
import { isOpenTwice, ONE_LIBRARY, openedTwice, otherLibraries } from './libraries.ts'
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
      const text = `${path} or its folder is read-only for this user, or missing`
      return {
        severity: 'error',
        text,
        advice: 'Give this user the right to write to both, and see how the disk is mounted',
      }
    }
    return { severity: 'ok', text: size === undefined ? `${path} will be created` : `${path}, ${megabytes(size)}` }
  },

  async schema({ path, driver }) {
    // Opening the store says why a file can't be read.
    // Another library than that of the store, which has the file open, would drop the store's locks when it closes the file.
    const version = await readVersion(path, driver).catch(() => 0)
    if (version < OLDEST_VERSION || version >= SCHEMA_VERSION) return undefined
    const from = version === OLDEST_VERSION ? 'Highkiq 0.1' : 'an older Highkiq'
    return {
      severity: 'warning',
      text: `${path} was written by ${from} (schema ${version}, this version needs ${SCHEMA_VERSION}), so its jobs were not examined`,
      advice: 'Stop the processes of the older version, and copy the file: the next worker or command migrates it',
    }
  },

  async libraries({ path, driver }) {
    if (await isOpenTwice(path)) return { severity: 'error', text: openedTwice(path), advice: ONE_LIBRARY }
    const others = [...new Set(otherLibraries(driverName(driver)))]
    if (others.length === 0) return undefined
    const text = `this process has loaded other SQLite libraries beside that of the store: ${others.join(', ')}`
    return {
      severity: 'warning',
      text,
      advice: `Make sure that none of them opens ${path} in a process that has it open: two libraries in one process destroy a file`,
    }
  },

  disk({ path }) {
    // The check of the file reports a folder that is missing.
    if (!existsSync(dirname(path))) return undefined
    const { bavail, bsize, type } = statfsSync(dirname(path))
    const network = NETWORK[type]
    if (network !== undefined) {
      const text = `the file is on a network file system (${network}), where SQLite's locks do not work`
      return { severity: 'error', text, advice: 'Move it to a local disk, or use Redis' }
    }
    const free = bavail * bsize
    const text = `${megabytes(free)} of the disk are free`
    if (free > LITTLE_BYTES) return { severity: 'ok', text }
    const advice = "Free some space: on a full disk pushes are refused, and running jobs can't be settled"
    return { severity: free > NOTHING_BYTES ? 'warning' : 'error', text, advice }
  },

  log({ path }) {
    const size = sizeOf(`${path}-wal`) ?? 0
    const text = `the log has ${megabytes(size)}`
    if (size < LARGE_LOG_BYTES) return { severity: 'ok', text }
    return {
      severity: 'warning',
      text: `${text}: a program that reads the file in one long transaction keeps it from being emptied`,
      advice: `Find the program, for instance with "fuser ${path}", and let it end its transaction`,
    }
  },
}

/** Returns nothing for a store in memory. */
export async function diagnose(options: DatabaseOptions): Promise<Finding[]> {
  const { path } = options
  if (path === ':memory:') return []
  return runChecks(
    CHECKS,
    { ...options, path: resolve(path) },
    { severity: 'warning', advice: 'See what the checks of the store say' },
  )
}

function sizeOf(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.size
}
