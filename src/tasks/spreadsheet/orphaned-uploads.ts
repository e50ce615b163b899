/** Names the folders with temporary copies of uploads, and removes the orphaned ones, those of killed processes. */

import { createHash } from 'node:crypto'
import { lstat, opendir, rmdir, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { isProcessGone, thisHost } from '../../worker/lease/host.ts'

/** The only file in such a folder. */
export const COPY = 'upload'
/** The machine with its pid namespace, the pid and the start of the process; then what `mkdtemp` adds. */
const NAME = /^highkiq-upload-(?:([0-9a-f]{12})-(\d+)-(\d+)|unknown)-[^-]{6}$/
const DAY_MS = 86_400_000
/** A process checks a folder at most this often. */
const BETWEEN_MS = 3_600_000
const STICKY = 0o1000
const WRITABLE_BY_OTHERS = 0o022
const OPEN_TO_OTHERS = 0o077

/** When this process last checked a folder, on the monotonic clock. */
const lookedAt = new Map<string, number>()

/** Returns the name of a new folder without its random end. It names this process where the system shows it. */
export function uploadPrefix(): string {
  const here = thisHost()
  return here ? `highkiq-upload-${machineOf(here.key)}-${here.pid}-${here.started}-` : 'highkiq-upload-unknown-'
}

function machineOf(key: string): string {
  return createHash('sha256').update(key).digest('hex').slice(0, 12)
}

/** Removes the orphaned folders in `folder`, unless this process checked it in the last hour. Never throws. */
export async function removeOrphanedUploads(folder: string): Promise<void> {
  const last = lookedAt.get(folder)
  if (last !== undefined && performance.now() - last < BETWEEN_MS) return
  lookedAt.set(folder, performance.now())
  try {
    if (!(await isSafe(folder))) return
    for await (const { name } of await opendir(folder)) {
      // The check of the next hour tries again.
      await removeIfOrphaned(join(folder, name), name).catch(() => {})
    }
  } catch {
    // The folder can't be read. Whoever wants to write there gets an error that says so.
  }
}

/** Returns whether no other user can rename what this user has in a folder. */
async function isSafe(folder: string): Promise<boolean> {
  const { uid, mode } = await lstat(join(folder, '.'))
  if (process.getuid === undefined) return true
  if (uid !== process.getuid() && uid !== 0) return false
  return (mode & WRITABLE_BY_OTHERS) === 0 || (mode & STICKY) !== 0
}

/**
 * Removes a folder whose process is gone, or that is a day old when this process can't know that. Another user may have made
 * anything with this name: only a real folder of this user counts, and only the copy and the empty folder are removed.
 */
async function removeIfOrphaned(path: string, name: string): Promise<void> {
  const [isOurs, machine, pid, started] = NAME.exec(name) ?? []
  if (isOurs === undefined) return
  const about = await lstat(path)
  if (!about.isDirectory()) return
  if (process.getuid && (about.uid !== process.getuid() || (about.mode & OPEN_TO_OTHERS) !== 0)) return
  const here = thisHost()
  const isHere = here !== undefined && machine === machineOf(here.key)
  const copy = join(path, COPY)
  if (isHere ? !isProcessGone(`${here.key}\n${pid} ${started}`, here) : !(await isOld(path, copy))) return
  await unlink(copy).catch(() => {})
  await rmdir(path)
}

async function isOld(...paths: string[]): Promise<boolean> {
  const times = await Promise.all(
    paths.map((path) =>
      lstat(path)
        .then(({ mtimeMs }) => mtimeMs)
        .catch(() => 0),
    ),
  )
  return Date.now() - Math.max(...times) > DAY_MS
}
