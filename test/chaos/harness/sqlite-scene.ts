import { execFileSync } from 'node:child_process'
import { mkdirSync, statfsSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Fault, millisecondsOf, PAUSED_MS, type Scene } from './fault.ts'

/** The size of the disk in megabytes; each job needs less than a kilobyte. */
const DISK = 8192

/** A file, on a disk of its own if this user may mount one. Then the disk fills up, too. */
export async function sqliteScene(folder: string): Promise<Scene> {
  const disk = `${folder}/disk`
  mkdirSync(disk)
  const isMounted = mount(disk, `size=${DISK}m`)
  const url = `sqlite:${disk}/chaos.db`
  const fillDisk: Fault = {
    victim: 'server',
    async strike(strike) {
      // A disk can't become smaller than what is on it, and that grows.
      while (!mount(disk, `remount,size=${bytesOn(disk)}`)) {}
      await sleep(millisecondsOf(PAUSED_MS, strike))
      mount(disk, `remount,size=${DISK}m`)
    },
  }
  return {
    url,
    calmUrl: url,
    faults: isMounted ? { 'fill disk': fillDisk } : {},
    async close() {
      if (isMounted) execFileSync('umount', ['-l', disk])
    },
  }
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
