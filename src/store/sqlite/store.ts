/** The embedded store: one SQLite file, any number of processes on one machine. */

import { setTimeout as pause } from 'node:timers/promises'
import { HighkiqError, PushError } from '../../job/errors.ts'
import { inSteps, type PushStep } from '../../job/push-steps.ts'
import type {
  CancellationStore,
  CronStore,
  CronTick,
  CronTickAnswer,
  FetchedJob,
  JobSetStore,
  JobStore,
  MetricStore,
  OrderedPushes,
  OrderedStore,
  Pull,
  PushItem,
  Renewer,
  ResultStore,
  SearchStore,
  SetName,
  SettleAndFetch,
  SettleAndFetchAnswer,
  SqlConnection,
  Store,
  SwapAnswer,
  TaskStore,
  WorkerStore,
} from '../contract.ts'
import { monotonicNow } from './clock.ts'
import { tickCron } from './cron-tick.ts'
import type { DatabaseOptions } from './database.ts'
import { StoreFile } from './file.ts'
import { move, type Opened, pushAll, runTurn, withLedger } from './moves.ts'
import { ANSWER_SECONDS, SqliteOrderedStore } from './ordered/store.ts'
import type { Quest } from './removal.ts'
import { topicOf } from './results.ts'
import { DUE } from './sets.ts'
import { sql } from './sql.generated.ts'
import type { Ledger } from './tasks/ledger.ts'
import type { Tasks } from './tasks/tasks.ts'

/** Items of one push or swap that go into one transaction. */
const CHUNK = 1000
/** Between looks of one who waits for a result. */
const LOOK_MS = 10

export class SqliteStore implements Store {
  readonly kind = 'sqlite'
  readonly maxConcurrentCalls = 1
  readonly url: string
  readonly ordered: OrderedStore
  readonly #file: StoreFile

  /**
   * `warn` gets one line when another process has kept the file locked, or its log from being emptied, for 5 seconds.
   */
  constructor(options: DatabaseOptions, warn?: (message: string) => void) {
    this.#file = new StoreFile(options, warn)
    this.ordered = new SqliteOrderedStore(this.#file)
    this.url = `sqlite:${options.path}`
  }

  readonly jobs: JobStore = {
    push: (items: PushItem[], now: number): Promise<void> => {
      return this.#pushInChunks(items, (s, chunk) => pushAll(s, chunk, now))
    },
    transaction: async (
      work: (connection: SqlConnection) => Promise<(PushItem | OrderedPushes)[]>,
      now: number,
    ): Promise<void> => {
      const s = await this.#file.opened()
      const put = (items: (PushItem | OrderedPushes)[]) => {
        for (const item of items) if (item.to === 'ordered') s.ordered.push(item.queue, item.shards, item.items)
        pushAll(
          s,
          items.filter((item) => item.to !== 'ordered'),
          now,
        )
      }
      await s.writer.alone(() => work(s.db.connection), put, ANSWER_SECONDS)
    },
    pauseQueue: (queue, on) => this.#file.write(({ marks }) => marks.pause(queue, on), ANSWER_SECONDS),
    pausedQueues: () => this.#file.read(({ marks }) => marks.paused()),
    queues: (only) => this.#file.read(({ queues }) => (only ? queues.some(only) : queues.list())),
    peek: (queue, offset, limit) => this.#file.read(({ queues }) => queues.peek(queue, offset, limit)),
    iterations: (jids) => this.#file.read(({ iterations }) => jids.map((jid) => iterations.find(jid))),
    saveIteration: (jid, state, now) =>
      this.#file.write(({ iterations }) => iterations.save(jid, state, now), ANSWER_SECONDS),
  }

  readonly workers: WorkerStore = {
    settleAndFetch: async (owner: string, turn: SettleAndFetch): Promise<SettleAndFetchAnswer> => {
      try {
        return await this.#file.write((s) => runTurn(s, owner, turn))
      } catch (thrown) {
        if (thrown instanceof HighkiqError || turn.started.length + turn.settlements.length === 0) throw thrown
        return this.#turnOneByOne(owner, turn)
      }
    },
    waitForJobs: async (
      _owner: string,
      queues: readonly string[],
      _n: number,
      ms: number,
      signal: AbortSignal,
    ): Promise<FetchedJob[]> => {
      const { bell } = await this.#file.opened()
      const end = performance.now() + ms
      // A write of another process wakes all who wait; only who finds a job goes to take it.
      while (!signal.aborted && !(await this.#file.read((s) => s.queues.hasJobs(queues)))) {
        const left = end - performance.now()
        if (left <= 0 || this.#file.isClosed) break
        await bell.wait(queues, left, signal)
      }
      return []
    },
    join: (owner, about) => this.#file.write(({ leases }) => leases.join(owner, about.seconds, about.host)),
    renew: (owner, seconds) => this.#file.write(({ leases }) => leases.renew(owner, seconds)),
    release: (owner) => this.#file.write(({ leases }) => leases.leave(owner), ANSWER_SECONDS),
    leases: () => this.#file.read(({ leases }) => leases.list()),
    ownersOn: (machine) => this.#file.read(({ leases }) => leases.ownersOn(machine)),
    unrenewed: (since) => this.#file.read(({ leases }) => leases.unrenewed(since)),
    /** A job's owner is a row that it refers to, and a queue's name goes with what is in it. */
    tidy: async () => [],
    claim: (owner: string, ends: number | null): Promise<boolean> => {
      const asked = monotonicNow()
      return this.#file.write((s) => {
        const claimed = s.leases.claim(owner, ends, asked)
        if (claimed) withLedger(s, Date.now(), (ledger) => s.tasks.adding.interrupt(ledger, owner))
        return claimed
      })
    },
    orphaned: (limit) => this.#file.read(({ leases }) => leases.stranded(limit)),
    rescue: (items, now) =>
      this.#each(items, now, (s, ledger, { owner, ticket, to, effects }) => {
        if (!s.leases.takeBack(owner, ticket)) return 'gone'
        move(s, ledger, to, effects)
        return 'ok'
      }),
    renewer: (): Renewer | null => {
      if (this.#file.options.path === ':memory:') return null
      return { module: new URL('./renewer.js', import.meta.url).href, options: { ...this.#file.options } }
    },
    acquireLock: (duty, holder, seconds) => this.#file.write(({ leases }) => leases.hold(duty, holder, seconds)),
    releaseLock: (duty, holder) => this.#file.write(({ leases }) => leases.letGo(duty, holder), ANSWER_SECONDS),
    fetched: (page) => this.#file.read(({ leases }) => leases.taken(page)),
    running: () => this.#file.read(({ processes }) => processes.running()),
    advice: async (): Promise<string[]> => {
      return []
    },
    /** Sidekiq does not work on this store. */
    leader: async (): Promise<string | null> => {
      return null
    },
    heartbeat: (process, seconds, running) =>
      this.#file.write(({ processes }) => processes.beat(process, seconds, running), ANSWER_SECONDS),
    processes: () => this.#file.read(({ processes }) => processes.list()),
    removeProcess: (identity) => this.#file.write(({ processes }) => processes.forget(identity), ANSWER_SECONDS),
    signal: (identity, signal) => this.#file.write(({ processes }) => processes.signal(identity, signal)),
  }

  readonly jobSets: JobSetStore = {
    due: (set, now, limit) => this.#file.read(({ sets }) => sets.due(set, now / 1000, limit)),
    swap: (set, swaps, now) =>
      this.#each(swaps, now, (s, ledger, swap) => {
        if (!s.sets.remove(set, swap)) return 'gone'
        move(s, ledger, swap.to, swap.effects)
        return 'ok'
      }),
    waitUntilDue: async (ms: number, signal: AbortSignal): Promise<void> => {
      const { bell } = await this.#file.opened()
      await bell.wait([DUE], ms, signal)
    },
    size: (set) => this.#file.read(({ sets }) => sets.size(set)),
    page: (set, page) => this.#file.read(({ sets }) => sets.page(set, page)),
    prune: async (set: SetName, max: number, since: number): Promise<void> => {
      while ((await this.#file.write(({ sets }) => sets.trim(set, max, since, CHUNK))) === CHUNK);
    },
  }

  readonly search: SearchStore = {
    // Searching, and acting on what waits.
    scanQueue: (queue, needle, page) => this.#file.read(({ search }) => search.queue(queue, needle, page)),
    scanSet: (set, needle, page) => this.#file.read(({ search }) => search.set(set, needle, page)),
    pull: async (queue: string, items: Pull[], now: number): Promise<SwapAnswer[]> => {
      const quest: Quest = { queue, items, places: items.map(() => undefined) }
      while (await this.#file.read(({ removal }) => removal.lookFor(quest)));
      return this.#each([...items.entries()], now, (s, ledger, [i, { text, to, effects }]) => {
        const place = quest.places[i]
        if (place === undefined || !s.removal.remove(queue, place, text)) return 'gone'
        move(s, ledger, to, effects)
        return 'ok'
      })
    },
    clearQueue: (queue, marks, most) => this.#file.write(({ removal }) => removal.clearQueue(queue, marks, most)),
    clearSet: (set, marks) => this.#file.write(({ removal }) => removal.clearSet(set, marks)),
  }

  readonly cancellations: CancellationStore = {
    request: (jid, now) => this.#file.write(({ marks }) => marks.set(jid, now), ANSWER_SECONDS),
    withdraw: (jid) => this.#file.write(({ marks }) => marks.unset(jid), ANSWER_SECONDS),
    among: (jids) => this.#file.read(({ marks }) => marks.among(jids)),
    since: (since) => this.#file.read(({ marks }) => marks.since(since)),
  }

  readonly tasks: TaskStore = {
    create: (task) => this.#file.write(({ tasks }) => tasks.create(task)),
    addRows: (task, adder, from, rows, now, last) =>
      this.#file.write((s) => {
        const answer = withLedger(s, now, (ledger) =>
          s.tasks.adding.add(ledger, task, { adder, from, rows, now, last }),
        )
        s.db.checkRoom()
        return answer
      }),
    openAdding: (task, adder, now, instead) =>
      this.#booked(now, (ledger, { adding }) => adding.open(ledger, task, adder, instead)),
    endAdding: (task, adder, now, interrupted = false) =>
      this.#booked(now, (ledger, { adding }) => adding.end(ledger, task, adder, interrupted)),
    change: (id, change, now) => this.#booked(now, (ledger, { runs }) => runs.change(ledger, id, change)),
    cancel: (id, reason, now) => this.#booked(now, (ledger, { runs }) => runs.cancel(ledger, id, reason)),
    cancelRows: (id, most, now) => this.#booked(now, (ledger, { runs }) => runs.cancelRows(ledger, id, most)),
    startRun: (id, run, adder, now) => this.#booked(now, (ledger, { runs }) => runs.start(ledger, id, run, adder, now)),
    retryRows: (id, run, rows, now) => this.#booked(now, (ledger, { runs }) => runs.retry(ledger, id, run, rows)),
    leaveWindow: (id, indexes, now) => this.#booked(now, (ledger, { runs }) => runs.freePlaces(ledger, id, indexes)),
    changeEvents: (effects, now) =>
      this.#booked(now, (ledger) => {
        ledger.prepare(effects)
        ledger.apply(effects)
      }),
    delete: (id, most) => this.#file.write(({ tasks }) => tasks.delete(id, most)),
    expired: (now, limit) => this.#file.read(({ tasks }) => tasks.expired(now, limit)),
    cancelling: (limit) => this.#file.read(({ tasks }) => tasks.cancelling(limit)),
    idle: (before, page) => this.#file.read(({ tasks }) => tasks.idle(before, page)),
    reasons: (id) => this.#file.read(({ tasks }) => tasks.events.reasons(id)),
    pushTracked: (items, now) =>
      this.#pushInChunks(
        items,
        (s, chunk) => {
          const fresh = chunk.filter(({ task, item }) => s.tasks.createSingle(task, item))
          const jobs = fresh.map(({ item }) => item)
          pushAll(s, jobs, now)
        },
        ({ item }) => item,
      ),
    putPart: (...part) =>
      this.#file.write((s) => {
        const answer = s.tasks.putPart(...part)
        s.db.checkRoom()
        return answer
      }),
    part: (task, index) => this.#file.read(({ tasks }) => tasks.part(task, index)),
    find: (id) => this.#file.read(({ tasks }) => tasks.find(id)),
    page: (page) => this.#file.read(({ tasks }) => tasks.list(page)),
    events: (task, query) => this.#file.read(({ tasks }) => tasks.events.page(task, query)),
    event: (jid) => this.#file.read(({ tasks }) => tasks.events.find(jid)),
    addMessage: (jid, message) =>
      this.#booked(message.at, (ledger, { events }) => events.addMessage(ledger, jid, message)),
  }

  readonly crons: CronStore = {
    list: (names) => this.#file.read(({ crons }) => crons.list(names)),
    define: (name, definition, seconds) =>
      this.#file.write(({ crons }) => crons.define(name, definition, seconds), ANSWER_SECONDS),
    tick: async (name: string, tick: CronTick, now: number): Promise<CronTickAnswer> => {
      try {
        return await this.#file.write((s) => tickCron(s, name, tick, now), ANSWER_SECONDS)
      } catch (thrown) {
        if (!(thrown instanceof HighkiqError)) throw thrown
        throw new PushError(thrown.message, tick.push ? [tick.push.jid] : [], false, { cause: thrown })
      }
    },
    pause: (name, paused, now) => this.#file.write(({ crons }) => crons.pause(name, paused, now), ANSWER_SECONDS),
    remove: (name) => this.#file.write(({ crons }) => crons.forget(name), ANSWER_SECONDS),
    releaseLock: (lock, holder) => this.#file.write(({ crons }) => crons.unlock(lock, holder), ANSWER_SECONDS),
  }

  readonly metrics: MetricStore = {
    resetTotals: (which) => this.#file.write(({ stats }) => stats.reset(which)),
    totals: () => this.#file.read(({ stats }) => stats.now()),
    history: (days) => this.#file.read(({ stats }) => stats.history(days)),
    record: (batch) => this.#file.write(({ metrics }) => metrics.record(batch), ANSWER_SECONDS),
    sums: (span, times, name) => this.#file.read(({ metrics }) => metrics.sums(span, times, name)),
    histograms: (name, minutes) => this.#file.read(({ metrics }) => metrics.histograms(name, minutes)),
    recordDeploy: (deploy, now) => this.#file.write(({ metrics }) => metrics.markDeploy(deploy, now), ANSWER_SECONDS),
    deploys: (days) => this.#file.read(({ metrics }) => metrics.deploys(days)),
  }

  readonly results: ResultStore = {
    secret: (name, proposed) =>
      this.#file.write(({ db }) => {
        db.run(sql.secret.propose, name, proposed)
        return db.first<{ text: string }>(sql.secret.find, name)?.text ?? proposed
      }, ANSWER_SECONDS),
    keep: (jid, text, seconds) =>
      this.#file.write((s) => {
        s.results.keep(jid, text, seconds)
        s.db.checkRoom()
      }, ANSWER_SECONDS),
    find: async (jid: string, ms = 0, signal: AbortSignal = new AbortController().signal): Promise<string | null> => {
      const { bell } = await this.#file.opened()
      const end = performance.now() + ms
      for (;;) {
        const text = await this.#file.read(({ results }) => results.find(jid))
        const left = end - performance.now()
        if (text !== null || left <= 0 || this.#file.isClosed || signal.aborted) return text
        await bell.wait([topicOf(jid)], left, signal)
        // A write of another process wakes all who wait: one look in a while is enough.
        await pause(LOOK_MS)
      }
    },
    remember: (key, value, seconds, instead) =>
      this.#file.write(({ results }) => results.remember(key, value, seconds, instead), ANSWER_SECONDS),
  }

  async open(): Promise<void> {
    await this.#file.opened()
  }

  close(): Promise<void> {
    return this.#file.close()
  }

  // Searching, and acting on what waits.

  async #pushInChunks<Item>(
    items: readonly Item[],
    put: (s: Opened, chunk: Item[]) => void,
    itemOf: (item: Item) => unknown = (item) => item,
  ): Promise<void> {
    const steps: PushStep[] = []
    for (let from = 0; from < items.length; from += CHUNK) {
      const chunk = items.slice(from, from + CHUNK)
      steps.push({ items: chunk.map(itemOf), put: () => this.#file.write((s) => put(s, chunk), ANSWER_SECONDS) })
    }
    await inSteps(steps)
  }

  /** A change of tasks, with their books open. */
  #booked<T>(now: number, work: (ledger: Ledger, tasks: Tasks) => T): Promise<T> {
    return this.#file.write((s) => withLedger(s, now, (ledger) => work(ledger, s.tasks)))
  }

  /** Something in the turn can't be applied: each item gets a transaction of its own, and only the culprit fails. */
  async #turnOneByOne(owner: string, turn: SettleAndFetch): Promise<SettleAndFetchAnswer> {
    const nothing: SettleAndFetch = { now: turn.now, started: [], settlements: [], fetch: { queues: [], n: 0 } }
    const answer: SettleAndFetchAnswer = { fenced: false, started: [], settled: [], fetched: [], cancellations: 0 }
    const alone = async (part: Partial<SettleAndFetch>) => {
      const one = await this.#file.write((s) => runTurn(s, owner, { ...nothing, ...part }))
      answer.fenced ||= one.fenced
      answer.cancellations = one.cancellations
      return one
    }
    for (const started of turn.started) {
      const one = await alone({ started: [started] }).catch(() => undefined)
      answer.started.push(one?.started[0] ?? 'ok')
    }
    for (const settlement of turn.settlements) {
      const one = await alone({ settlements: [settlement] }).catch(() => undefined)
      answer.settled.push(one?.settled[0] ?? 'error')
    }
    answer.fetched = (await alone({ fetch: turn.fetch })).fetched
    return answer
  }

  /** All items in one transaction; when one can't be applied, each in its own, so that it alone fails. */
  async #each<Item>(
    items: readonly Item[],
    now: number,
    apply: (s: Opened, ledger: Ledger, item: Item) => SwapAnswer,
  ): Promise<SwapAnswer[]> {
    const together = (some: readonly Item[]) =>
      this.#file.write((s) => withLedger(s, now, (ledger) => some.map((item) => apply(s, ledger, item))))
    try {
      return await together(items)
    } catch (thrown) {
      if (thrown instanceof HighkiqError) throw thrown
      const answers: SwapAnswer[] = []
      for (const item of items) answers.push(...(await together([item]).catch((): SwapAnswer[] => ['error'])))
      return answers
    }
  }
}
