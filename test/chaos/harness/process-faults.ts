import { existsSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { canLimitFiles, closeFiles } from '../../programs/open-files.ts'
import type { Crew } from '../crew.ts'
import { FAULT_MS, type Fault, millisecondsOf } from './fault.ts'
import type { PlannedFault } from './plan.ts'

/** A process is frozen for longer than a lease of one second and a third. */
const FROZEN_MS = [2000, 4000] as const
/** A clock is set so many milliseconds back or forward. */
const CLOCK_MS = [-15_000, 15_000] as const
/** A process has read its new clock after this time, also when it was frozen before. */
const CLOCK_SET_MS = 30_000
const POLL_MS = 10

/** The faults of processes, which all stores have. `countLost` counts what the store has with a stopped worker. */
export function faultsOfProcesses(
  workers: Crew,
  pushers: Crew,
  folder: string,
  countLost: (pid: number) => Promise<void>,
): Record<string, Fault> {
  const kill = (crew: Crew, { pick }: PlannedFault) => crew.replace(() => pick)
  const freeze = (crew: Crew, planned: PlannedFault) =>
    crew.freeze(millisecondsOf(FROZEN_MS, planned), () => planned.pick)
  /** Workers on the same host rescue the jobs of a dead process at once, so it is stopped while they are counted. */
  const killWorker = async (planned: PlannedFault) => {
    const worker = workers.one(() => planned.pick)
    worker?.kill('SIGSTOP')
    if (worker?.pid) await countLost(worker.pid)
    await kill(workers, planned)
  }
  const freezeWorker = async (planned: PlannedFault) => {
    const pid = workers.one(() => planned.pick)?.pid
    const freezing = freeze(workers, planned)
    await Promise.all([freezing, pid === undefined ? undefined : countLost(pid)])
  }
  const setClock = (crew: Crew) => async (planned: PlannedFault) => {
    const process = crew.one(() => planned.pick)
    if (!process) return
    const file = `${folder}/clock-${process.pid}`
    writeFileSync(file, String(Math.round(millisecondsOf(CLOCK_MS, planned))))
    process.kill('SIGUSR2')
    // The process removes the file when it has read it. The next fault could keep it from opening the file.
    const end = performance.now() + CLOCK_SET_MS
    while (existsSync(file) && process.exitCode === null && process.signalCode === null) {
      if (performance.now() > end)
        throw new Error(`process ${process.pid} did not set its clock within ${CLOCK_SET_MS / 1000} s`)
      await sleep(POLL_MS)
    }
  }
  const noFiles = (crew: Crew) => async (planned: PlannedFault) => {
    const pid = crew.one(() => planned.pick)?.pid
    if (pid === undefined) return
    // The crew reports a process that has ended by itself.
    const reopen = closeFiles(pid)
    await sleep(millisecondsOf(FAULT_MS, planned))
    reopen()
  }
  return {
    'kill worker': { target: 'workers', inject: killWorker },
    'freeze worker': { target: 'workers', inject: freezeWorker },
    'stop worker': { target: 'workers', inject: async ({ pick }) => workers.retire(() => pick) },
    'set clock of worker': { target: 'workers', inject: setClock(workers) },
    'kill pusher': { target: 'pushers', inject: (planned) => kill(pushers, planned) },
    'freeze pusher': { target: 'pushers', inject: (planned) => freeze(pushers, planned) },
    'set clock of pusher': { target: 'pushers', inject: setClock(pushers) },
    ...(canLimitFiles
      ? {
          'no files for worker': { target: 'workers', inject: noFiles(workers) },
          'no files for pusher': { target: 'pushers', inject: noFiles(pushers) },
        }
      : {}),
  }
}
