/** The store for fleets: Sidekiq's keys on one Redis (or Valkey) server, and ours beside them. */

import type { Pull, PushItem, Store, Stranded, SwapAnswer, TaskSpec } from '../contract.ts'
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
  readonly turnsAtOnce = 2
  readonly transaction = null
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
  readonly #ordered: Ordered

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
    this.#ordered = new Ordered(server, this.#owners)
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

  async push(items: PushItem[], now: number): Promise<void> {
    await this.#queues.push(items, now)
    if (items.some(({ to }) => to !== 'queue' && to !== 'dead')) this.#due.ring()
  }

  readonly turn: Store['turn'] = (name, turn) => this.#owners.turn(name, turn)
  readonly wait: Store['wait'] = (name, queues, n, ms, signal) => this.#owners.wait(name, queues, n, ms, signal)

  readonly join: Store['join'] = (name, about) => this.#owners.join(name, about)
  readonly renew: Store['renew'] = (name, seconds) => this.#leases.renew(name, seconds)
  readonly leave: Store['leave'] = (name) => this.#owners.leave(name)
  readonly leases: Store['leases'] = () => this.#leases.list()
  readonly ownersOn: Store['ownersOn'] = (machine) => this.#leases.ownersOn(machine)
  readonly unrenewed: Store['unrenewed'] = (since) => this.#leases.unrenewed(since)
  readonly tidy: Store['tidy'] = () => this.#leases.tidy()
  readonly claim: Store['claim'] = (name, ends) => this.#owners.claim(name, ends)

  async stranded(limit: number): Promise<Stranded[]> {
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
  }

  readonly restore: Store['restore'] = (items, now) => this.#leases.restore(items, now)
  readonly renewer: Store['renewer'] = () => ({
    module: new URL('./renewer.js', import.meta.url).href,
    options: { ...this.#server.options },
  })
  readonly hold: Store['hold'] = (duty, holder, seconds) => this.#duties.hold(duty, holder, seconds)
  readonly letGo: Store['letGo'] = (duty, holder) => this.#duties.release(duty, holder)

  readonly due: Store['due'] = (set, now, limit) => this.#sets.due(set, now, limit)
  readonly swap: Store['swap'] = (set, swaps, now) => this.#sets.swap(set, swaps, now)
  readonly waitDue: Store['waitDue'] = (ms, signal) => this.#due.wait(ms, signal)
  readonly size: Store['size'] = (set) => this.#sets.size(set)
  readonly entries: Store['entries'] = (set, page) => this.#sets.page(set, page)
  readonly trim: Store['trim'] = (set, max, since) => this.#sets.trim(set, max, since)

  // Searching, and acting on what waits.

  readonly scanQueue: Store['scanQueue'] = (queue, needle, page) => this.#search.queue(queue, needle, page)
  readonly scanSet: Store['scanSet'] = (set, needle, page) => this.#search.set(set, needle, page)

  async pull(queue: string, items: Pull[], now: number): Promise<SwapAnswer[]> {
    const answers = await this.#removal.pull(queue, items, now)
    if (items.some(({ to }) => to?.to === 'schedule' || to?.to === 'retry')) this.#due.ring()
    return answers
  }

  readonly clearQueue: Store['clearQueue'] = (queue, marks, most) => this.#removal.clearQueue(queue, marks, most)
  readonly clearSet: Store['clearSet'] = (set, marks) => this.#removal.clearSet(set, marks)

  readonly taken: Store['taken'] = (page) => taken(this.#server, this.#leases, page)
  readonly running: Store['running'] = () => this.#processes.running()
  readonly leader: Store['leader'] = () => this.#processes.leader()

  readonly pause: Store['pause'] = (queue, on) => this.#pauses.set(queue, on)
  readonly paused: Store['paused'] = () => this.#pauses.list()
  readonly markCancelled: Store['markCancelled'] = (jid) => this.#marks.set(jid)
  readonly unmark: Store['unmark'] = (jid) => this.#marks.unset(jid)
  readonly cancelledAmong: Store['cancelledAmong'] = (jids) => this.#marks.among(jids)
  readonly marks: Store['marks'] = (since) => this.#marks.since(since)

  readonly advice: Store['advice'] = () => this.#server.advice()
  readonly stats: Store['stats'] = () => this.#stats.now()
  readonly resetStats: Store['resetStats'] = (which) => this.#stats.reset(which)
  readonly history: Store['history'] = (days) => this.#stats.history(days)
  readonly queues: Store['queues'] = (only) => this.#queues.list(only)
  readonly peek: Store['peek'] = (queue, offset, limit) => this.#queues.peek(queue, offset, limit)
  readonly beat: Store['beat'] = (process, seconds, running) => this.#processes.beat(process, seconds, running)
  readonly processes: Store['processes'] = () => this.#processes.list()
  readonly forget: Store['forget'] = (identity) => this.#processes.forget(identity)
  readonly signal: Store['signal'] = (identity, signal) => this.#processes.signal(identity, signal)

  async secret(name: string, proposed: string): Promise<string> {
    const key = this.#server.keys.secret(name)
    const main = await this.#server.ready()
    const [, text] = await main.all((pipeline) => pipeline.setnx(key, proposed).get(key))
    return text as string
  }

  readonly keepResult: Store['keepResult'] = (jid, text, seconds) => this.#results.keep(jid, text, seconds)
  readonly result: Store['result'] = (jid, ms = 0, signal) => this.#results.find(jid, ms, signal)

  readonly createTask: Store['createTask'] = (task) => this.#tasks.create(task)
  readonly addRows: Store['addRows'] = (...given) => this.#rows.add(...given)
  readonly openAdding: Store['openAdding'] = (task, adder, now, instead) =>
    this.#tasks.openAdding(task, adder, now, instead)
  readonly endAdding: Store['endAdding'] = (task, adder, now, interrupted = false) =>
    this.#tasks.endAdding(task, adder, now, interrupted)
  readonly changeTask: Store['changeTask'] = (id, change, now) => this.#tasks.change(id, change, now)
  readonly cancelTask: Store['cancelTask'] = (id, reason, now) => this.#tasks.cancel(id, reason, now)
  readonly cancelRows: Store['cancelRows'] = (id, most, now) => this.#rows.cancel(id, most, now)
  readonly startRun: Store['startRun'] = (id, run, adder, now) => this.#tasks.startRun(id, run, adder, now)
  readonly retryRows: Store['retryRows'] = (id, run, rows, now) => this.#rows.retry(id, run, rows, now)
  readonly deleteTask: Store['deleteTask'] = (id) => this.#tasks.delete(id)
  readonly expiredTasks: Store['expiredTasks'] = (now, limit) => this.#tasks.expired(now, limit)
  readonly cancellingTasks: Store['cancellingTasks'] = (limit) => this.#tasks.cancelling(limit)
  readonly idleTasks: Store['idleTasks'] = (before, page) => this.#tasks.idle(before, page)
  readonly changeEvents: Store['changeEvents'] = (effects, now) => this.#rows.changeEvents(effects, now)
  readonly freePlaces: Store['freePlaces'] = (id, indexes, now) => this.#rows.freePlaces(id, indexes, now)
  readonly reasons: Store['reasons'] = (id) => this.#events.reasons(id)
  readonly putPart: Store['putPart'] = (...part) => this.#parts.put(...part)
  readonly part: Store['part'] = (task, index) => this.#parts.find(task, index)
  readonly remember: Store['remember'] = (key, value, seconds, instead) =>
    this.#parts.remember(key, value, seconds, instead)
  readonly task: Store['task'] = (id) => this.#tasks.find(id)
  readonly tasks: Store['tasks'] = (page) => this.#tasks.list(page)
  readonly events: Store['events'] = (task, query) => this.#events.list(task, query)
  readonly event: Store['event'] = (jid) => this.#events.find(jid)
  readonly message: Store['message'] = (jid, message) => this.#events.message(jid, message)

  async pushTracked(items: { task: TaskSpec; item: PushItem }[], now: number): Promise<void> {
    await this.#rows.pushTracked(items, now)
    if (items.some(({ item: { to } }) => to !== 'queue' && to !== 'dead')) this.#due.ring()
  }

  readonly recordMetrics: Store['recordMetrics'] = (batch) => this.#metrics.record(batch)
  readonly metrics: Store['metrics'] = (span, times, name) => this.#metrics.sums(span, times, name)
  readonly histograms: Store['histograms'] = (name, minutes) => this.#metrics.histograms(name, minutes)
  readonly markDeploy: Store['markDeploy'] = (deploy, _now) => this.#metrics.markDeploy(deploy)
  readonly deploys: Store['deploys'] = (days) => this.#metrics.deploys(days)

  readonly iterations: Store['iterations'] = (jids) => this.#iterations.find(jids)
  readonly saveIteration: Store['saveIteration'] = (jid, state) => this.#iterations.save(jid, state)

  readonly crons: Store['crons'] = (names) => this.#crons.list(names)
  readonly defineCron: Store['defineCron'] = (name, definition, seconds) =>
    this.#crons.define(name, definition, seconds)
  readonly tickCron: Store['tickCron'] = (name, tick, now) => this.#crons.tick(name, tick, now)
  readonly pauseCron: Store['pauseCron'] = (name, paused, now) => this.#crons.pause(name, paused, now)
  readonly forgetCron: Store['forgetCron'] = (name) => this.#crons.forget(name)
  readonly unlock: Store['unlock'] = (lock, holder) => this.#crons.unlock(lock, holder)

  readonly defineOrdered: Store['defineOrdered'] = (queue, shards) => this.#ordered.defineOrdered(queue, shards)
  readonly orderedQueues: Store['orderedQueues'] = () => this.#ordered.orderedQueues()
  readonly orderedBoard: Store['orderedBoard'] = (queue) => this.#ordered.orderedBoard(queue)
  readonly orderedNumbers: Store['orderedNumbers'] = (queue, now) => this.#ordered.orderedNumbers(queue, now)
  readonly pushOrdered: Store['pushOrdered'] = (queue, shards, items, now) =>
    this.#ordered.pushOrdered(queue, shards, items, now)
  readonly joinOrdered: Store['joinOrdered'] = (queue, owner) => this.#ordered.joinOrdered(queue, owner)
  readonly leaveOrdered: Store['leaveOrdered'] = (queue, owner, now) => this.#ordered.leaveOrdered(queue, owner, now)
  readonly ownShard: Store['ownShard'] = (queue, shard, owner, maxCrashes, now) =>
    this.#ordered.ownShard(queue, shard, owner, maxCrashes, now)
  readonly releaseShard: Store['releaseShard'] = (queue, shard, owner, token, now) =>
    this.#ordered.releaseShard(queue, shard, owner, token, now)
  readonly orderedTurn: Store['orderedTurn'] = (queue, owner, turn) => this.#ordered.orderedTurn(queue, owner, turn)
  readonly orderedInFlight: Store['orderedInFlight'] = (queue, owner) => this.#ordered.orderedInFlight(queue, owner)
  readonly waitOrdered: Store['waitOrdered'] = (owner, queues, ms, signal) =>
    this.#ordered.waitOrdered(owner, queues, ms, signal)
  readonly pauseOrdered: Store['pauseOrdered'] = (queue, on) => this.#ordered.pauseOrdered(queue, on)
  readonly reshard: Store['reshard'] = (queue, shards) => this.#ordered.reshard(queue, shards)
  readonly moveShards: Store['moveShards'] = (queue) => this.#ordered.moveShards(queue)
  readonly orderedWaiting: Store['orderedWaiting'] = (queue, by, page) => this.#ordered.orderedWaiting(queue, by, page)
  readonly findOrdered: Store['findOrdered'] = (queue, id) => this.#ordered.findOrdered(queue, id)
  readonly actOrdered: Store['actOrdered'] = (queue, act, ids, options) =>
    this.#ordered.actOrdered(queue, act, ids, options)
  readonly deleteOrderedPayload: Store['deleteOrderedPayload'] = (queue, id, payload) =>
    this.#ordered.deleteOrderedPayload(queue, id, payload)
  readonly cancelOrdered: Store['cancelOrdered'] = (queue, ids) => this.#ordered.cancelOrdered(queue, ids)
  readonly morgue: Store['morgue'] = (queue, by, page) => this.#ordered.morgue(queue, by, page)
  readonly resurrect: Store['resurrect'] = (queue, ids, now) => this.#ordered.resurrect(queue, ids, now)
  readonly deleteDead: Store['deleteDead'] = (queue, ids) => this.#ordered.deleteDead(queue, ids)
  readonly trimMorgue: Store['trimMorgue'] = (queue, max, since) => this.#ordered.trimMorgue(queue, max, since)
  readonly deleteOrderedQueue: Store['deleteOrderedQueue'] = (queue) => this.#ordered.deleteOrderedQueue(queue)
}
