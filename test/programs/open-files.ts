import { spawnSync } from 'node:child_process'
import { findInPath } from '../../scripts/path.js'

/** Fewer than any process has open: it opens none. */
const NO_FILES = 3

/** Whether `closeFiles` works: on Linux, with util-linux. */
export const canLimitFiles = findInPath('prlimit') !== undefined

/** Keeps a process from opening files and connections. Returns what ends that. */
export function closeFiles(pid: number): () => void {
  const [before = ''] = prlimit(pid, '--nofile', '--output', 'SOFT', '--noheadings').split('\n')
  prlimit(pid, `--nofile=${NO_FILES}:`)
  return () => void prlimit(pid, `--nofile=${before.trim()}:`)
}

function prlimit(pid: number, ...options: string[]): string {
  return spawnSync('prlimit', ['--pid', String(pid), ...options], { encoding: 'utf8' }).stdout
}
