/** Where an owner runs, so that a process beside it can tell at once that it died. */

import { readFileSync, readlinkSync } from 'node:fs'

export interface Host {
  /** The same for processes that see each other's pids: this start of the machine and its pid namespace. */
  key: string
  pid: number
  /** When that process started, in the kernel's count: a pid that was given out again is another process. */
  started: string
}

/** Undefined where the system does not tell; then only the lease decides. */
export function thisHost(): Host | undefined {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
    const started = startTime(process.pid)
    if (started === undefined) return undefined
    return { key: `${boot} ${readlinkSync('/proc/self/ns/pid')}`, pid: process.pid, started }
  } catch {
    return undefined
  }
}

/** True only when it is certain. */
export function isGone(text: string, here: Host | undefined): boolean {
  if (!here || text === '') return false
  try {
    const there = JSON.parse(text) as Host
    return there.key === here.key && startTime(there.pid) !== there.started
  } catch {
    return false
  }
}

/** Field 22 of /proc/PID/stat, counted behind the command's closing bracket. A zombie does not run any more. */
function startTime(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return fields[0] === 'Z' || fields[0] === 'X' ? undefined : fields[19]
  } catch {
    return undefined
  }
}
