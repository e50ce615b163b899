import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { findInPath } from '../../../scripts/path.js'
import type { Crew } from '../crew.ts'
import { type Fault, millisecondsOf, PAUSED_MS } from './fault.ts'
import type { Strike } from './plan.ts'

/** A process is frozen for longer than a lease of one second and a third. */
const FROZEN_MS = [2000, 4000] as const
/** A clock is set so many milliseconds back or forward. */
const CLOCK_MS = [-15_000, 15_000] as const
/** Fewer than any process has open: it opens none. */
const NO_FILES = 3

/** The faults of processes, which all stores have. `lose` counts what a stopped worker has. */
export function faultsOfProcesses(
  workers: Crew,
  pushers: Crew,
  folder: string,
  lose: (pid: number) => Promise<void>,
): Record<string, Fault> {
  const kill = (crew: Crew, strike: Strike) => crew.replace(() => strike.pick)
  const freeze = (crew: Crew, strike: Strike) => crew.freeze(millisecondsOf(FROZEN_MS, strike), () => strike.pick)
  /** Workers on the same host rescue the jobs of a dead process at once, so it is stopped while they are counted. */
  const killWorker = async (strike: Strike) => {
    const victim = workers.one(() => strike.pick)
    victim?.kill('SIGSTOP')
    if (victim?.pid) await lose(victim.pid)
    await kill(workers, strike)
  }
  const freezeWorker = async (strike: Strike) => {
    const pid = workers.one(() => strike.pick)?.pid
    const freezing = freeze(workers, strike)
    await Promise.all([freezing, pid === undefined ? undefined : lose(pid)])
  }
  const setClock = (crew: Crew) => async (strike: Strike) => {
    const process = crew.one(() => strike.pick)
    writeFileSync(`${folder}/clock-${process?.pid}`, String(Math.round(millisecondsOf(CLOCK_MS, strike))))
    process?.kill('SIGUSR2')
  }
  const closeFiles = (crew: Crew) => async (strike: Strike) => {
    const pid = crew.one(() => strike.pick)?.pid
    if (pid === undefined) return
    const [before = ''] = prlimit(pid, '--output', 'SOFT', '--noheadings').split('\n')
    prlimit(pid, `${NO_FILES}:`)
    await sleep(millisecondsOf(PAUSED_MS, strike))
    prlimit(pid, `${before.trim()}:`)
  }
  return {
    'kill worker': { victim: 'workers', strike: killWorker },
    'freeze worker': { victim: 'workers', strike: freezeWorker },
    'stop worker': { victim: 'workers', strike: async ({ pick }) => workers.retire(() => pick) },
    'set clock of worker': { victim: 'workers', strike: setClock(workers) },
    'kill pusher': { victim: 'pushers', strike: (strike) => kill(pushers, strike) },
    'freeze pusher': { victim: 'pushers', strike: (strike) => freeze(pushers, strike) },
    'set clock of pusher': { victim: 'pushers', strike: setClock(pushers) },
    // On Linux, with util-linux.
    ...(findInPath('prlimit')
      ? {
          'no files for worker': { victim: 'workers', strike: closeFiles(workers) },
          'no files for pusher': { victim: 'pushers', strike: closeFiles(pushers) },
        }
      : {}),
  }
}

/** Reads or sets how many files a process may open. One that has ended by itself is complained of by its crew. */
function prlimit(pid: number, limit: string, ...options: string[]): string {
  const isRead = limit.startsWith('--')
  const args = isRead ? ['--nofile', limit, ...options] : [`--nofile=${limit}`]
  const { stdout } = spawnSync('prlimit', ['--pid', String(pid), ...args], { encoding: 'utf8' })
  return stdout
}
