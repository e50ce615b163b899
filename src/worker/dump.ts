/** What a worker is doing, for who asks with SIGTTIN: what runs and for how long, where each thread is, who holds leases. */

import { writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { plural } from '../job/plural.ts'
import { within } from '../job/wait.ts'
import type { Lease } from '../store/contract.ts'
import type { Running } from './aspect.ts'
import type { Engine } from './engine.ts'
import { type ShownJob, shownJobs } from './shown-jobs.ts'

export interface Doing {
  identity: string
  owner: string
  concurrency: number
  attempts: readonly Running[]
  /** The job that a thread runs, by the thread's id. */
  threads: ReadonlyMap<number, string>
}

/** A store that is away has nothing to tell. */
const LEASES_MS = 2000

/** To the log, and to `highkiq_ttin_PID.txt` in the system's folder for temporary files. Never throws. */
export async function dump(engine: Engine, doing: Doing): Promise<void> {
  const { log, report, now } = engine
  try {
    const running = shownJobs(doing.attempts, now())
    const stacks = stacksOf(doing.threads)
    const leases = await leasesOf(engine)
    const file = join(tmpdir(), `highkiq_ttin_${process.pid}.txt`)
    const { owner } = doing
    log.warn({ running, owner, leases, stacks, file }, `${plural(running.length, 'job is', 'jobs are')} running`)
    writeFileSync(file, textOf(doing, running, stacks, leases, now()))
  } catch (thrown) {
    report(thrown, { during: 'telling what runs' })
  }
}

/** By name; a thread that waits for something has an empty stack. */
function stacksOf(jobs: ReadonlyMap<number, string>): Record<string, string[]> {
  const { report } = process as { report: { excludeNetwork?: boolean; getReport(): unknown } }
  const before = report.excludeNetwork
  // Names of hosts would be looked up.
  report.excludeNetwork = true
  try {
    // All threads are interrupted for it, also one whose event loop is blocked.
    const main = report.getReport() as ThreadReport
    const nameOf = (id = 0) => `thread ${id}${jobs.has(id) ? ` (${jobs.get(id)})` : ''}`
    const others = (main.workers ?? []).map((thread) => [nameOf(thread.header?.threadId), stackOf(thread)])
    return Object.fromEntries([['main thread', stackOf(main)], ...others])
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
  const leases = store.leases().catch(() => [])
  return (await within(LEASES_MS, leases)) ? leases : []
}

function textOf(
  { identity, owner, concurrency }: Doing,
  running: readonly ShownJob[],
  stacks: Record<string, string[]>,
  leases: readonly Lease[],
  now: number,
): string {
  const jobs = running.map(({ jid, class: name, queue, seconds, progress }) => {
    const come = progress === undefined ? '' : ` ${JSON.stringify(progress)}`
    return `${seconds.toFixed(1).padStart(9)} s  ${jid}  ${name}  (${queue})${come}`
  })
  const held = leases.map((lease) => {
    const state = lease.claimed ? 'claimed' : lease.ended ? 'ended' : 'held'
    return `${state.padStart(9)}  ${lease.owner}${lease.owner === owner ? '  (this worker)' : ''}`
  })
  const parts = [
    `${identity}, ${new Date(now).toISOString()}: ${running.length} of ${concurrency} busy`,
    ['running', ...jobs].join('\n'),
    ['leases', ...held].join('\n'),
    ...Object.entries(stacks).map(([name, lines]) => [name, ...lines.map((line) => `    ${line}`)].join('\n')),
  ]
  return `${parts.join('\n\n')}\n`
}
