import type { EventStatus } from '#dist/store/contract.js'
import { KINDS, type Kind, type KindName } from '../kinds.ts'
import { type JobRange, type Journal, PUSH } from './journal.ts'
import { errorsOfOrder } from './orders.ts'
import { kindOf } from './workloads.js'

/** What became of the jobs of a workload, by the journal. */
export interface Sums {
  jobs: number
  /** Pushes that the store acknowledged; `unsure` are those of which nobody knows. */
  stored: number
  /** Pushes that a lock of another job refused. */
  refused: number
  unsure: number
  /** Jobs that ran as often as they must. */
  done: number
  lost: number
  /** Runs beyond those that a job must have or, as a version of an ordered id, may have: one for each push and each failure. */
  repeats: number
}

export interface Verdict {
  workloads: Record<string, Sums>
  all: Sums
  countsOff: string[]
  /** Jobs that ran more often than faults explain. */
  unexplained: string[]
  ordersBroken: string[]
}

export interface StoredTask {
  state: string
  counts: Record<string, number>
  events: EventStatus[]
}

/** What the store says in the end. */
export interface Stored {
  stats: { processed: number; failed: number; dead: number }
  tasks: ReadonlyMap<string, StoredTask | null>
  /** Locks of unique jobs. */
  locks: number
}

type Chunk = { workload: string; from: number; count: number }

/** `keepsDead`: whether no dead job is deleted. */
export function judge(journal: Journal, chunks: readonly Chunk[], stored: Stored, keepsDead = true): Verdict {
  const workloads: Record<string, Sums> = {}
  const expected = { processed: 0, failed: 0, dead: 0 }
  const countsOff: string[] = []
  const unexplained: string[] = []
  for (const { workload, from, count } of chunks) {
    workloads[workload] ??= { jobs: 0, stored: 0, refused: 0, unsure: 0, done: 0, lost: 0, repeats: 0 }
    const sums = workloads[workload]
    for (let n = from; n < from + count; n++) {
      const kind: Kind = KINDS[kindOf(workload, n) as KindName]
      const [began, ended] = [journal.began[n] as number, journal.ended[n] as number]
      const isStored = journal.push[n] === PUSH.stored
      const isRefused = journal.push[n] === PUSH.refused
      sums.jobs++
      if (isStored) sums.stored++
      else if (isRefused) sums.refused++
      else if (journal.push[n] !== PUSH.none) sums.unsure++
      if (isRefused && began > 0) countsOff.push(`job ${n} of ${workload} ran, and its push was refused`)
      if (!isStored && began === 0) continue
      if (ended >= kind.runs) sums.done++
      else sums.lost++
      const runs = workload === 'ordered' ? (journal.pushes[n] as number) + (journal.failed[n] as number) : kind.runs
      sums.repeats += Math.max(began - runs, 0)
      const explained = runs + (journal.mayRepeat[n] as number)
      if (began > explained) unexplained.push(`job ${n} of ${workload} ran ${began} times, not at most ${explained}`)
      if (workload === 'ordered') continue
      expected.processed += kind.processed
      expected.failed += kind.failed
      expected.dead += kind.dead ? 1 : 0
    }
  }
  workloads.cron = sumsOfTicks(journal, countsOff)
  const unnumbered = [...journal.callbacks.values(), ...journal.ticks.values()]
  const repeats = unnumbered.reduce((sum, jids) => sum + repeatsOf(jids), 0)
  if (repeats > journal.unnumberedMayRepeat)
    unexplained.push(`callbacks and ticks were repeated ${repeats} times, not at most ${journal.unnumberedMayRepeat}`)
  for (const jids of unnumbered) expected.processed += jids.length - repeatsOf(jids)
  for (const name of ['processed', 'failed', ...(keepsDead ? (['dead'] as const) : [])] as const) {
    if (stored.stats[name] !== expected[name]) countsOff.push(`${name} is ${stored.stats[name]}, not ${expected[name]}`)
  }
  for (const task of journal.tasks) countsOff.push(...errorsOfTask(task, stored))
  if (stored.locks > 0) countsOff.push(`${stored.locks} locks of unique jobs are left`)
  for (const batch of journal.batches) countsOff.push(...errorsOfBatch(batch, journal))
  const all = sumOf(Object.values(workloads))
  return { workloads, all, countsOff, unexplained, ordersBroken: errorsOfOrder(journal) }
}

function sumOf(all: readonly Sums[]): Sums {
  const sum: Sums = { jobs: 0, stored: 0, refused: 0, unsure: 0, done: 0, lost: 0, repeats: 0 }
  for (const one of all) for (const name of Object.keys(sum) as (keyof Sums)[]) sum[name] += one[name]
  return sum
}

/** A task's counts equal its events, and both are what its rows must become. */
function errorsOfTask({ id, from, count }: JobRange, { tasks }: Stored): string[] {
  const task = tasks.get(id)
  const expected = Array.from({ length: count }, (_, i) => KINDS[kindOf('tracked', from + i) as KindName].status)
  const text = (statuses: readonly string[]) => {
    const counts = new Map<string, number>()
    for (const status of statuses) counts.set(status, (counts.get(status) ?? 0) + 1)
    return [...counts].sort().join('; ')
  }
  if (!task) return [`task ${id} is not there`]
  const counted = Object.entries(task.counts).filter(([, n]) => n > 0)
  const errors: string[] = []
  if (task.state !== 'done') errors.push(`task ${id} is ${task.state}`)
  if (counted.sort().join('; ') !== text(expected)) errors.push(`task ${id} counts ${counted}, not ${text(expected)}`)
  if (task.events.join() !== expected.join()) errors.push(`task ${id} has other events than its rows must have`)
  return errors
}

/** Each callback of a batch is one job, and there are those that its jobs need. */
function errorsOfBatch({ id, from, count }: JobRange, { callbacks }: Journal): string[] {
  const isDead = Array.from({ length: count }, (_, i) => kindOf('batches', from + i)).includes('broken')
  return ['Success', 'Complete', 'Death'].flatMap((name) => {
    const expected = name === 'Complete' || (name === 'Death') === isDead ? 1 : 0
    const jobs = new Set(callbacks.get(`${name} ${id}`)).size
    return jobs === expected ? [] : [`batch ${id} has ${jobs} jobs ${name}, not ${expected}`]
  })
}

/** Each second between the first tick and the last has one job. */
function sumsOfTicks({ ticks }: Journal, countsOff: string[]): Sums {
  const times = [...ticks.keys()]
  // Math.max takes so many arguments only.
  const [first, last] = [times.reduce((a, b) => Math.min(a, b), Infinity), times.reduce((a, b) => Math.max(a, b), 0)]
  const jobs = times.length === 0 ? 0 : (last - first) / 1000 + 1
  let repeats = 0
  for (const [tick, jids] of ticks) {
    const different = new Set(jids).size
    repeats += repeatsOf(jids)
    if (different > 1) countsOff.push(`the tick ${new Date(tick).toISOString()} has ${different} jobs`)
  }
  return { jobs, stored: jobs, refused: 0, unsure: 0, done: times.length, lost: jobs - times.length, repeats }
}

/** Returns how many runs of jobs were not their first one. */
function repeatsOf(jids: readonly string[]): number {
  return jids.length - new Set(jids).size
}
