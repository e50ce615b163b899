/** The store for fleets: Sidekiq's keys on one Redis (or Valkey) server, and ours beside them. */

import { HighkiqError } from '../../job/errors.ts'
import type {
  AddAnswer,
  BeatAnswer,
  Cleared,
  CronDefinition,
  CronRecord,
  CronTick,
  CronTickAnswer,
  Deploy,
  Entry,
  EventQuery,
  EventRecord,
  IterationRecord,
  IterationState,
  JobSums,
  Lease,
  MarkState,
  Message,
  MetricsBatch,
  NewRow,
  Owned,
  ProcessRecord,
  Pull,
  PushItem,
  QueueInfo,
  Renewer,
  Restore,
  RunningJob,
  Scan,
  ScanPage,
  SetName,
  Signal,
  Store,
  StoreStats,
  Stranded,
  Swap,
  SwapAnswer,
  Taken,
  TaskRecord,
  TaskSpec,
  Turn,
  TurnAnswer,
  Waiting,
} from '../contract.ts'
import { Bell } from './bell.ts'
import { type Connection, closedError } from './connection.ts'
import { Crons } from './crons.ts'
import { Iterations } from './iterations.ts'
import { Leases } from './leases.ts'
import { Marks } from './marks.ts'
import { Metrics } from './metrics.ts'
import { Owner } from './owner.ts'
import { Pauses } from './pauses.ts'
import { Processes } from './processes.ts'
import { Queues } from './queues.ts'
import { Reconciler } from './reconcile.ts'
import { Removal } from './removal.ts'
import { Results } from './results.ts'
import { Search } from './search.ts'
import { Server } from './server.ts'
import { Sets } from './sets.ts'
import { Stats } from './stats.ts'
import { taken } from './taken.ts'
import { Tasks } from './tasks.ts'
import { Turns } from './turns.ts'
import type { RedisStoreOptions } from './url.ts'
import { Waits } from './waits.ts'

/** Between looks for jobs that nobody was told of; sooner after an error. */
const RECONCILE_MS = 30_000
/** The server may go on serving a wait for so long after its client has gone. */
const AGAIN_MS = 3000
/** A wait whose client is gone is served for no longer. */
const SERVED_MS = 5000
/** What was found and is not wanted goes back to its queue. */
const UNWANTED_MS = 2000

export class RedisStore implements Store {
  readonly kind = 'redis'
  readonly turnsAtOnce = 2
  readonly transaction = null
  readonly url: string
  readonly #server: Server
  readonly #queues: Queues
  readonly #sets: Sets
  readonly #leases: Leases
  readonly #processes: Processes
  readonly #tasks: Tasks
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
  readonly #turns: Turns
  readonly #waits: Waits
  readonly #reconciler: Reconciler
  readonly #owners = new Map<string, Owner>()
  /** Of owners that lost their lease. */
  readonly #lastQueues = new Map<string, ReadonlySet<string>>()
  readonly #timers = new Set<NodeJS.Timeout>()
  #turnsConnection: Connection | undefined
  #checked: Promise<void> | undefined

  constructor(options: RedisStoreOptions) {
    this.url = options.url
    const server = new Server(options)
    this.#server = server
    this.#queues = new Queues(server)
    this.#sets = new Sets(server)
    this.#leases = new Leases(server)
    this.#processes = new Processes(server)
    this.#crons = new Crons(server)
    this.#tasks = new Tasks(server, this.#sets)
    this.#results = new Results(server)
    this.#stats = new Stats(server, this.#leases)
    this.#search = new Search(server)
    this.#removal = new Removal(server)
    this.#metrics = new Metrics(server)
    this.#iterations = new Iterations(server)
    this.#due = new Bell(server, server.keys.wake)
    this.#pauses = new Pauses(server)
    this.#marks = new Marks(server)
    const connection = () => this.#turnsLine()
    this.#turns = new Turns(server, connection, this.#pauses)
    this.#waits = new Waits(server, this.#pauses, {
      lost: () => this.#lost(),
      found: (owner) => this.#after(UNWANTED_MS, () => this.#giveBack(owner)),
      returning: (owner) => void this.#giveBack(owner),
    })
    this.#reconciler = new Reconciler(server, connection)
  }

  async open(): Promise<void> {
    this.#checked ??= this.#check().catch((thrown) => {
      // What was wrong may be mended: the next one tries again.
      this.#checked = undefined
      throw thrown
    })
    await this.#checked
  }

  async close(): Promise<void> {
    for (const timer of this.#timers) clearTimeout(timer)
    for (const owner of this.#owners.values()) {
      owner.left = true
      for (const end of owner.waits) end()
    }
    this.#server.close()
    this.#due.ring()
    this.#pauses.bell.ring()
  }

  async push(items: PushItem[], now: number): Promise<void> {
    await this.#queues.push(items, now)
    if (items.some(({ to }) => to !== 'queue' && to !== 'dead')) this.#due.ring()
  }

  async turn(name: string, turn: Turn): Promise<TurnAnswer> {
    const owner = await this.#ownerIn(name, turn.take.queues)
    if (!owner) return fencedTurn(turn)
    try {
      const answer = await this.#turns.run(owner, turn)
      if (answer.fenced) this.#fenced(owner)
      return answer
    } catch (thrown) {
      this.#lost()
      throw thrown
    }
  }

  async wait(name: string, queues: readonly string[], n: number, ms: number, signal: AbortSignal): Promise<Taken[]> {
    const owner = await this.#ownerIn(name, queues)
    return owner ? this.#waits.run(owner, queues, n, ms, signal) : []
  }

  async join(name: string, about: { queues: readonly string[]; seconds: number; host: string }): Promise<boolean> {
    if (!(await this.#leases.join(name, about.queues, about.seconds, about.host))) return false
    const owner = new Owner(name, about.queues)
    owner.reconcileMs = RECONCILE_MS
    this.#owners.set(name, owner)
    this.#reconcileIn(name, RECONCILE_MS)
    return true
  }

  renew(name: string, seconds: number): Promise<boolean> {
    return this.#leases.renew(name, seconds)
  }

  async leave(name: string): Promise<boolean> {
    const owner = await this.#owner(name)
    if (!owner) return false
    owner.left = true
    // What it holds without knowing goes back before it is gone; else it must be claimed.
    await this.#reconciler.run(owner).catch(() => {})
    await this.#giveBack(owner)
    // The server may still serve a wait whose line broke: then it must be found among the claimed.
    if (this.#waits.brokeWithin(SERVED_MS)) {
      await this.claim(name, null)
      this.#owners.delete(name)
      return false
    }
    const gone = await this.#leases.leave(owner)
    if (gone) this.#owners.delete(name)
    else owner.left = false
    return gone
  }

  leases(): Promise<Lease[]> {
    return this.#leases.list()
  }

  async claim(name: string, ends: number | null): Promise<boolean> {
    const claimed = await this.#leases.claim(name, ends, this.#lastQueues.get(name))
    this.#lastQueues.delete(name)
    if (claimed) await this.#tasks.interrupt(new Set([name]), Date.now())
    return claimed
  }

  async stranded(limit: number): Promise<Stranded[]> {
    // Again, for a sweeper that died between the claim and this.
    const owners = (await this.#leases.claimed()).map(({ owner }) => owner)
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

  restore(items: Restore[], now: number): Promise<SwapAnswer[]> {
    return this.#leases.restore(items, now)
  }

  renewer(): Renewer | null {
    return { module: new URL('./renewer.js', import.meta.url).href, options: { ...this.#server.options } }
  }

  hold(duty: string, holder: string, seconds: number): Promise<boolean> {
    return this.#leases.hold(duty, holder, seconds)
  }

  letGo(duty: string, holder: string): Promise<void> {
    return this.#leases.letGo(duty, holder)
  }

  due(set: SetName, now: number, limit: number): Promise<{ entries: Entry[]; next: number | null }> {
    return this.#sets.due(set, now, limit)
  }

  swap(set: SetName, swaps: Swap[], now: number): Promise<SwapAnswer[]> {
    return this.#sets.swap(set, swaps, now)
  }

  waitDue(ms: number, signal: AbortSignal): Promise<void> {
    return this.#due.wait(ms, signal)
  }

  size(set: SetName): Promise<number> {
    return this.#sets.size(set)
  }

  entries(set: SetName, page: { after?: Entry; desc?: boolean; limit: number }): Promise<Entry[]> {
    return this.#sets.page(set, page)
  }

  trim(set: SetName, max: number, since: number): Promise<void> {
    return this.#sets.trim(set, max, since)
  }

  // Searching, and acting on what waits.

  scanQueue(queue: string, needle: string, page: ScanPage): Promise<Scan<Waiting>> {
    return this.#search.queue(queue, needle, page)
  }

  scanSet(set: SetName, needle: string, page: ScanPage): Promise<Scan<Entry>> {
    return this.#search.set(set, needle, page)
  }

  async pull(queue: string, items: Pull[], now: number): Promise<SwapAnswer[]> {
    const answers = await this.#removal.pull(queue, items, now)
    if (items.some(({ to }) => to?.to === 'schedule' || to?.to === 'retry')) this.#due.ring()
    return answers
  }

  clearQueue(queue: string, mark: string, most: number): Promise<Cleared<Waiting>> {
    return this.#removal.clearQueue(queue, mark, most)
  }

  clearSet(set: SetName, mark: string | null): Promise<Cleared<Entry>> {
    return this.#removal.clearSet(set, mark)
  }

  async taken(page: { after?: string | undefined; limit: number }): Promise<{ items: Owned[]; next: string | null }> {
    return taken(this.#server, this.#leases, page)
  }

  running(): Promise<(RunningJob & { identity: string })[]> {
    return this.#processes.running()
  }

  leader(): Promise<string | null> {
    return this.#processes.leader()
  }

  pause(queue: string, on: boolean): Promise<void> {
    return this.#pauses.set(queue, on)
  }

  paused(): Promise<string[]> {
    return this.#pauses.list()
  }

  markCancelled(jid: string, now: number): Promise<void> {
    return this.#marks.set(jid, now)
  }

  unmark(jid: string, now: number): Promise<MarkState> {
    return this.#marks.unset(jid, now)
  }

  cancelledAmong(jids: readonly string[]): Promise<string[]> {
    return this.#marks.among(jids)
  }

  marks(since: number): Promise<{ version: number; jids: string[] }> {
    return this.#marks.since(since)
  }

  stats(): Promise<StoreStats> {
    return this.#stats.now()
  }

  resetStats(which: 'processed' | 'failed'): Promise<void> {
    return this.#stats.reset(which)
  }

  history(days: readonly string[]): Promise<{ processed: number; failed: number }[]> {
    return this.#stats.history(days)
  }

  queues(only?: readonly string[]): Promise<QueueInfo[]> {
    return this.#queues.list(only)
  }

  peek(queue: string, offset: number, limit: number): Promise<string[]> {
    return this.#queues.peek(queue, offset, limit)
  }

  beat(process: ProcessRecord, seconds: number, running?: readonly RunningJob[]): Promise<BeatAnswer> {
    return this.#processes.beat(process, seconds, running)
  }

  processes(): Promise<ProcessRecord[]> {
    return this.#processes.list()
  }

  forget(identity: string): Promise<void> {
    return this.#processes.forget(identity)
  }

  signal(identity: string, signal: Signal): Promise<boolean> {
    return this.#processes.signal(identity, signal)
  }

  keepResult(jid: string, text: string, seconds: number): Promise<void> {
    return this.#results.keep(jid, text, seconds)
  }

  result(jid: string, ms = 0, signal?: AbortSignal): Promise<string | null> {
    return this.#results.find(jid, ms, signal)
  }

  createTask(task: TaskSpec): Promise<boolean> {
    return this.#tasks.create(task)
  }

  addRows(task: string, adder: string, from: number, rows: NewRow[], now: number): Promise<AddAnswer> {
    return this.#tasks.add(task, adder, from, rows, now)
  }

  endAdding(task: string, adder: string, now: number, interrupted = false): Promise<AddAnswer> {
    return this.#tasks.endAdding(task, adder, now, interrupted)
  }

  task(id: string): Promise<TaskRecord | null> {
    return this.#tasks.find(id)
  }

  tasks(page: { before?: { createdAt: number; id: string }; limit: number }): Promise<TaskRecord[]> {
    return this.#tasks.list(page)
  }

  events(task: string, query: EventQuery): Promise<EventRecord[]> {
    return this.#tasks.events(task, query)
  }

  event(jid: string): Promise<EventRecord | null> {
    return this.#tasks.event(jid)
  }

  message(jid: string, message: Message): Promise<void> {
    return this.#tasks.message(jid, message)
  }

  recordMetrics(batch: MetricsBatch): Promise<void> {
    return this.#metrics.record(batch)
  }

  metrics(span: 1 | 10, times: readonly number[], name?: string): Promise<JobSums[]> {
    return this.#metrics.sums(span, times, name)
  }

  histograms(name: string, minutes: readonly number[]): Promise<{ at: number; counts: number[] }[]> {
    return this.#metrics.histograms(name, minutes)
  }

  markDeploy(deploy: Deploy, _now: number): Promise<boolean> {
    return this.#metrics.markDeploy(deploy)
  }

  deploys(days: readonly string[]): Promise<Deploy[]> {
    return this.#metrics.deploys(days)
  }

  iterations(jids: readonly string[]): Promise<(IterationRecord | null)[]> {
    return this.#iterations.find(jids)
  }

  saveIteration(jid: string, state: IterationState): Promise<boolean> {
    return this.#iterations.save(jid, state)
  }

  crons(names?: readonly string[]): Promise<CronRecord[]> {
    return this.#crons.list(names)
  }

  defineCron(name: string, definition: CronDefinition, seconds: number): Promise<boolean> {
    return this.#crons.define(name, definition, seconds)
  }

  tickCron(name: string, tick: CronTick, now: number): Promise<CronTickAnswer> {
    return this.#crons.tick(name, tick, now)
  }

  pauseCron(name: string, paused: boolean, now: number): Promise<boolean> {
    return this.#crons.pause(name, paused, now)
  }

  forgetCron(name: string): Promise<boolean> {
    return this.#crons.forget(name)
  }

  unlock(lock: string, holder: string): Promise<void> {
    return this.#crons.unlock(lock, holder)
  }

  // -------------------------------------------------------------------------------------------------- owners

  /** What this process knows of an owner; one that joined elsewhere is looked up. */
  async #owner(name: string): Promise<Owner | undefined> {
    const known = this.#owners.get(name)
    if (known) return known
    await this.#server.ready()
    const queues = await this.#leases.queuesOf(name)
    if (queues.length === 0) return undefined
    const owner = this.#owners.get(name) ?? new Owner(name, queues)
    this.#owners.set(name, owner)
    return owner
  }

  /** The owner, entered in these queues; undefined: it has no lease. */
  async #ownerIn(name: string, queues: readonly string[]): Promise<Owner | undefined> {
    const owner = this.#owners.get(name) ?? (await this.#owner(name))
    if (!owner) return undefined
    for (const queue of queues) {
      if (!owner.queues.has(queue) && !(await this.#leases.enter(owner, queue))) return undefined
    }
    return owner
  }

  /** It has no lease any more: nothing is waited for in its name, and where it was is known for its claim. */
  #fenced(owner: Owner): void {
    for (const end of owner.waits) end()
    this.#owners.delete(owner.name)
    this.#lastQueues.set(owner.name, owner.queues)
  }

  #turnsLine(): Connection {
    this.#turnsConnection ??= this.#server.connect({ onLost: () => this.#lost() })
    return this.#turnsConnection
  }

  // --------------------------------------------------------------------------------------------- lost answers

  /** An answer may have been lost: what it told is looked for now, and soon again, for it may be on its way. */
  #lost(): void {
    for (const [name, owner] of this.#owners) {
      owner.reconcileMs = AGAIN_MS
      void this.#reconcile(name)
      this.#reconcileIn(name, AGAIN_MS)
    }
  }

  async #reconcile(name: string): Promise<void> {
    const owner = this.#owners.get(name)
    if (!owner || owner.left) return
    try {
      if (!(await this.#leases.holds(owner))) {
        this.#fenced(owner)
        return
      }
      await this.#reconciler.run(owner)
      if (owner.found.length > 0) this.#after(UNWANTED_MS, () => this.#giveBack(owner))
    } catch {
      this.#reconcileIn(name, AGAIN_MS)
    }
  }

  /** Looks then, and on, with growing gaps. An earlier look that is planned already stays. */
  #reconcileIn(name: string, ms: number): void {
    const owner = this.#owners.get(name)
    const at = performance.now() + ms
    if (!owner || owner.reconcileAt <= at) return
    owner.reconcileAt = at
    this.#after(ms, async () => {
      if (owner.reconcileAt !== at) return
      owner.reconcileAt = Number.POSITIVE_INFINITY
      this.#reconcileIn(name, owner.reconcileMs)
      owner.reconcileMs = Math.min(owner.reconcileMs * 2, RECONCILE_MS)
      await this.#reconcile(name)
    })
  }

  /**
   * What was found goes back to the front of its queues, as it was, newest first. Once that was asked for, it is never
   * handed out: the request may be carried out late.
   */
  async #giveBack(owner: Owner): Promise<void> {
    owner.givingBack ??= this.#returnFound(owner).finally(() => {
      owner.givingBack = undefined
    })
    await owner.givingBack
  }

  async #returnFound(owner: Owner): Promise<void> {
    owner.returning.push(...owner.found.splice(0).reverse())
    const asked = [...owner.returning]
    if (asked.length === 0) return
    const settlements = asked.map(({ queue, ticket, text }) => ({
      queue,
      ticket,
      move: { to: 'queue', queue, text, end: 'front' } as const,
      processed: 0 as const,
      failed: 0 as const,
    }))
    const turn = { now: Date.now(), started: [], settlements, take: { queues: [], n: 0 } }
    const answer = await this.#turns.run(owner, turn).catch(() => undefined)
    const back = new Set(asked.filter((_, i) => answer && answer.settled[i] !== 'error'))
    owner.returning = owner.returning.filter((taken) => !back.has(taken))
    if (owner.returning.length > 0 && !owner.left) this.#after(UNWANTED_MS, () => this.#giveBack(owner))
  }

  #after(ms: number, work: () => unknown): void {
    if (this.#server.isClosed) return
    const timer = setTimeout(() => {
      this.#timers.delete(timer)
      void work()
    }, ms).unref()
    this.#timers.add(timer)
  }

  /** @throws STORE_UNREACHABLE, STORE_UNUSABLE */
  async #check(): Promise<void> {
    if (this.#server.isClosed) throw closedError(this.url)
    const main = await this.#server.ready()
    // A server that hides this command is believed to be new enough.
    const info = await main.call((client) => client.info('server')).catch(() => '')
    const [, version = ''] = /redis_version:([\d.]+)/.exec(info) ?? []
    const [major = 99, minor = 0] = version === '' ? [] : version.split('.').map(Number)
    if (major < 6 || (major === 6 && minor < 2)) {
      throw new HighkiqError('STORE_UNUSABLE', `${this.url} is Redis ${version}: 6.2 or newer is needed (or Valkey)`)
    }
  }
}

function fencedTurn({ started, settlements }: Turn): TurnAnswer {
  return {
    fenced: true,
    started: started.map(() => 'superseded'),
    settled: settlements.map(() => 'fenced'),
    taken: [],
    marks: 0,
  }
}
