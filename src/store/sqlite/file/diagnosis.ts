/** Examines the file of a store, and its disk. To add a check, add a function to `CHECKS`. */

import { accessSync, constants, statfsSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { megabytes } from '../../../job/plural.ts'
import type { Finding } from '../../contract.ts'

type Check = (path: string) => Omit<Finding, 'check'> | undefined

const LITTLE_BYTES = 1e9
const NOTHING_BYTES = 100e6
/** Two times the size above which Highkiq empties the log. */
const LARGE_LOG_BYTES = 128 * 1024 * 1024
/** Types of file systems in statfs(2), by their numbers on Linux. */
const NETWORK: Record<number, string> = { 26985: 'NFS', 20859: 'SMB', 4283649346: 'CIFS', 4266872130: 'SMB2' }

const CHECKS: Record<string, Check> = {
  file(path) {
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

  disk(path) {
    const { bavail, bsize, type } = statfsSync(dirname(path))
    const network = NETWORK[type]
    if (network !== undefined) {
      const text = `the file is on a network file system (${network}), where SQLite's locks do not work`
      return { severity: 'error', text, advice: 'Move it to a local disk, or use Redis' }
    }
    const free = bavail * bsize
    const text = `${megabytes(free)} of the disk are free`
    if (free > LITTLE_BYTES) return { severity: 'ok', text }
    const advice = 'Free some space: on a full disk pushes are refused, and running jobs can not be settled'
    return { severity: free > NOTHING_BYTES ? 'warning' : 'error', text, advice }
  },

  log(path) {
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
export function diagnose(path: string): Finding[] {
  if (path === ':memory:') return []
  const absolute = resolve(path)
  return Object.entries(CHECKS).flatMap(([check, run]) => {
    const result = guarded(run, absolute)
    return result ? [{ check, ...result }] : []
  })
}

/** A folder that is missing is reported by the check of the file. */
function guarded(run: Check, path: string): ReturnType<Check> {
  try {
    return run(path)
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw thrown
  }
}

function sizeOf(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.size
}
