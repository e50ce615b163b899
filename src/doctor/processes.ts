/** The worker processes that are live, and the queues that they leave unserved. */

import type { Highkiq, Process, QueueSummary } from '../index.ts'
import { serves } from '../inspect/process.ts'
import { identityOf } from '../inspect/process-leases.ts'
import { all } from '../job/json.ts'

/** Returns whether a process holds a lease. `owners` are the owners that hold one. */
export function holdsLease(owners: ReadonlySet<string>, { identity }: Process): boolean {
  return [...owners].some((owner) => identityOf(owner) === identity)
}

/** Returns all processes, and those that hold a lease and send heartbeats. `owners` are the owners that hold one. */
export async function liveProcesses(
  hq: Highkiq,
  owners: ReadonlySet<string>,
): Promise<{ processes: Process[]; live: Process[] }> {
  const processes = await all(hq.processes())
  const isLive = (process: Process) =>
    process.stateAt(hq.now()) !== 'silent' && (!process.ours || holdsLease(owners, process))
  return { processes, live: processes.filter(isLive) }
}

/** Returns the queues with waiting jobs that none of these processes serves, the longest first. */
export function unservedWaiting(live: readonly Process[], queues: readonly QueueSummary[]): QueueSummary[] {
  const isServed = (name: string) => live.some((process) => !process.isQuiet && serves(process, name))
  return queues
    .filter(({ name, size, paused }) => size > 0 && !paused && !isServed(name))
    .sort((a, b) => b.size - a.size)
}
