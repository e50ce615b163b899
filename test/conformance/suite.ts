import { batches } from './batches/batches.ts'
import type { Case } from './bench.ts'
import { cancellations } from './cancellations/cancellations.ts'
import { crons } from './crons/crons.ts'
import { jobEvents } from './events/events.ts'
import { due } from './job-sets/due.ts'
import { jobSets } from './job-sets/job-sets.ts'
import { counters } from './jobs/counters.ts'
import { iterations } from './jobs/iterations.ts'
import { maxLength } from './jobs/max-length.ts'
import { push } from './jobs/push.ts'
import { pushThrough } from './jobs/push-through.ts'
import { transaction } from './jobs/transaction.ts'
import { uniqueJobs } from './jobs/unique.ts'
import { limits } from './limits/limits.ts'
import { metrics } from './metrics/metrics.ts'
import { orderedBrowse } from './ordered/browse.ts'
import { orderedCrash } from './ordered/crash.ts'
import { orderedFetch } from './ordered/fetch.ts'
import { orderedKill } from './ordered/kill.ts'
import { orderedLife } from './ordered/life.ts'
import { orderedMorgue } from './ordered/morgue.ts'
import { orderedOwners } from './ordered/owners.ts'
import { orderedPush } from './ordered/push.ts'
import { orderedReshard } from './ordered/reshard.ts'
import { orderedSettle } from './ordered/settle.ts'
import { orderedWait } from './ordered/wait.ts'
import { results } from './results/results.ts'
import { secrets } from './results/secrets.ts'
import { removal } from './search/removal.ts'
import { search } from './search/search.ts'
import { taskApart } from './tasks/apart.ts'
import { taskCancel } from './tasks/cancel.ts'
import { taskDeferred } from './tasks/deferred.ts'
import { taskGroups } from './tasks/groups.ts'
import { taskKeeping } from './tasks/keeping.ts'
import { taskLabels } from './tasks/labels.ts'
import { taskLife } from './tasks/life.ts'
import { taskLinks } from './tasks/links.ts'
import { taskModel } from './tasks/model.ts'
import { taskProducers } from './tasks/producers.ts'
import { taskRows } from './tasks/rows.ts'
import { taskRuns } from './tasks/runs.ts'
import { taskSteering } from './tasks/steering.ts'
import { taskSweeping } from './tasks/sweeping.ts'
import { tasks } from './tasks/tasks.ts'
import { taskTransitions } from './tasks/transitions.ts'
import { taskWindow } from './tasks/window.ts'
import { orderedTransfers } from './transfers/ordered.ts'
import { taskTransfers } from './transfers/tasks.ts'
import { transfers } from './transfers/transfers.ts'
import { crash } from './workers/crash.ts'
import { finishedJobs } from './workers/finished.ts'
import { locks } from './workers/locks.ts'
import { workerModel } from './workers/model.ts'
import { priority } from './workers/priority.ts'
import { processes } from './workers/processes.ts'
import { rescue } from './workers/rescue.ts'
import { settleAndFetch } from './workers/settle-and-fetch.ts'
import { wait } from './workers/wait.ts'

/** The whole suite, by area of the contract. */
export const areas = {
  jobs: [...push, ...maxLength, ...uniqueJobs, ...transaction, ...pushThrough, ...iterations, ...counters],
  workers: [
    ...settleAndFetch,
    ...finishedJobs,
    ...priority,
    ...workerModel,
    ...rescue,
    ...locks,
    ...processes,
    ...wait,
    ...crash,
  ],
  jobSets: [...jobSets, ...due],
  search: [...search, ...removal],
  batches,
  cancellations,
  crons,
  events: jobEvents,
  limits,
  metrics,
  results: [...results, ...secrets],
  transfers: [...transfers, ...taskTransfers, ...orderedTransfers],
  tasks: [
    ...tasks,
    ...taskRows,
    ...taskWindow,
    ...taskGroups,
    ...taskApart,
    ...taskTransitions,
    ...taskSteering,
    ...taskCancel,
    ...taskDeferred,
    ...taskProducers,
    ...taskRuns,
    ...taskSweeping,
    ...taskKeeping,
    ...taskLabels,
    ...taskLinks,
  ],
  taskModels: [...taskModel, ...taskLife],
  ordered: [
    ...orderedPush,
    ...orderedFetch,
    ...orderedSettle,
    ...orderedMorgue,
    ...orderedOwners,
    ...orderedCrash,
    ...orderedReshard,
    ...orderedBrowse,
    ...orderedWait,
  ],
  orderedModels: [...orderedLife, ...orderedKill],
} satisfies Record<string, Case[]>
