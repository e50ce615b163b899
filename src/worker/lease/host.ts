/** Identifies the process of an owner, so that another process of the same machine sees at once that it died. */

import { readFileSync, readlinkSync } from 'node:fs'

export interface Host {
  /** The boot of the machine and the pid namespace: equal for processes that see each other's pids. */
  key: string
  pid: number
  /** When the process started, in the kernel's count: it tells processes apart that had the same pid. */
  started: string
}

/** Returns undefined where the system does not show it; then only the lease decides. */
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

/**
 * Returns the text with which an owner joins: the machine, then the process. It is empty where the system does not show
 * them.
 */
export function thisHostText(): string {
  const here = thisHost()
  return here ? hostText(here) : ''
}

export function hostText({ key, pid, started }: Host): string {
  return `${key}\n${pid} ${started}`
}

/** Returns true only when the process is certainly gone: its pid is free, a zombie's, or another process's. */
export function isProcessGone(text: string, here: Host | undefined): boolean {
  if (!here || text === '') return false
  try {
    const [key, process = ''] = text.split('\n')
    const [, pid, started] = /^(\d+) (\d+)$/.exec(process) ?? []
    if (key !== here.key || pid === undefined) return false
    return isPidFree(Number(pid)) || startTime(Number(pid)) !== started
  } catch {
    // No free file descriptor, or no permission to read about that process: nothing is known.
    return false
  }
}

function isPidFree(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return false
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code === 'ESRCH'
  }
}

/**
 * Reads field 22 of /proc/PID/stat, counted from the closing bracket of the command. Returns undefined for a zombie.
 * Throws when the file can't be read.
 */
function startTime(pid: number): string | undefined {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return fields[0] === 'Z' || fields[0] === 'X' ? undefined : fields[19]
}
