/** The store for fleets: Sidekiq's keys on one Redis (or Valkey) server, and ours beside them. */

import type { Store } from '../contract.ts'
import { Cancellations } from './jobs/cancellations.ts'
import { Crons } from './jobs/crons.ts'
import { JobSets } from './jobs/job-sets.ts'
import { RedisJobStore } from './jobs/job-store.ts'
import { Metrics } from './jobs/metrics.ts'
import { Pauses } from './jobs/pauses.ts'
import { Results } from './jobs/results.ts'
import { Search } from './jobs/search.ts'
import { OrderedActions } from './ordered/actions.ts'
import { OrderedPusher } from './ordered/push.ts'
import { OrderedQueries } from './ordered/queries.ts'
import { OrderedQueues } from './ordered/queues.ts'
import { OrderedSettleAndFetchScript } from './ordered/settle-and-fetch.ts'
import { OrderedShards } from './ordered/shards.ts'
import { OrderedWaits } from './ordered/waits.ts'
import type { Notifier } from './server/notifier.ts'
import { Server } from './server/server.ts'
import type { RedisStoreOptions } from './server/url.ts'
import { TaskEvents } from './tasks/events.ts'
import { TaskRows } from './tasks/rows.ts'
import { Tasks } from './tasks/tasks.ts'
import { LeaderLocks } from './workers/leader-locks.ts'
import { Leases } from './workers/leases.ts'
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
  readonly metrics: Store['metrics']
  readonly results: Store['results']
  readonly #server: Server
  readonly #owners: Owners
  readonly #notifiers: Notifier[]

  constructor(options: RedisStoreOptions, warn?: (message: string) => void) {
    this.url = options.url
    const server = new Server(options, warn)
    const pauses = new Pauses(server)
    const jobSets = new JobSets(server)
    const tasks = new Tasks(server, jobSets)
    const leases = new Leases(server)
    const owners = new Owners(server, leases, tasks, pauses)
    const orderedQueues = new OrderedQueues(server)
    const shards = new OrderedShards(orderedQueues, owners)
    this.#server = server
    this.#owners = owners
    this.#notifiers = [server.due, pauses.notifier]

    this.jobs = { transaction: null, ...allMethods(new RedisJobStore(server), pauses) }
    this.jobSets = jobSets
    this.search = new Search(server)
    this.cancellations = new Cancellations(server)
    this.crons = new Crons(server)
    this.metrics = allMethods(new Totals(server, leases), new Metrics(server))
    this.results = new Results(server)
    this.workers = allMethods(
      owners,
      leases,
      new OwnedJobs(server, leases, tasks),
      new LeaderLocks(server),
      new Processes(server),
    )
    this.tasks = allMethods(tasks, new TaskRows(server), new TaskEvents(server))
    this.ordered = allMethods(
      orderedQueues,
      shards,
      new OrderedPusher(orderedQueues),
      new OrderedSettleAndFetchScript(orderedQueues),
      new OrderedWaits(server),
      new OrderedQueries(orderedQueues, shards),
      new OrderedActions(orderedQueues),
    )
  }

  open(): Promise<void> {
    return this.#server.open()
  }

  async close(): Promise<void> {
    this.#owners.close()
    this.#server.close()
    for (const notifier of this.#notifiers) notifier.notify()
  }
}

type Methods<T> = Pick<T, keyof T>
type Intersection<T extends unknown[]> = T extends [infer First, ...infer Rest]
  ? Methods<First> & Intersection<Rest>
  : unknown

/** Returns one object with all methods of several, each bound to its own. Together they make up one area of the contract. */
function allMethods<T extends object[]>(...parts: T): Intersection<T> {
  const methods = parts.flatMap((part) =>
    Object.entries(Object.getOwnPropertyDescriptors(Object.getPrototypeOf(part)))
      .filter(([name, { value }]) => name !== 'constructor' && typeof value === 'function')
      .map(([name, { value }]) => [name, value.bind(part)]),
  )
  const names = methods.map(([name]) => name)
  const twice = names.find((name, i) => names.indexOf(name) < i)
  if (twice) throw new TypeError(`two parts of an area have a method ${twice}`)
  return Object.fromEntries(methods)
}
