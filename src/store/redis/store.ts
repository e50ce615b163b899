/** The store for fleets: Sidekiq's keys on one Redis (or Valkey) server, and ours beside them. */

import type {
  CancellationStore,
  CronStore,
  JobSetStore,
  JobStore,
  MetricStore,
  OrderedStore,
  OrphanedJob,
  Pull,
  PushItem,
  ResultStore,
  SearchStore,
  Store,
  SwapAnswer,
  TaskSpec,
  TaskStore,
  WorkerStore,
} from '../contract.ts'
import { Bell } from './bell.ts'
import { Crons } from './crons.ts'
import { Duties } from './duties.ts'
import { Iterations } from './iterations.ts'
import { Leases } from './leases.ts'
import { Marks } from './marks.ts'
import { Metrics } from './metrics.ts'
import { Ordered } from './ordered/ordered.ts'
import { Owners } from './owners.ts'
import { Parts } from './parts.ts'
import { Pauses } from './pauses.ts'
import { Processes } from './processes.ts'
import { Queues } from './queues.ts'
import { Removal } from './removal.ts'
import { Results } from './results.ts'
import { Search } from './search.ts'
import { Server } from './server.ts'
import { Sets } from './sets.ts'
import { Stats } from './stats.ts'
import { taken } from './taken.ts'
import { TaskEvents } from './tasks/events.ts'
import { TaskRows } from './tasks/rows.ts'
import { Tasks } from './tasks/tasks.ts'
import type { RedisStoreOptions } from './url.ts'

export class RedisStore implements Store {
  readonly kind = 'redis'
  readonly maxConcurrentCalls = 2
  readonly url: string
  readonly #server: Server
  readonly #queues: Queues
  readonly #sets: Sets
  readonly #leases: Leases
  readonly #duties: Duties
  readonly #processes: Processes
  readonly #tasks: Tasks
  readonly #rows: TaskRows
  readonly #events: TaskEvents
  readonly #parts: Parts
  readonly #crons: Crons
  readonly #results: Results
  readonly #stats: Stats
  readonly #search: Search
  readonly #removal: Removal
  readonly #metrics: Metrics
  readonly #iterations: Iterations
  readonly #due: Bell
  readonly #pauses: Pauses
  readonly #marks: Marks
  readonly #owners: Owners
  readonly ordered: OrderedStore

  constructor(options: RedisStoreOptions) {
    this.url = options.url
    const server = new Server(options)
    this.#server = server
    this.#queues = new Queues(server)
    this.#sets = new Sets(server)
    this.#leases = new Leases(server)
    this.#duties = new Duties(server)
    this.#processes = new Processes(server)
    this.#crons = new Crons(server)
    this.#tasks = new Tasks(server, this.#sets)
    this.#rows = new TaskRows(server)
    this.#events = new TaskEvents(server)
    this.#parts = new Parts(server)
    this.#results = new Results(server)
    this.#stats = new Stats(server, this.#leases)
    this.#search = new Search(server)
    this.#removal = new Removal(server, this.#search)
    this.#metrics = new Metrics(server)
    this.#iterations = new Iterations(server)
    this.#due = new Bell(server, server.keys.wake)
    this.#pauses = new Pauses(server)
    this.#marks = new Marks(server)
    this.#owners = new Owners(server, this.#leases, this.#tasks, this.#pauses)
    this.ordered = new Ordered(server, this.#owners)
  }

  readonly jobs: JobStore = {
    transaction: null,
    push: async (items: PushItem[], now: number): Promise<void> => {
      await this.#queues.push(items, now)
      if (items.some(({ to }) => to !== 'queue' && to !== 'dead')) this.#due.ring()
    },
    pauseQueue: (queue, on) => this.#pauses.set(queue, on),
    pausedQueues: () => this.#pauses.list(),
    queues: (only) => this.#queues.list(only),
    peek: (queue, offset, limit) => this.#queues.peek(queue, offset, limit),
    iterations: (jids) => this.#iterations.find(jids),
    saveIteration: (jid, state) => this.#iterations.save(jid, state),
  }

  readonly workers: WorkerStore = {
    settleAndFetch: (name, turn) => this.#owners.settleAndFetch(name, turn),
    waitForJobs: (name, queues, n, ms, signal) => this.#owners.waitForJobs(name, queues, n, ms, signal),
    join: (name, about) => this.#owners.join(name, about),
    renew: (name, seconds) => this.#leases.renew(name, seconds),
    release: (name) => this.#owners.release(name),
    leases: () => this.#leases.list(),
    ownersOn: (machine) => this.#leases.ownersOn(machine),
    unrenewed: (since) => this.#leases.unrenewed(since),
    tidy: () => this.#leases.tidy(),
    claim: (name, ends) => this.#owners.claim(name, ends),
    orphaned: async (limit: number): Promise<OrphanedJob[]> => {
      // Again, for a sweeper that died between the claim and this.
      await this.#server.ready()
      const owners = await this.#leases.claimed()
      let broken: unknown
      if (owners.length > 0) {
        await this.#tasks.interrupt(new Set(owners), Date.now()).catch((thrown) => {
          broken = thrown
        })
      }
      const stranded = await this.#leases.stranded(limit)
      // A task that can't be told of its submitter's death must not keep the jobs of others from going back.
      if (stranded.length === 0 && broken) throw broken
      return stranded
    },
    rescue: (items, now) => this.#leases.restore(items, now),
    renewer: () => ({
      module: new URL('./renewer.js', import.meta.url).href,
      options: { ...this.#server.options },
    }),
    acquireLock: (duty, holder, seconds) => this.#duties.hold(duty, holder, seconds),
    releaseLock: (duty, holder) => this.#duties.release(duty, holder),
    fetched: (page) => taken(this.#server, this.#leases, page),
    running: () => this.#processes.running(),
    leader: () => this.#processes.leader(),
    advice: () => this.#server.advice(),
    heartbeat: (process, seconds, running) => this.#processes.beat(process, seconds, running),
    processes: () => this.#processes.list(),
    removeProcess: (identity) => this.#processes.forget(identity),
    signal: (identity, signal) => this.#processes.signal(identity, signal),
  }

  readonly jobSets: JobSetStore = {
    due: (set, now, limit) => this.#sets.due(set, now, limit),
    swap: (set, swaps, now) => this.#sets.swap(set, swaps, now),
    waitUntilDue: (ms, signal) => this.#due.wait(ms, signal),
    size: (set) => this.#sets.size(set),
    page: (set, page) => this.#sets.page(set, page),
    prune: (set, max, since) => this.#sets.trim(set, max, since),
  }

  readonly search: SearchStore = {
    // Searching, and acting on what waits.
    scanQueue: (queue, needle, page) => this.#search.queue(queue, needle, page),
    scanSet: (set, needle, page) => this.#search.set(set, needle, page),
    pull: async (queue: string, items: Pull[], now: number): Promise<SwapAnswer[]> => {
      const answers = await this.#removal.pull(queue, items, now)
      if (items.some(({ to }) => to?.to === 'schedule' || to?.to === 'retry')) this.#due.ring()
      return answers
    },
    clearQueue: (queue, marks, most) => this.#removal.clearQueue(queue, marks, most),
    clearSet: (set, marks) => this.#removal.clearSet(set, marks),
  }

  readonly cancellations: CancellationStore = {
    request: (jid) => this.#marks.set(jid),
    withdraw: (jid) => this.#marks.unset(jid),
    among: (jids) => this.#marks.among(jids),
    since: (since) => this.#marks.since(since),
  }

  readonly tasks: TaskStore = {
    create: (task) => this.#tasks.create(task),
    addRows: (...given) => this.#rows.add(...given),
    openAdding: (task, adder, now, instead) => this.#tasks.openAdding(task, adder, now, instead),
    endAdding: (task, adder, now, interrupted = false) => this.#tasks.endAdding(task, adder, now, interrupted),
    change: (id, change, now) => this.#tasks.change(id, change, now),
    cancel: (id, reason, now) => this.#tasks.cancel(id, reason, now),
    cancelRows: (id, most, now) => this.#rows.cancel(id, most, now),
    startRun: (id, run, adder, now) => this.#tasks.startRun(id, run, adder, now),
    retryRows: (id, run, rows, now) => this.#rows.retry(id, run, rows, now),
    delete: (id) => this.#tasks.delete(id),
    expired: (now, limit) => this.#tasks.expired(now, limit),
    cancelling: (limit) => this.#tasks.cancelling(limit),
    idle: (before, page) => this.#tasks.idle(before, page),
    changeEvents: (effects, now) => this.#rows.changeEvents(effects, now),
    leaveWindow: (id, indexes, now) => this.#rows.freePlaces(id, indexes, now),
    reasons: (id) => this.#events.reasons(id),
    putPart: (...part) => this.#parts.put(...part),
    part: (task, index) => this.#parts.find(task, index),
    find: (id) => this.#tasks.find(id),
    page: (page) => this.#tasks.list(page),
    events: (task, query) => this.#events.list(task, query),
    event: (jid) => this.#events.find(jid),
    addMessage: (jid, message) => this.#events.message(jid, message),
    pushTracked: async (items: { task: TaskSpec; item: PushItem }[], now: number): Promise<void> => {
      await this.#rows.pushTracked(items, now)
      if (items.some(({ item: { to } }) => to !== 'queue' && to !== 'dead')) this.#due.ring()
    },
  }

  readonly crons: CronStore = {
    list: (names) => this.#crons.list(names),
    define: (name, definition, seconds) => this.#crons.define(name, definition, seconds),
    tick: (name, tick, now) => this.#crons.tick(name, tick, now),
    pause: (name, paused, now) => this.#crons.pause(name, paused, now),
    remove: (name) => this.#crons.forget(name),
    releaseLock: (lock, holder) => this.#crons.unlock(lock, holder),
  }

  readonly metrics: MetricStore = {
    totals: () => this.#stats.now(),
    resetTotals: (which) => this.#stats.reset(which),
    history: (days) => this.#stats.history(days),
    record: (batch) => this.#metrics.record(batch),
    sums: (span, times, name) => this.#metrics.sums(span, times, name),
    histograms: (name, minutes) => this.#metrics.histograms(name, minutes),
    recordDeploy: (deploy, _now) => this.#metrics.markDeploy(deploy),
    deploys: (days) => this.#metrics.deploys(days),
  }

  readonly results: ResultStore = {
    secret: async (name: string, proposed: string): Promise<string> => {
      const key = this.#server.keys.secret(name)
      const main = await this.#server.ready()
      const [, text] = await main.all((pipeline) => pipeline.setnx(key, proposed).get(key))
      return text as string
    },
    keep: (jid, text, seconds) => this.#results.keep(jid, text, seconds),
    find: (jid, ms = 0, signal) => this.#results.find(jid, ms, signal),
    remember: (key, value, seconds, instead) => this.#parts.remember(key, value, seconds, instead),
  }

  open(): Promise<void> {
    return this.#server.check()
  }

  async close(): Promise<void> {
    this.#owners.close()
    this.#server.close()
    this.#due.ring()
    this.#pauses.bell.ring()
  }

  // Searching, and acting on what waits.
}
