/** Finds the process that holds the write lock of a SQLite file, as far as the system shows it. */

import { readFileSync, statSync } from 'node:fs'

/** A writer in WAL mode locks this byte of the `-shm` file. */
const WRITE_LOCK_BYTE = 120
const MOST_CHARACTERS = 100

/**
 * Returns for instance `process 4711 (node worker.js)`; undefined where the system has no /proc/locks or does not name
 * it.
 */
export function lockHolder(path: string): string | undefined {
  try {
    const inode = statSync(`${path}-shm`).ino
    for (const line of readFileSync('/proc/locks', 'utf8').split('\n')) {
      // Example of a line: 1: POSIX  ADVISORY  WRITE 4711 08:01:131 120 120
      const [, , , mode, pid, file = '', from, to] = line.trim().split(/\s+/)
      if (mode !== 'WRITE' || !file.endsWith(`:${inode}`) || !(Number(pid) > 0)) continue
      if (Number(from) > WRITE_LOCK_BYTE || (to !== 'EOF' && Number(to) < WRITE_LOCK_BYTE)) continue
      return `process ${pid} (${commandOf(Number(pid))})`
    }
  } catch {
    // This is not Linux, or the file is gone.
  }
  return undefined
}

function commandOf(pid: number): string {
  if (pid === process.pid) return 'another connection of this process'
  const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim()
  return command.length > MOST_CHARACTERS ? `${command.slice(0, MOST_CHARACTERS)}…` : command
}
