/** Describes what a worker does, at SIGTTIN: the running jobs, the stack of each thread, and the leases in the store. */

import { writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { plural } from '../../job/plural.ts'
import { within } from '../../job/wait.ts'
import type { Lease } from '../../store/contract.ts'
import type { Engine } from '../engine.ts'
import type { Running } from '../executor.ts'
import { type ShownJob, shownJobs } from './shown-jobs.ts'

export interface WorkerState {
  identity: string
  owner: string
  /** The concurrency of the worker, as text. */
  slots: string
  attempts: readonly Running[]
  /** The lease thread's id, and the jobs of each job thread by its id. */
  threads: { lease: number | undefined; jobs: ReadonlyMap<number, string> }
}

/** The dump waits for the store at most this long. */
const LEASES_MS = 2000

/** Writes to the log, and to `highkiq_ttin_PID.txt` in the system's temporary folder. Never throws. */
export async function dump(engine: Engine, state: WorkerState): Promise<void> {
  const { log, report, now } = engine
  try {
    const running = shownJobs(state.attempts, now())
    const stacks = stacksOf(state.threads)
    const leases = await leasesOf(engine)
    const file = join(tmpdir(), `highkiq_ttin_${process.pid}.txt`)
    const { owner } = state
    log.warn({ running, owner, leases, stacks, file }, `${plural(running.length, 'job is', 'jobs are')} running`)
    writeFileSync(file, textOf(state, running, stacks, leases, now()))
  } catch (thrown) {
    report(thrown, { during: 'dumping the running jobs' })
  }
}

/** The note about a thread without JavaScript on its stack. Node keeps no record of the line of a pending `await`. */
const AWAITS = 'no handler is on the stack: each one that runs awaits something, and Node does not tell at which line'
const IDLE = 'no JavaScript is on the stack: it waits for its next renewal'

/** The notes by the name of the thread. The main thread handles this signal, so no handler is ever on its stack. */
function stacksOf({ lease, jobs }: WorkerState['threads']): Record<string, string[]> {
  const { report } = process as { report: { excludeNetwork?: boolean; getReport(): unknown } }
  const before = report.excludeNetwork
  // Else Node would look up host names.
  report.excludeNetwork = true
  try {
    // Node interrupts all threads for it, also one whose event loop is blocked.
    const { workers = [] } = report.getReport() as ThreadReport
    const stacks: Record<string, string[]> = { 'main thread': [AWAITS] }
    for (const thread of workers) {
      const { threadId: id = 0 } = thread.header ?? {}
      const stack = stackOf(thread)
      const name = id === lease ? 'lease' : jobs.get(id)
      stacks[`thread ${id}${name ? ` (${name})` : ''}`] = stack.length > 0 ? stack : [id === lease ? IDLE : AWAITS]
    }
    return stacks
  } finally {
    report.excludeNetwork = before ?? false
  }
}

interface ThreadReport {
  header?: { threadId?: number }
  javascriptStack: { stack?: string[] }
  workers?: ThreadReport[]
}

function stackOf({ javascriptStack: { stack = [] } }: ThreadReport): string[] {
  return stack.filter((line) => line.startsWith('at '))
}

async function leasesOf({ store }: Engine): Promise<Lease[]> {
  const leases = store.workers.leases().catch(() => [])
  return (await within(LEASES_MS, leases)) ? leases : []
}

function textOf(
  { identity, owner, slots }: WorkerState,
  running: readonly ShownJob[],
  stacks: Record<string, string[]>,
  leases: readonly Lease[],
  now: number,
): string {
  const jobs = running.map(({ jid, class: name, queue, seconds, progress }) => {
    const shown = progress === undefined ? '' : ` ${JSON.stringify(progress)}`
    return `${seconds.toFixed(1).padStart(9)} s  ${jid}  ${name}  (${queue})${shown}`
  })
  const held = leases.map((lease) => {
    const state = lease.claimed ? 'claimed' : lease.ended ? 'ended' : 'held'
    return `${state.padStart(9)}  ${lease.owner}${lease.owner === owner ? '  (this worker)' : ''}`
  })
  const parts = [
    `${identity}, ${new Date(now).toISOString()}: ${running.length} of ${slots} busy`,
    ['running', ...jobs].join('\n'),
    ['leases', ...held].join('\n'),
    ...Object.entries(stacks).map(([name, lines]) => [name, ...lines.map((line) => `    ${line}`)].join('\n')),
  ]
  return `${parts.join('\n\n')}\n`
}
