import type { EventStatus } from '#dist/store/contract.js'
import { KINDS, type Kind, type KindName } from '../kinds.ts'
import { type Journal, type OrderedRun, PUSH } from './journal.ts'
import { kindOf } from './workloads.js'

/** What became of the jobs of a workload, by the journal. */
export interface Sums {
  jobs: number
  /** Pushes that the store acknowledged, and those of which nobody knows. */
  stored: number
  unsure: number
  /** Jobs that ran as often as they must. */
  done: number
  lost: number
  /** Runs beyond those. */
  repeats: number
}

export interface Verdict {
  workloads: Record<string, Sums>
  all: Sums
  countsOff: string[]
  ordersBroken: string[]
}

/** What the store says in the end. */
export interface Stored {
  stats: { processed: number; failed: number; dead: number }
  tasks: ReadonlyMap<string, { state: string; counts: Record<string, number>; events: EventStatus[] } | null>
}

type Chunk = { workload: string; from: number; count: number }

export function judge(journal: Journal, chunks: readonly Chunk[], stored: Stored): Verdict {
  const workloads: Record<string, Sums> = {}
  const expected = { processed: 0, failed: 0, dead: 0 }
  for (const { workload, from, count } of chunks) {
    workloads[workload] ??= { jobs: 0, stored: 0, unsure: 0, done: 0, lost: 0, repeats: 0 }
    const sums = workloads[workload]
    for (let n = from; n < from + count; n++) {
      const kind: Kind = KINDS[kindOf(workload, n) as KindName]
      const [began, ended] = [journal.began[n] as number, journal.ended[n] as number]
      const isStored = journal.push[n] === PUSH.stored
      sums.jobs++
      if (isStored) sums.stored++
      else if (journal.push[n] !== PUSH.none) sums.unsure++
      if (!isStored && began === 0) continue
      if (ended >= kind.runs) sums.done++
      else sums.lost++
      sums.repeats += Math.max(began - kind.runs, 0)
      if (workload === 'ordered') continue
      expected.processed += kind.processed
      expected.failed += kind.failed
      expected.dead += kind.dead ? 1 : 0
    }
  }
  const countsOff = (['processed', 'failed', 'dead'] as const)
    .filter((name) => stored.stats[name] !== expected[name])
    .map((name) => `${name} is ${stored.stats[name]}, not ${expected[name]}`)
  for (const task of journal.tasks) countsOff.push(...faultsOfTask(task, stored))
  return { workloads, all: sumOf(Object.values(workloads)), countsOff, ordersBroken: faultsOfOrder(journal) }
}

function sumOf(all: readonly Sums[]): Sums {
  const sum: Sums = { jobs: 0, stored: 0, unsure: 0, done: 0, lost: 0, repeats: 0 }
  for (const one of all) for (const name of Object.keys(sum) as (keyof Sums)[]) sum[name] += one[name]
  return sum
}

/** A task's counts equal its events, and both are what its rows must become. */
function faultsOfTask({ id, from, count }: Journal['tasks'][number], { tasks }: Stored): string[] {
  const task = tasks.get(id)
  const expected = Array.from({ length: count }, (_, i) => KINDS[kindOf('tracked', from + i) as KindName].status)
  const text = (statuses: readonly string[]) => {
    const counts = new Map<string, number>()
    for (const status of statuses) counts.set(status, (counts.get(status) ?? 0) + 1)
    return [...counts].sort().join('; ')
  }
  if (!task) return [`task ${id} is not there`]
  const counted = Object.entries(task.counts).filter(([, n]) => n > 0)
  const faults: string[] = []
  if (task.state !== 'done') faults.push(`task ${id} is ${task.state}`)
  if (counted.sort().join('; ') !== text(expected)) faults.push(`task ${id} counts ${counted}, not ${text(expected)}`)
  if (task.events.join() !== expected.join()) faults.push(`task ${id} has other events than its rows must have`)
  return faults
}

/** Ids that two calls had at the same time, and versions that first came after a later one. */
function faultsOfOrder(journal: Journal): string[] {
  const faults: string[] = []
  const last = new Map<string, OrderedRun>()
  const newest = new Map<string, number>()
  const seen = new Set<number>()
  for (const run of journal.orderedRuns.sort((a, b) => a.began - b.began)) {
    const { id, numbers, began } = run
    const before = last.get(id)
    if (before && !before.isFenced && before.ended && began < before.ended)
      faults.push(`id ${id} began at ${began} while another call had it until ${before.ended}`)
    if (!before || (run.ended ?? 0) > (before.ended ?? 0)) last.set(id, run)
    for (const [i, n] of numbers.entries()) {
      if (i > 0 && n <= (numbers[i - 1] as number)) faults.push(`id ${id} got ${numbers}`)
      if (!seen.has(n) && n < (newest.get(id) ?? -1)) faults.push(`id ${id} got ${n} first after ${newest.get(id)}`)
      seen.add(n)
      newest.set(id, Math.max(newest.get(id) ?? -1, n))
    }
  }
  return faults
}
