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

/**
 * The host as the text with which an owner joins: the machine, then the process. Each is empty where the system does
 * not show it.
 */
export function thisHostText(): string {
  const here = thisHost()
  return here ? hostText(here) : ''
}

export function hostText({ key, pid, started }: Host): string {
  return `${key}\n${pid} ${started}`
}

/** True only when it is certain: the pid is not there, is a zombie, or was given to another process. */
export function isGone(text: string, here: Host | undefined): boolean {
  if (!here || text === '') return false
  try {
    const [key, process = ''] = text.split('\n')
    const [, pid, started] = /^(\d+) (\d+)$/.exec(process) ?? []
    if (key !== here.key || pid === undefined) return false
    return isPidFree(Number(pid)) || startTime(Number(pid)) !== started
  } catch {
    // No free file descriptor, or somebody else's process that we may not look at: nothing is known.
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
 * Field 22 of /proc/PID/stat, counted behind the command's closing bracket; undefined for a zombie, which does not run
 * any more. Throws when it can't be read.
 */
function startTime(pid: number): string | undefined {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return fields[0] === 'Z' || fields[0] === 'X' ? undefined : fields[19]
}
