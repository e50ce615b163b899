import type { Journal, Run } from './journal.ts'
import { LIMIT } from './workloads.js'

/** What is wrong with runs of a group, in the order of their beginnings. */
type Check = (group: string, runs: readonly Run[]) => string[]

const CHECKS: Record<string, Check[]> = {
  ordered: [atMost(1), versionsAscend],
  unique: [atMost(1)],
  limits: [atMost(LIMIT)],
  flows: [childrenFirst],
}

export function errorsOfOrder(journal: Journal): string[] {
  const groups = new Map<string, Run[]>()
  for (const run of journal.groupedRuns.sort((a, b) => a.began - b.began)) {
    const runs = groups.get(run.group)
    if (runs) runs.push(run)
    else groups.set(run.group, [run])
  }
  return [...groups].flatMap(([group, runs]) => {
    const [workload = ''] = group.split(':')
    return CHECKS[workload]?.flatMap((check) => check(group, runs)) ?? []
  })
}

/** Only so many run at a time. Of a process that was killed or lost its lease nobody knows until when it had the job. */
function atMost(most: number): Check {
  return (group, runs) => {
    let running: Run[] = []
    return runs.flatMap((run) => {
      running = running.filter(({ ended }) => (ended as number) > run.began)
      const isOver = running.length >= most
      if (run.ended !== undefined && !run.isFenced) running.push(run)
      return isOver ? [`${group}: a run began at ${run.began} while ${most} ran`] : []
    })
  }
}

/** No version comes for the first time after a later one. */
function versionsAscend(group: string, runs: readonly Run[]): string[] {
  const seen = new Set<number>()
  let newest = -1
  return runs.flatMap(({ numbers }) =>
    numbers.flatMap((n, i) => {
      const isLate = !seen.has(n) && n < newest
      seen.add(n)
      newest = Math.max(newest, n)
      return isLate || (i > 0 && n <= (numbers[i - 1] as number)) ? [`${group}: ${n} came too late`] : []
    }),
  )
}

/** The root, whose number the group has, begins when all others have ended; a child of it when its own child has. */
function childrenFirst(group: string, runs: readonly Run[]): string[] {
  const ended = new Map<number, number>()
  const began = new Map<number, number>()
  for (const run of runs) {
    const n = run.numbers[0] as number
    began.set(n, Math.min(began.get(n) ?? Infinity, run.began))
    if (run.ended !== undefined) ended.set(n, Math.min(ended.get(n) ?? Infinity, run.ended))
  }
  const root = Number(group.split(':')[1])
  const isEarly = (n: number, child: number) => (began.get(n) ?? Infinity) < (ended.get(child) ?? Infinity)
  return [...began.keys()].flatMap((n) => {
    if (n === root) return []
    const parent = n % 2 === 0 ? n - 1 : root
    return isEarly(parent, n) ? [`${group}: ${parent} began before its child ${n} ended`] : []
  })
}
