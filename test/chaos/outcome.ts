import type { EventStatus } from '#dist/store/contract.js'
import { KINDS, type Kind } from './kinds.ts'
import type { Load } from './load.ts'
import type { Notes } from './notes.ts'

export interface Outcome {
  jobs: number
  /** Jobs of whose push nobody knew whether it had been carried out, and how many of them ran. */
  unsure: { pushed: number; ran: number }
  refusedPushes: number
  faults: number
  /** Owners whose jobs went to others: processes that were killed, or lost their lease. */
  lostOwners: number
  /** Runs beyond those that each job needs. */
  repeats: number
  /** Seconds from the moment a job could begin to run until its last run, of the job with the most. */
  slowest: number
  /** Seconds after the storm until nothing was left to do. */
  workedOff: number
  /** What is not as it should be; none is what is hoped for. */
  complaints: string[]
}

export interface Evidence {
  jobs: number
  load: Load
  stats: { processed: number; failed: number; dead: number }
  tasks: {
    id: string
    rows: number[]
    status: { state: string; total: number; backlog: number; counts: Record<EventStatus, number> } | null
    events: EventStatus[]
  }[]
  notes: Notes
  faults: number
  kills: number
  seconds: number
  mostSeconds: number
  left: string[]
}

export function judge(evidence: Evidence): Outcome {
  const { jobs, load, stats, tasks, notes, faults, kills, seconds, mostSeconds, left } = evidence
  const complaints = [...left]
  const kindOf = (n: number): Kind => KINDS[load.kindOf(n)]
  const named = (n: number) => `${n} (${load.kindOf(n)})`
  const complainOf = (what: string, numbers: number[]) => {
    if (numbers.length > 0)
      complaints.push(`${numbers.length} jobs ${what}: ${numbers.slice(0, 10).map(named).join(', ')}`)
  }
  const all = Array.from({ length: jobs }, (_, n) => n)
  const runsOf = (n: number) => notes.ran.get(n)?.length ?? 0
  const isIn = (n: number) => load.since.has(n) || runsOf(n) > 0
  const missing = (n: number) => kindOf(n).runs - runsOf(n)
  complainOf(
    'did not run as often as they must',
    all.filter((n) => isIn(n) && missing(n) > 0),
  )

  const pushed = all.filter(isIn)
  const sum = (of: (kind: Kind) => number) => pushed.reduce((total, n) => total + of(kindOf(n)), 0)
  const expected = {
    processed: sum(({ processed }) => processed),
    failed: sum(({ failed }) => failed),
    dead: sum(({ dead }) => (dead ? 1 : 0)),
  }
  for (const name of ['processed', 'failed', 'dead'] as const) {
    if (stats[name] !== expected[name]) complaints.push(`${name} is ${stats[name]}, not ${expected[name]}`)
  }
  for (const task of tasks) complaints.push(...complaintsOf(task, kindOf, named))

  const unsure = all.filter((n) => !load.since.has(n))
  const waitOf = (n: number) => {
    const since = load.since.get(n)
    return since === undefined ? 0 : (Math.max(...(notes.ran.get(n) ?? [since])) - since) / 1000
  }
  complainOf(
    `lay longer than ${mostSeconds} s`,
    pushed.filter((n) => waitOf(n) > mostSeconds),
  )
  return {
    jobs,
    unsure: { pushed: unsure.length, ran: unsure.filter(isIn).length },
    refusedPushes: load.refused,
    faults,
    lostOwners: kills + notes.lost,
    repeats: pushed.reduce((total, n) => total + Math.max(-missing(n), 0), 0),
    slowest: pushed.reduce((most, n) => Math.max(most, waitOf(n)), 0),
    workedOff: seconds,
    complaints,
  }
}

/** A task's counts equal its events, and both are what its rows must become. */
function complaintsOf(
  { id, rows, status, events }: Evidence['tasks'][number],
  kindOf: (n: number) => Kind,
  named: (n: number) => string,
): string[] {
  const expected = countOf(rows.map((n) => kindOf(n).status))
  const wanted = JSON.stringify({ state: 'done', total: rows.length, backlog: 0, counts: expected })
  const found = status && {
    state: status.state,
    total: status.total,
    backlog: status.backlog,
    counts: { ...countOf([]), ...status.counts },
  }
  const complaints: string[] = []
  if (JSON.stringify(found) !== wanted) complaints.push(`task ${id} is ${JSON.stringify(found)}, not ${wanted}`)
  const wrong = events.flatMap((event, i) => {
    const n = rows[i] as number
    return event === kindOf(n).status ? [] : [`${named(n)} is ${event}`]
  })
  if (wrong.length > 0) complaints.push(`task ${id}: ${wrong.length} events are wrong: ${wrong.slice(0, 5).join(', ')}`)
  if (events.length !== rows.length) complaints.push(`task ${id} has ${events.length} events of ${rows.length} rows`)
  return complaints
}

function countOf(statuses: EventStatus[]): Record<EventStatus, number> {
  const counts = { enqueued: 0, working: 0, finished: 0, failed: 0, error: 0, cancelled: 0 }
  for (const status of statuses) counts[status]++
  return counts
}

/** One line for people. */
export function lineOf(name: string, outcome: Outcome): string {
  const { jobs, unsure, refusedPushes, faults, lostOwners, repeats, slowest, workedOff, complaints } = outcome
  return [
    `${name}: ${jobs} jobs`,
    `${faults} faults`,
    `${unsure.pushed} pushes unsure (${unsure.ran} ran)`,
    `${refusedPushes} made again`,
    `${lostOwners} owners lost`,
    `${repeats} repeated`,
    `slowest ${slowest.toFixed(1)} s`,
    `worked off ${workedOff.toFixed(1)} s after it`,
    complaints.length === 0 ? 'counts exact' : `${complaints.length} checks failed`,
  ].join(', ')
}
