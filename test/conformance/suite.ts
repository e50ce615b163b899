import { describe, test } from 'vitest'
import { type Case, type Factory, withBench } from './bench.ts'
import { cancellations } from './cancellations.ts'
import { counters } from './counters.ts'
import { crash } from './crash.ts'
import { crons } from './crons.ts'
import { due } from './due.ts'
import { iterations } from './iterations.ts'
import { jobSets } from './job-sets.ts'
import { locks } from './locks.ts'
import { metrics } from './metrics.ts'
import { orderedBrowse } from './ordered-browse.ts'
import { orderedCrash } from './ordered-crash.ts'
import { orderedKill } from './ordered-kill.ts'
import { orderedLife } from './ordered-life.ts'
import { orderedMorgue } from './ordered-morgue.ts'
import { orderedOwners } from './ordered-owners.ts'
import { orderedPush } from './ordered-push.ts'
import { orderedReshard } from './ordered-reshard.ts'
import { orderedSettle } from './ordered-settle.ts'
import { orderedTake } from './ordered-take.ts'
import { orderedWait } from './ordered-wait.ts'
import { processes } from './processes.ts'
import { push } from './push.ts'
import { recovery } from './recovery.ts'
import { removal } from './removal.ts'
import { results } from './results.ts'
import { search } from './search.ts'
import { secrets } from './secrets.ts'
import { settleAndFetch } from './settle-and-fetch.ts'
import { taskApart } from './task-apart.ts'
import { taskCancel } from './task-cancel.ts'
import { taskGroups } from './task-groups.ts'
import { taskKeeping } from './task-keeping.ts'
import { taskLife } from './task-life.ts'
import { taskModel } from './task-model.ts'
import { taskAdders } from './task-producers.ts'
import { taskRows } from './task-rows.ts'
import { taskRuns } from './task-runs.ts'
import { taskSteering } from './task-steering.ts'
import { taskSweeping } from './task-sweeping.ts'
import { taskTransitions } from './task-transitions.ts'
import { taskWindow } from './task-window.ts'
import { tasks } from './tasks.ts'
import { transaction } from './transaction.ts'
import { wait } from './wait.ts'
import { workerModel } from './worker-model.ts'

/** The whole suite, by area. */
export const areas = {
  push: [...push, ...transaction],
  settleAndFetch: [...settleAndFetch, ...workerModel],
  due,
  recovery,
  locks,
  counters,
  jobSets,
  search,
  removal,
  processes,
  results,
  secrets,
  cancellations,
  crons,
  tasks: [
    ...tasks,
    ...taskRows,
    ...taskWindow,
    ...taskGroups,
    ...taskApart,
    ...taskTransitions,
    ...taskSteering,
    ...taskCancel,
    ...taskAdders,
    ...taskRuns,
    ...taskSweeping,
    ...taskKeeping,
  ],
  taskModels: [...taskModel, ...taskLife],
  ordered: [
    ...orderedPush,
    ...orderedTake,
    ...orderedSettle,
    ...orderedMorgue,
    ...orderedOwners,
    ...orderedCrash,
    ...orderedReshard,
    ...orderedBrowse,
    ...orderedWait,
  ],
  orderedModels: [...orderedLife, ...orderedKill],
  wait,
  crash,
  metrics,
  iterations,
} satisfies Record<string, Case[]>

/** A case that takes long has a time limit of its own: models of whole lives, killed processes, large amounts. */
export function isLong(one: Case): boolean {
  return one.seconds !== undefined
}

export function isShort(one: Case): boolean {
  return !isLong(one)
}

/** Registers the cases that are chosen as tests, each with a fresh store of its own. `i` counts the cases of an area. */
export function conformance(
  title: string,
  factory: Factory,
  isChosen: (one: Case, area: string, i: number) => boolean = () => true,
): void {
  describe(title, () => {
    for (const [area, all] of Object.entries<Case[]>(areas)) {
      // A store in memory has only one connection.
      const cases = all.filter((one, i) => isChosen(one, area, i) && (factory.shared || !one.shared))
      if (cases.length === 0) continue
      describe(area, () => {
        for (const one of cases) {
          test(one.name, { timeout: 1000 * (one.seconds ?? 20) }, () => withBench(factory, (t) => one.run(t)))
        }
      })
    }
  })
}
