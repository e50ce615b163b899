/** The embedded store: one SQLite file, any number of processes on one machine. */

import { setTimeout as pause } from 'node:timers/promises'
import { HighkiqError, PushError } from '../../job/errors.ts'
import { inSteps, type PushStep } from '../../job/push-steps.ts'
import type {
  CronTick,
  CronTickAnswer,
  OrderedBatch,
  Pull,
  PushItem,
  Renewer,
  SetName,
  SqlConnection,
  Store,
  SwapAnswer,
  Taken,
  Turn,
  TurnAnswer,
} from '../contract.ts'
import { monotonicNow } from './clock.ts'
import { tickCron } from './cron-tick.ts'
import type { DatabaseOptions } from './database.ts'
import { move, type Opened, pushAll, runTurn, withLedger } from './moves.ts'
import { ANSWER_SECONDS, OrderedStore } from './ordered/store.ts'
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

export class SqliteStore extends OrderedStore implements Store {
  readonly kind = 'sqlite'
  readonly turnsAtOnce = 1
  readonly url: string

  /**
   * `warn` gets one line when another process has kept the file locked, or its log from being emptied, for 5 seconds.
   */
  constructor(options: DatabaseOptions, warn?: (message: string) => void) {
    super(options, warn)
    this.url = `sqlite:${options.path}`
  }

  async open(): Promise<void> {
    await this.file.opened()
  }

  close(): Promise<void> {
    return this.file.close()
  }

  push(items: PushItem[], now: number): Promise<void> {
    return this.#pushInChunks(items, (s, chunk) => pushAll(s, chunk, now))
  }

  async transaction(
    work: (connection: SqlConnection) => Promise<(PushItem | OrderedBatch)[]>,
    now: number,
  ): Promise<void> {
    const s = await this.file.opened()
    const put = (items: (PushItem | OrderedBatch)[]) => {
      for (const item of items) if (item.to === 'ordered') s.ordered.push(item.queue, item.shards, item.items)
      pushAll(
        s,
        items.filter((item) => item.to !== 'ordered'),
        now,
      )
    }
    await s.writer.alone(() => work(s.db.connection), put, ANSWER_SECONDS)
  }

  async turn(owner: string, turn: Turn): Promise<TurnAnswer> {
    try {
      return await this.file.write((s) => runTurn(s, owner, turn))
    } catch (thrown) {
      if (thrown instanceof HighkiqError || turn.started.length + turn.settlements.length === 0) throw thrown
      return this.#turnOneByOne(owner, turn)
    }
  }

  async wait(_owner: string, queues: readonly string[], _n: number, ms: number, signal: AbortSignal): Promise<Taken[]> {
    const { bell } = await this.file.opened()
    const end = performance.now() + ms
    // A write of another process wakes all who wait; only who finds a job goes to take it.
    while (!signal.aborted && !(await this.file.read((s) => s.queues.hasJobs(queues)))) {
      const left = end - performance.now()
      if (left <= 0 || this.file.isClosed) break
      await bell.wait(queues, left, signal)
    }
    return []
  }

  readonly join: Store['join'] = (owner, about) =>
    this.file.write(({ leases }) => leases.join(owner, about.seconds, about.host))
  readonly renew: Store['renew'] = (owner, seconds) => this.file.write(({ leases }) => leases.renew(owner, seconds))
  readonly leave: Store['leave'] = (owner) => this.file.write(({ leases }) => leases.leave(owner), ANSWER_SECONDS)
  readonly leases: Store['leases'] = () => this.file.read(({ leases }) => leases.list())
  readonly ownersOn: Store['ownersOn'] = (machine) => this.file.read(({ leases }) => leases.ownersOn(machine))
  readonly unrenewed: Store['unrenewed'] = (since) => this.file.read(({ leases }) => leases.unrenewed(since))
  /** A job's owner is a row that it refers to, and a queue's name goes with what is in it. */
  readonly tidy: Store['tidy'] = async () => []

  claim(owner: string, ends: number | null): Promise<boolean> {
    const asked = monotonicNow()
    return this.file.write((s) => {
      const claimed = s.leases.claim(owner, ends, asked)
      if (claimed) withLedger(s, Date.now(), (ledger) => s.tasks.adding.interrupt(ledger, owner))
      return claimed
    })
  }

  readonly stranded: Store['stranded'] = (limit) => this.file.read(({ leases }) => leases.stranded(limit))
  readonly restore: Store['restore'] = (items, now) =>
    this.#each(items, now, (s, ledger, { owner, ticket, to, effects }) => {
      if (!s.leases.takeBack(owner, ticket)) return 'gone'
      move(s, ledger, to, effects)
      return 'ok'
    })

  renewer(): Renewer | null {
    if (this.file.options.path === ':memory:') return null
    return { module: new URL('./renewer.js', import.meta.url).href, options: { ...this.file.options } }
  }

  readonly hold: Store['hold'] = (duty, holder, seconds) =>
    this.file.write(({ leases }) => leases.hold(duty, holder, seconds))
  readonly letGo: Store['letGo'] = (duty, holder) =>
    this.file.write(({ leases }) => leases.letGo(duty, holder), ANSWER_SECONDS)

  readonly due: Store['due'] = (set, now, limit) => this.file.read(({ sets }) => sets.due(set, now / 1000, limit))
  readonly swap: Store['swap'] = (set, swaps, now) =>
    this.#each(swaps, now, (s, ledger, swap) => {
      if (!s.sets.remove(set, swap)) return 'gone'
      move(s, ledger, swap.to, swap.effects)
      return 'ok'
    })

  async waitDue(ms: number, signal: AbortSignal): Promise<void> {
    const { bell } = await this.file.opened()
    await bell.wait([DUE], ms, signal)
  }

  readonly size: Store['size'] = (set) => this.file.read(({ sets }) => sets.size(set))
  readonly entries: Store['entries'] = (set, page) => this.file.read(({ sets }) => sets.page(set, page))

  async trim(set: SetName, max: number, since: number): Promise<void> {
    while ((await this.file.write(({ sets }) => sets.trim(set, max, since, CHUNK))) === CHUNK);
  }

  // Searching, and acting on what waits.

  readonly scanQueue: Store['scanQueue'] = (queue, needle, page) =>
    this.file.read(({ search }) => search.queue(queue, needle, page))
  readonly scanSet: Store['scanSet'] = (set, needle, page) =>
    this.file.read(({ search }) => search.set(set, needle, page))

  async pull(queue: string, items: Pull[], now: number): Promise<SwapAnswer[]> {
    const quest: Quest = { queue, items, places: items.map(() => undefined) }
    while (await this.file.read(({ removal }) => removal.lookFor(quest)));
    return this.#each([...items.entries()], now, (s, ledger, [i, { text, to, effects }]) => {
      const place = quest.places[i]
      if (place === undefined || !s.removal.remove(queue, place, text)) return 'gone'
      move(s, ledger, to, effects)
      return 'ok'
    })
  }

  readonly clearQueue: Store['clearQueue'] = (queue, marks, most) =>
    this.file.write(({ removal }) => removal.clearQueue(queue, marks, most))
  readonly clearSet: Store['clearSet'] = (set, marks) => this.file.write(({ removal }) => removal.clearSet(set, marks))

  readonly taken: Store['taken'] = (page) => this.file.read(({ leases }) => leases.taken(page))
  readonly running: Store['running'] = () => this.file.read(({ processes }) => processes.running())

  async advice(): Promise<string[]> {
    return []
  }

  /** Sidekiq does not work on this store. */
  async leader(): Promise<string | null> {
    return null
  }

  readonly resetStats: Store['resetStats'] = (which) => this.file.write(({ stats }) => stats.reset(which))

  readonly pause: Store['pause'] = (queue, on) => this.file.write(({ marks }) => marks.pause(queue, on), ANSWER_SECONDS)
  readonly paused: Store['paused'] = () => this.file.read(({ marks }) => marks.paused())
  readonly markCancelled: Store['markCancelled'] = (jid, now) =>
    this.file.write(({ marks }) => marks.set(jid, now), ANSWER_SECONDS)
  readonly unmark: Store['unmark'] = (jid) => this.file.write(({ marks }) => marks.unset(jid), ANSWER_SECONDS)
  readonly cancelledAmong: Store['cancelledAmong'] = (jids) => this.file.read(({ marks }) => marks.among(jids))
  readonly marks: Store['marks'] = (since) => this.file.read(({ marks }) => marks.since(since))

  readonly stats: Store['stats'] = () => this.file.read(({ stats }) => stats.now())
  readonly history: Store['history'] = (days) => this.file.read(({ stats }) => stats.history(days))
  readonly queues: Store['queues'] = (only) =>
    this.file.read(({ queues }) => (only ? queues.some(only) : queues.list()))
  readonly peek: Store['peek'] = (queue, offset, limit) =>
    this.file.read(({ queues }) => queues.peek(queue, offset, limit))
  readonly beat: Store['beat'] = (process, seconds, running) =>
    this.file.write(({ processes }) => processes.beat(process, seconds, running), ANSWER_SECONDS)
  readonly processes: Store['processes'] = () => this.file.read(({ processes }) => processes.list())
  readonly forget: Store['forget'] = (identity) =>
    this.file.write(({ processes }) => processes.forget(identity), ANSWER_SECONDS)
  readonly signal: Store['signal'] = (identity, signal) =>
    this.file.write(({ processes }) => processes.signal(identity, signal))

  readonly secret: Store['secret'] = (name, proposed) =>
    this.file.write(({ db }) => {
      db.run(sql.secret.propose, name, proposed)
      return db.first<{ text: string }>(sql.secret.find, name)?.text ?? proposed
    }, ANSWER_SECONDS)

  readonly keepResult: Store['keepResult'] = (jid, text, seconds) =>
    this.file.write((s) => {
      s.results.keep(jid, text, seconds)
      s.db.checkRoom()
    }, ANSWER_SECONDS)

  async result(jid: string, ms = 0, signal: AbortSignal = new AbortController().signal): Promise<string | null> {
    const { bell } = await this.file.opened()
    const end = performance.now() + ms
    for (;;) {
      const text = await this.file.read(({ results }) => results.find(jid))
      const left = end - performance.now()
      if (text !== null || left <= 0 || this.file.isClosed || signal.aborted) return text
      await bell.wait([topicOf(jid)], left, signal)
      // A write of another process wakes all who wait: one look in a while is enough.
      await pause(LOOK_MS)
    }
  }

  readonly createTask: Store['createTask'] = (task) => this.file.write(({ tasks }) => tasks.create(task))
  readonly addRows: Store['addRows'] = (task, adder, from, rows, now, last) =>
    this.file.write((s) => {
      const answer = withLedger(s, now, (ledger) => s.tasks.adding.add(ledger, task, { adder, from, rows, now, last }))
      s.db.checkRoom()
      return answer
    })

  readonly openAdding: Store['openAdding'] = (task, adder, now, instead) =>
    this.#booked(now, (ledger, { adding }) => adding.open(ledger, task, adder, instead))
  readonly endAdding: Store['endAdding'] = (task, adder, now, interrupted = false) =>
    this.#booked(now, (ledger, { adding }) => adding.end(ledger, task, adder, interrupted))
  readonly changeTask: Store['changeTask'] = (id, change, now) =>
    this.#booked(now, (ledger, { runs }) => runs.change(ledger, id, change))
  readonly cancelTask: Store['cancelTask'] = (id, reason, now) =>
    this.#booked(now, (ledger, { runs }) => runs.cancel(ledger, id, reason))
  readonly cancelRows: Store['cancelRows'] = (id, most, now) =>
    this.#booked(now, (ledger, { runs }) => runs.cancelRows(ledger, id, most))
  readonly startRun: Store['startRun'] = (id, run, adder, now) =>
    this.#booked(now, (ledger, { runs }) => runs.start(ledger, id, run, adder, now))
  readonly retryRows: Store['retryRows'] = (id, run, rows, now) =>
    this.#booked(now, (ledger, { runs }) => runs.retry(ledger, id, run, rows))
  readonly freePlaces: Store['freePlaces'] = (id, indexes, now) =>
    this.#booked(now, (ledger, { runs }) => runs.freePlaces(ledger, id, indexes))
  readonly changeEvents: Store['changeEvents'] = (effects, now) =>
    this.#booked(now, (ledger) => {
      ledger.prepare(effects)
      ledger.apply(effects)
    })

  readonly deleteTask: Store['deleteTask'] = (id, most) => this.file.write(({ tasks }) => tasks.delete(id, most))
  readonly expiredTasks: Store['expiredTasks'] = (now, limit) =>
    this.file.read(({ tasks }) => tasks.expired(now, limit))
  readonly cancellingTasks: Store['cancellingTasks'] = (limit) => this.file.read(({ tasks }) => tasks.cancelling(limit))
  readonly idleTasks: Store['idleTasks'] = (before, page) => this.file.read(({ tasks }) => tasks.idle(before, page))
  readonly reasons: Store['reasons'] = (id) => this.file.read(({ tasks }) => tasks.events.reasons(id))
  readonly pushTracked: Store['pushTracked'] = (items, now) =>
    this.#pushInChunks(
      items,
      (s, chunk) => {
        const fresh = chunk.filter(({ task, item }) => s.tasks.createSingle(task, item))
        const jobs = fresh.map(({ item }) => item)
        pushAll(s, jobs, now)
      },
      ({ item }) => item,
    )

  readonly putPart: Store['putPart'] = (...part) =>
    this.file.write((s) => {
      const answer = s.tasks.putPart(...part)
      s.db.checkRoom()
      return answer
    })

  readonly part: Store['part'] = (task, index) => this.file.read(({ tasks }) => tasks.part(task, index))
  readonly remember: Store['remember'] = (key, value, seconds, instead) =>
    this.file.write(({ results }) => results.remember(key, value, seconds, instead), ANSWER_SECONDS)
  readonly task: Store['task'] = (id) => this.file.read(({ tasks }) => tasks.find(id))
  readonly tasks: Store['tasks'] = (page) => this.file.read(({ tasks }) => tasks.list(page))
  readonly events: Store['events'] = (task, query) => this.file.read(({ tasks }) => tasks.events.page(task, query))
  readonly event: Store['event'] = (jid) => this.file.read(({ tasks }) => tasks.events.find(jid))
  readonly message: Store['message'] = (jid, message) =>
    this.#booked(message.at, (ledger, { events }) => events.addMessage(ledger, jid, message))

  readonly recordMetrics: Store['recordMetrics'] = (batch) =>
    this.file.write(({ metrics }) => metrics.record(batch), ANSWER_SECONDS)
  readonly metrics: Store['metrics'] = (span, times, name) =>
    this.file.read(({ metrics }) => metrics.sums(span, times, name))
  readonly histograms: Store['histograms'] = (name, minutes) =>
    this.file.read(({ metrics }) => metrics.histograms(name, minutes))
  readonly markDeploy: Store['markDeploy'] = (deploy, now) =>
    this.file.write(({ metrics }) => metrics.markDeploy(deploy, now), ANSWER_SECONDS)
  readonly deploys: Store['deploys'] = (days) => this.file.read(({ metrics }) => metrics.deploys(days))

  readonly iterations: Store['iterations'] = (jids) =>
    this.file.read(({ iterations }) => jids.map((jid) => iterations.find(jid)))
  readonly saveIteration: Store['saveIteration'] = (jid, state, now) =>
    this.file.write(({ iterations }) => iterations.save(jid, state, now), ANSWER_SECONDS)

  readonly crons: Store['crons'] = (names) => this.file.read(({ crons }) => crons.list(names))
  readonly defineCron: Store['defineCron'] = (name, definition, seconds) =>
    this.file.write(({ crons }) => crons.define(name, definition, seconds), ANSWER_SECONDS)

  async tickCron(name: string, tick: CronTick, now: number): Promise<CronTickAnswer> {
    try {
      return await this.file.write((s) => tickCron(s, name, tick, now), ANSWER_SECONDS)
    } catch (thrown) {
      if (!(thrown instanceof HighkiqError)) throw thrown
      throw new PushError(thrown.message, tick.push ? [tick.push.jid] : [], false, { cause: thrown })
    }
  }

  readonly pauseCron: Store['pauseCron'] = (name, paused, now) =>
    this.file.write(({ crons }) => crons.pause(name, paused, now), ANSWER_SECONDS)
  readonly forgetCron: Store['forgetCron'] = (name) =>
    this.file.write(({ crons }) => crons.forget(name), ANSWER_SECONDS)
  readonly unlock: Store['unlock'] = (lock, holder) =>
    this.file.write(({ crons }) => crons.unlock(lock, holder), ANSWER_SECONDS)

  async #pushInChunks<Item>(
    items: readonly Item[],
    put: (s: Opened, chunk: Item[]) => void,
    itemOf: (item: Item) => unknown = (item) => item,
  ): Promise<void> {
    const steps: PushStep[] = []
    for (let from = 0; from < items.length; from += CHUNK) {
      const chunk = items.slice(from, from + CHUNK)
      steps.push({ items: chunk.map(itemOf), put: () => this.file.write((s) => put(s, chunk), ANSWER_SECONDS) })
    }
    await inSteps(steps)
  }

  /** A change of tasks, with their books open. */
  #booked<T>(now: number, work: (ledger: Ledger, tasks: Tasks) => T): Promise<T> {
    return this.file.write((s) => withLedger(s, now, (ledger) => work(ledger, s.tasks)))
  }

  /** Something in the turn can't be applied: each item gets a transaction of its own, and only the culprit fails. */
  async #turnOneByOne(owner: string, turn: Turn): Promise<TurnAnswer> {
    const nothing: Turn = { now: turn.now, started: [], settlements: [], take: { queues: [], n: 0 } }
    const answer: TurnAnswer = { fenced: false, started: [], settled: [], taken: [], marks: 0 }
    const alone = async (part: Partial<Turn>) => {
      const one = await this.file.write((s) => runTurn(s, owner, { ...nothing, ...part }))
      answer.fenced ||= one.fenced
      answer.marks = one.marks
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
    answer.taken = (await alone({ take: turn.take })).taken
    return answer
  }

  /** All items in one transaction; when one can't be applied, each in its own, so that it alone fails. */
  async #each<Item>(
    items: readonly Item[],
    now: number,
    apply: (s: Opened, ledger: Ledger, item: Item) => SwapAnswer,
  ): Promise<SwapAnswer[]> {
    const together = (some: readonly Item[]) =>
      this.file.write((s) => withLedger(s, now, (ledger) => some.map((item) => apply(s, ledger, item))))
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
