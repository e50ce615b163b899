/** The store for fleets: Sidekiq's keys on one Redis (or Valkey) server, and ours beside them. */

import type { Finding, MigrationPlan, Store } from '../contract.ts'
import { Cancellations } from './jobs/cancellations.ts'
import { Crons } from './jobs/crons.ts'
import { JobEvents } from './jobs/job-events.ts'
import { JobSets } from './jobs/job-sets.ts'
import { RedisJobStore } from './jobs/job-store.ts'
import { Metrics } from './jobs/metrics.ts'
import { Pauses } from './jobs/pauses.ts'
import { PriorityQueues } from './jobs/priority-queues.ts'
import { Results } from './jobs/results.ts'
import { Search } from './jobs/search.ts'
import { Transfers } from './jobs/transfers.ts'
import { UniqueLocks } from './jobs/unique.ts'
import { GoWorkers } from './leftovers/go-workers.ts'
import { LowkiqQueues } from './leftovers/lowkiq.ts'
import { OrderedActions } from './ordered/actions.ts'
import { OrderedTransfers } from './ordered/ordered-transfers.ts'
import { OrderedPusher } from './ordered/push.ts'
import { OrderedQueries } from './ordered/queries.ts'
import { OrderedQueues } from './ordered/queues.ts'
import { OrderedSettleAndFetchScript } from './ordered/settle-and-fetch.ts'
import { OrderedShards } from './ordered/shards.ts'
import { OrderedWaits } from './ordered/waits.ts'
import { diagnose } from './server/diagnosis.ts'
import type { Notifier } from './server/notifier.ts'
import { Server } from './server/server.ts'
import type { RedisStoreOptions } from './server/url.ts'
import { Batches } from './tasks/batches.ts'
import { DeferredRows } from './tasks/deferred-rows.ts'
import { TaskEvents } from './tasks/events.ts'
import { TaskRows } from './tasks/rows.ts'
import { TaskTransfers } from './tasks/task-transfers.ts'
import { Tasks } from './tasks/tasks.ts'
import { LeaderLocks } from './workers/leader-locks.ts'
import { Leases } from './workers/leases.ts'
import { Limits } from './workers/limits.ts'
import { OwnedJobs } from './workers/owned-jobs.ts'
import { Owners } from './workers/owners.ts'
import { Processes } from './workers/processes.ts'
import { Totals } from './workers/totals.ts'

export class RedisStore implements Store {
  readonly kind = 'redis'
  readonly maxConcurrentCalls = 2
  readonly url: string
  readonly jobs: Store['jobs']
  readonly workers: Store['workers']
  readonly jobSets: Store['jobSets']
  readonly search: Store['search']
  readonly cancellations: Store['cancellations']
  readonly tasks: Store['tasks']
  readonly ordered: Store['ordered']
  readonly crons: Store['crons']
  readonly limits: Store['limits']
  readonly events: Store['events']
  readonly unique: Store['unique']
  readonly batches: Store['batches']
  readonly metrics: Store['metrics']
  readonly results: Store['results']
  readonly transfers: Store['transfers']
  readonly leftovers: NonNullable<Store['leftovers']>
  readonly #server: Server
  readonly #owners: Owners
  readonly #notifiers: Notifier[]

  constructor(options: RedisStoreOptions, warn?: (message: string) => void) {
    this.url = options.url
    const server = new Server(options, warn)
    const pauses = new Pauses(server)
    const priorities = new PriorityQueues(server)
    const jobSets = new JobSets(server)
    const metrics = new Metrics(server)
    const tasks = new Tasks(server, jobSets)
    const leases = new Leases(server, priorities)
    const owners = new Owners(server, leases, tasks, pauses, priorities)
    const orderedQueues = new OrderedQueues(server)
    const shards = new OrderedShards(orderedQueues, owners)
    this.#server = server
    this.#owners = owners
    this.#notifiers = [server.due, pauses.notifier]

    this.jobs = {
      transaction: null,
      pushThrough: null,
      ...methods(new RedisJobStore(server, priorities), 'push queues peek iterations saveIteration'),
      ...methods(pauses, 'pauseQueue pausedQueues'),
    }
    this.jobSets = jobSets
    this.search = new Search(server, priorities)
    this.cancellations = new Cancellations(server)
    this.crons = new Crons(server)
    this.metrics = {
      ...methods(new Totals(server), 'totals resetTotals history'),
      ...methods(metrics, 'record sums histograms waits recordDeploy deploys'),
      ...methods(metrics, 'recordSnapshot snapshots recordQueueSizes queueSizes'),
    }
    this.limits = new Limits(server)
    this.events = new JobEvents(server)
    this.unique = new UniqueLocks(server)
    this.batches = new Batches(server, priorities)
    this.results = new Results(server)
    this.leftovers = {
      ...methods(new GoWorkers(server), 'goLists goClients requeueGoList'),
      ...methods(new LowkiqQueues(server, orderedQueues), 'adoptLowkiq'),
    }
    const pages = new Transfers(server, priorities)
    this.transfers = {
      ...methods(pages, 'hold held put endPage'),
      ...methods(new OrderedTransfers(orderedQueues, pages), 'holdIds putIds returnIds'),
      ...methods(
        new TaskTransfers(server, tasks),
        'taskIds freeze unfreeze movingTasks seal unseal readTask dropTask putTask voidTask',
      ),
    }
    this.workers = {
      ...methods(owners, 'settleAndFetch waitForJobs join release claim'),
      ...methods(leases, 'renew renewer leases ownersOn unrenewed tidy'),
      ...methods(new OwnedJobs(server, leases, tasks), 'orphaned rescue fetched'),
      ...methods(new LeaderLocks(server), 'acquireLock releaseLock'),
      ...methods(new Processes(server), 'heartbeat showRunning processes running leader removeProcess signal advice'),
    }
    this.tasks = {
      ...methods(
        tasks,
        'create openAdding endAdding producers change revokeLinks cancel delete expired cancelling idle ahead find page',
      ),
      ...methods(
        new TaskRows(server),
        'addRows cancelRows startRun retryRows changeEvents leaveWindow pushTracked putPart part',
      ),
      ...methods(new DeferredRows(server), 'defer endDeferred overdue'),
      ...methods(new TaskEvents(server), 'events event addMessage reasons'),
    }
    this.ordered = {
      ...methods(orderedQueues, 'define'),
      ...methods(shards, 'assignments join leave acquireShard releaseShard pause reshard moveShards'),
      ...methods(new OrderedPusher(orderedQueues), 'push'),
      ...methods(new OrderedSettleAndFetchScript(orderedQueues), 'settleAndFetch'),
      ...methods(new OrderedWaits(server), 'wait'),
      ...methods(new OrderedQueries(orderedQueues, shards), 'queues counts inFlight waiting find morgue'),
      ...methods(
        new OrderedActions(orderedQueues),
        'act deletePayload cancel resurrect deleteDead pruneMorgue deleteQueue',
      ),
    }
  }

  open(): Promise<void> {
    return this.#server.open()
  }

  diagnose(): Promise<Finding[]> {
    return diagnose(this.#server)
  }

  planMigration(): Promise<MigrationPlan> {
    return this.#server.planMigration()
  }

  async close(): Promise<void> {
    this.#owners.close()
    this.#server.close()
    for (const notifier of this.#notifiers) notifier.notify()
  }
}

type NamesIn<Text extends string> = Text extends `${infer First} ${infer Rest}` ? First | NamesIn<Rest> : Text

/** Returns the methods with these names, separated by spaces, bound to their part. The parts make up an area of the contract. */
function methods<T, Names extends string>(part: T, names: NamesIn<Names> extends keyof T ? Names : never) {
  const bound = names.split(' ').map((name) => [name, (part[name as keyof T] as () => unknown).bind(part)])
  return Object.fromEntries(bound) as Pick<T, NamesIn<Names> & keyof T>
}
