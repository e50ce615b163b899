import { execFileSync } from 'node:child_process'
import { mkdirSync, statfsSync, statSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Driver } from '#dist/store/sqlite/file/driver.js'
import { openDriver } from '#dist/store/sqlite/file/open-driver.js'
import { type Environment, FAULT_MS, type Fault, type Figures, millisecondsOf } from './fault.ts'

/** The size of the disk in megabytes; each job needs less than a kilobyte. */
const DISK = 8192
/** How often the disk is made smaller, until it is as small as what is on it. */
const TRIES = 100

/** A file, on a disk of its own if this user may mount one. Then the disk fills up, too. */
export async function sqliteEnvironment(folder: string): Promise<Environment> {
  const disk = `${folder}/disk`
  mkdirSync(disk)
  const isMounted = mount(disk, `size=${DISK}m`)
  const file = `${disk}/chaos.db`
  const url = `sqlite:${file}`
  let reader: Driver | undefined
  const fillDisk: Fault = {
    target: 'server',
    async inject(planned) {
      shrink(disk)
      await sleep(millisecondsOf(FAULT_MS, planned))
      if (!mount(disk, `remount,size=${DISK}m`)) throw new Error(`the disk ${disk} could not get its size back`)
    },
  }
  return {
    url,
    directUrl: url,
    faults: isMounted ? { 'fill disk': fillDisk } : {},
    async measure() {
      reader ??= await openDriver(file)
      return figuresOf(reader, file)
    },
    async close() {
      reader?.close()
      if (isMounted) execFileSync('umount', ['-l', disk])
    },
  }
}

function figuresOf(db: Driver, file: string): Figures {
  const sizeOf = (path: string) => (statSync(path, { throwIfNoEntry: false })?.size ?? 0) / 1e6
  const tables = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE 'hk%'").all()
  const names = (tables as { name: string }[]).map(({ name }) => name)
  const counts = names.map((name) => `SELECT '${name}' AS name, count(*) AS count FROM ${name}`).join(' UNION ALL ')
  const rows = db.prepare(counts).all() as { name: string; count: number }[]
  return {
    megabytes: { file: sizeOf(file), log: sizeOf(`${file}-wal`) },
    rows: Object.fromEntries(rows.map(({ name, count }) => [name, Number(count)])),
    handles: {},
  }
}

/** Leaves no free space on a disk. It can't become smaller than what is on it, and that grows meanwhile. */
function shrink(disk: string): void {
  for (let n = 0; n < TRIES; n++) if (mount(disk, `remount,size=${bytesOn(disk)}`)) return
  throw new Error(`the disk ${disk} could not be filled: ${TRIES} times mount refused the size of what is on it`)
}

function bytesOn(disk: string): number {
  const { blocks, bfree, bsize } = statfsSync(disk)
  return (blocks - bfree) * bsize
}

function mount(disk: string, options: string): boolean {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', disk], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}
