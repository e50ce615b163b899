/**
 * Finds SQLite libraries of this process that do not see each other's locks. On Linux and macOS locks belong to the process, so two
 * libraries that have one file open write at the same time, and destroy it.
 */

import { readFile, realpath } from 'node:fs/promises'
import { finding } from '../../contract/finding-texts.ts'
import type { DriverName } from './driver.ts'

/** How often the file is checked: the app may open it after its store. */
const EVERY_MS = 60_000
/** The native files of libraries that contain a SQLite. */
const LIBRARIES: readonly (readonly [file: RegExp, name: string])[] = [
  [/better_sqlite3\.node$/, 'better-sqlite3'],
  [/node_sqlite3\.node$/, 'sqlite3'],
  [/query_engine[^/\\]*\.node$/, "Prisma's query engine"],
  [/@libsql[/\\][^/\\]+[/\\]index\.node$/, 'libsql'],
]

export const openedTwice = (path: string) => finding('error', 'sqlite-open-twice', { path })

/**
 * Returns whether two libraries of this process have the file open: each maps the beginning of the file's `-shm` for itself. Only
 * Linux tells this; elsewhere the answer is false.
 */
export async function isOpenTwice(path: string): Promise<boolean> {
  try {
    const [maps, shared] = await Promise.all([readFile('/proc/self/maps', 'utf8'), realpath(`${path}-shm`)])
    const mappings = maps.split('\n').filter((line) => line.endsWith(` ${shared}`))
    return mappings.filter((line) => /^\S+ \S+ 0+ /.test(line)).length > 1
  } catch {
    return false
  }
}

/** Calls `warn` once two libraries have the file open. @returns a function that ends this */
export function watchLibraries(path: string, warn: (message: string) => void): () => void {
  const check = async () => {
    if (!(await isOpenTwice(path))) return
    clearInterval(timer)
    const { text, advice } = openedTwice(path)
    warn(`${text}. ${advice}`)
  }
  const timer = setInterval(check, EVERY_MS).unref()
  void check()
  return () => clearInterval(timer)
}

/** Returns the SQLite libraries that this process has loaded beside that of the driver. A second copy of libsql is one. */
export function otherLibraries(driver: DriverName): string[] {
  const { moduleLoadList = [] } = process as { moduleLoadList?: string[] }
  const loaded = sharedObjects().flatMap((file) => LIBRARIES.find(([pattern]) => pattern.test(file))?.[1] ?? [])
  if (moduleLoadList.includes('NativeModule sqlite')) loaded.push('node:sqlite')
  const own = loaded.indexOf(driver === 'libsql' ? 'libsql' : 'node:sqlite')
  return loaded.filter((_, i) => i !== own)
}

/** Returns the paths of the native libraries of this process. */
function sharedObjects(): string[] {
  const report = process.report as (NodeJS.ProcessReport & { excludeNetwork?: boolean }) | undefined
  if (!report) return []
  const { excludeNetwork = false } = report
  // Otherwise the report looks up the names of all connected hosts.
  report.excludeNetwork = true
  try {
    return (report.getReport() as { sharedObjects?: string[] }).sharedObjects ?? []
  } finally {
    report.excludeNetwork = excludeNetwork
  }
}
