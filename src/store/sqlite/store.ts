/** The embedded store: one SQLite file, any number of processes on one machine. */

import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises'
import { HighkiqError, PushError } from '../../job/errors.ts'
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
  SqlConnection,
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
import { monotonicNow } from './clock.ts'
import { tickCron } from './cron-tick.ts'
import { Crons } from './crons.ts'
import { Database, type DatabaseOptions } from './database.ts'
import { Iterations } from './iterations.ts'
import { Leases } from './leases.ts'
import type { Ledger } from './ledger.ts'
import { Marks } from './marks.ts'
import { Metrics } from './metrics.ts'
import { move, type Opened, pushAll, runTurn, withLedger } from './moves.ts'
import { Processes } from './processes.ts'
import { Queues } from './queues.ts'
import { type Quest, Removal } from './removal.ts'
import { Results, topicOf } from './results.ts'
import { Search } from './search.ts'
import { DUE, Sets } from './sets.ts'
import { sql } from './sql.generated.ts'
import { Tasks } from './tasks.ts'
import { closedError, Writer } from './writer.ts'

/** Items of one push or swap that go into one transaction. */
const CHUNK = 1000
/** Who pushes or leaves wants an answer, also when another program keeps the file locked. */
const ANSWER_SECONDS = 5
/** Between looks of one who waits for a result. */
const LOOK_MS = 10

export class SqliteStore implements Store {
  readonly kind = 'sqlite'
  readonly turnsAtOnce = 1
  readonly url: string
  readonly #options: DatabaseOptions
  #opening: Promise<Opened> | undefined
  #closed = false

  constructor(options: DatabaseOptions) {
    this.#options = options
    this.url = `sqlite:${options.path}`
  }

  async open(): Promise<void> {
    await this.#opened()
  }

  async close(): Promise<void> {
    this.#closed = true
    const opened = await this.#opening?.catch(() => undefined)
    this.#opening = undefined
    if (!opened) return
    opened.bell.close()
    await opened.writer.close()
    opened.db.close()
  }

  async push(items: PushItem[], now: number): Promise<void> {
    let from = 0
    try {
      for (; from < items.length; from += CHUNK) {
        const chunk = items.slice(from, from + CHUNK)
        await this.#write((s) => pushAll(s, chunk, now), ANSWER_SECONDS)
      }
    } catch (thrown) {
      if (!(thrown instanceof HighkiqError)) throw thrown
      throw new PushError(thrown.message, [], from > 0, { cause: thrown })
    }
  }

  async transaction(work: (connection: SqlConnection) => Promise<PushItem[]>, now: number): Promise<void> {
    const s = await this.#opened()
    const put = (items: PushItem[]) => pushAll(s, items, now)
    await s.writer.alone(() => work(s.db.connection), put, ANSWER_SECONDS)
  }

  async turn(owner: string, turn: Turn): Promise<TurnAnswer> {
    try {
      return await this.#write((s) => runTurn(s, owner, turn))
    } catch (thrown) {
      if (thrown instanceof HighkiqError || turn.started.length + turn.settlements.length === 0) throw thrown
      return this.#turnOneByOne(owner, turn)
    }
  }

  async wait(_owner: string, queues: readonly string[], _n: number, ms: number, signal: AbortSignal): Promise<Taken[]> {
    const { bell } = await this.#opened()
    const end = performance.now() + ms
    // A write of another process wakes all who wait; only who finds a job goes to take it.
    while (!signal.aborted && !(await this.#read((s) => s.queues.hasJobs(queues)))) {
      const left = end - performance.now()
      if (left <= 0 || this.#closed) break
      await bell.wait(queues, left, signal)
    }
    return []
  }

  join(owner: string, about: { queues: readonly string[]; seconds: number; host: string }): Promise<boolean> {
    return this.#write(({ leases }) => leases.join(owner, about.seconds, about.host))
  }

  renew(owner: string, seconds: number): Promise<boolean> {
    return this.#write(({ leases }) => leases.renew(owner, seconds))
  }

  leave(owner: string): Promise<boolean> {
    return this.#write(({ leases }) => leases.leave(owner), ANSWER_SECONDS)
  }

  leases(): Promise<Lease[]> {
    return this.#read(({ leases }) => leases.list())
  }

  claim(owner: string, ends: number | null): Promise<boolean> {
    const asked = monotonicNow()
    return this.#write(({ leases, tasks }) => {
      const claimed = leases.claim(owner, ends, asked)
      if (claimed) tasks.interrupt(owner)
      return claimed
    })
  }

  stranded(limit: number): Promise<Stranded[]> {
    return this.#read(({ leases }) => leases.stranded(limit))
  }

  restore(items: Restore[], now: number): Promise<SwapAnswer[]> {
    return this.#each(items, now, (s, ledger, { owner, ticket, to, effects }) => {
      if (!s.leases.takeBack(owner, ticket)) return 'gone'
      move(s, ledger, to, effects)
      return 'ok'
    })
  }

  renewer(): Renewer | null {
    if (this.#options.path === ':memory:') return null
    return { module: new URL('./renewer.js', import.meta.url).href, options: { ...this.#options } }
  }

  hold(duty: string, holder: string, seconds: number): Promise<boolean> {
    return this.#write(({ leases }) => leases.hold(duty, holder, seconds))
  }

  letGo(duty: string, holder: string): Promise<void> {
    return this.#write(({ leases }) => leases.letGo(duty, holder), ANSWER_SECONDS)
  }

  due(set: SetName, now: number, limit: number): Promise<{ entries: Entry[]; next: number | null }> {
    return this.#read(({ sets }) => sets.due(set, now / 1000, limit))
  }

  swap(set: SetName, swaps: Swap[], now: number): Promise<SwapAnswer[]> {
    return this.#each(swaps, now, (s, ledger, swap) => {
      if (!s.sets.remove(set, swap)) return 'gone'
      move(s, ledger, swap.to, swap.effects)
      return 'ok'
    })
  }

  async waitDue(ms: number, signal: AbortSignal): Promise<void> {
    const { bell } = await this.#opened()
    await bell.wait([DUE], ms, signal)
  }

  size(set: SetName): Promise<number> {
    return this.#read(({ sets }) => sets.size(set))
  }

  entries(set: SetName, page: { after?: Entry; desc?: boolean; limit: number }): Promise<Entry[]> {
    return this.#read(({ sets }) => sets.page(set, page))
  }

  async trim(set: SetName, max: number, since: number): Promise<void> {
    while ((await this.#write(({ sets }) => sets.trim(set, max, since, CHUNK))) === CHUNK);
  }

  // Searching, and acting on what waits.

  scanQueue(queue: string, needle: string, page: ScanPage): Promise<Scan<Waiting>> {
    return this.#read(({ search }) => search.queue(queue, needle, page))
  }

  scanSet(set: SetName, needle: string, page: ScanPage): Promise<Scan<Entry>> {
    return this.#read(({ search }) => search.set(set, needle, page))
  }

  async pull(queue: string, items: Pull[], now: number): Promise<SwapAnswer[]> {
    const quest: Quest = { queue, items, places: items.map(() => undefined) }
    while (await this.#read(({ removal }) => removal.lookFor(quest)));
    return this.#each([...items.entries()], now, (s, ledger, [i, { text, to, effects }]) => {
      const place = quest.places[i]
      if (place === undefined || !s.removal.remove(queue, place, text)) return 'gone'
      move(s, ledger, to, effects)
      return 'ok'
    })
  }

  clearQueue(queue: string, mark: string, most: number): Promise<Cleared<Waiting>> {
    return this.#write(({ removal }) => removal.clearQueue(queue, mark, most))
  }

  clearSet(set: SetName, mark: string | null): Promise<Cleared<Entry>> {
    return this.#write(({ removal }) => removal.clearSet(set, mark))
  }

  taken(page: { after?: string | undefined; limit: number }): Promise<{ items: Owned[]; next: string | null }> {
    return this.#read(({ leases }) => leases.taken(page))
  }

  running(): Promise<(RunningJob & { identity: string })[]> {
    return this.#read(({ processes }) => processes.running())
  }

  /** Sidekiq does not work on this store. */
  async leader(): Promise<string | null> {
    return null
  }

  resetStats(which: 'processed' | 'failed'): Promise<void> {
    return this.#write(({ db }) => db.run(sql.look.reset, which === 'processed' ? 0 : 1, which === 'failed' ? 0 : 1))
  }

  pause(queue: string, on: boolean): Promise<void> {
    return this.#write(({ marks }) => marks.pause(queue, on), ANSWER_SECONDS)
  }

  paused(): Promise<string[]> {
    return this.#read(({ marks }) => marks.paused())
  }

  markCancelled(jid: string, now: number): Promise<void> {
    return this.#write(({ marks }) => marks.set(jid, now), ANSWER_SECONDS)
  }

  unmark(jid: string): Promise<MarkState> {
    return this.#write(({ marks }) => marks.unset(jid), ANSWER_SECONDS)
  }

  cancelledAmong(jids: readonly string[]): Promise<string[]> {
    return this.#read(({ marks }) => marks.among(jids))
  }

  marks(since: number): Promise<{ version: number; jids: string[] }> {
    return this.#read(({ marks }) => marks.since(since))
  }

  stats(): Promise<StoreStats> {
    return this.#read(({ db, sets }) => {
      const total = db.first<{ processed: number; failed: number }>(sql.look.day, '')
      const ready = db.first<{ enqueued: number; held: number }>(sql.look.totals)
      const taken = db.first<{ n: number }>(sql.owner.countTaken)
      return {
        processed: total?.processed ?? 0,
        failed: total?.failed ?? 0,
        enqueued: ready?.enqueued ?? 0,
        held: ready?.held ?? 0,
        taken: taken?.n ?? 0,
        scheduled: sets.size('schedule'),
        retries: sets.size('retry'),
        dead: sets.size('dead'),
      }
    })
  }

  history(days: readonly string[]): Promise<{ processed: number; failed: number }[]> {
    return this.#read(({ db }) =>
      days.map((day) => {
        const { processed = 0, failed = 0 } = db.first<{ processed: number; failed: number }>(sql.look.day, day) ?? {}
        return { processed, failed }
      }),
    )
  }

  queues(only?: readonly string[]): Promise<QueueInfo[]> {
    return this.#read(({ queues }) => (only ? queues.some(only) : queues.list()))
  }

  peek(queue: string, offset: number, limit: number): Promise<string[]> {
    return this.#read(({ queues }) => queues.peek(queue, offset, limit))
  }

  beat(process: ProcessRecord, seconds: number, running?: readonly RunningJob[]): Promise<BeatAnswer> {
    return this.#write(({ processes }) => processes.beat(process, seconds, running), ANSWER_SECONDS)
  }

  processes(): Promise<ProcessRecord[]> {
    return this.#read(({ processes }) => processes.list())
  }

  forget(identity: string): Promise<void> {
    return this.#write(({ processes }) => processes.forget(identity), ANSWER_SECONDS)
  }

  signal(identity: string, signal: Signal): Promise<boolean> {
    return this.#write(({ processes }) => processes.signal(identity, signal))
  }

  keepResult(jid: string, text: string, seconds: number): Promise<void> {
    return this.#write((s) => {
      s.results.keep(jid, text, seconds)
      s.db.checkRoom()
    }, ANSWER_SECONDS)
  }

  async result(jid: string, ms = 0, signal: AbortSignal = new AbortController().signal): Promise<string | null> {
    const { bell } = await this.#opened()
    const end = performance.now() + ms
    for (;;) {
      const text = await this.#read(({ results }) => results.find(jid))
      const left = end - performance.now()
      if (text !== null || left <= 0 || this.#closed || signal.aborted) return text
      await bell.wait([topicOf(jid)], left, signal)
      // A write of another process wakes all who wait: one look in a while is enough.
      await pause(LOOK_MS)
    }
  }

  createTask(task: TaskSpec): Promise<boolean> {
    return this.#write(({ tasks }) => tasks.create(task))
  }

  addRows(task: string, adder: string, from: number, rows: NewRow[], now: number): Promise<AddAnswer> {
    return this.#write((s) => {
      const answer = withLedger(s, now, (ledger) => s.tasks.add(ledger, task, adder, from, rows, now))
      s.db.checkRoom()
      return answer
    })
  }

  endAdding(task: string, adder: string, now: number, interrupted = false): Promise<AddAnswer> {
    return this.#write((s) => withLedger(s, now, (ledger) => s.tasks.endAdding(ledger, task, adder, interrupted)))
  }

  task(id: string): Promise<TaskRecord | null> {
    return this.#read(({ tasks }) => tasks.find(id))
  }

  tasks(page: { before?: { createdAt: number; id: string }; limit: number }): Promise<TaskRecord[]> {
    return this.#read(({ tasks }) => tasks.list(page))
  }

  events(task: string, query: EventQuery): Promise<EventRecord[]> {
    return this.#read(({ tasks }) => tasks.events(task, query))
  }

  event(jid: string): Promise<EventRecord | null> {
    return this.#read(({ tasks }) => tasks.event(jid))
  }

  message(jid: string, message: Message): Promise<void> {
    return this.#write((s) => withLedger(s, message.at, (ledger) => s.tasks.message(ledger, jid, message)))
  }

  recordMetrics(batch: MetricsBatch): Promise<void> {
    return this.#write(({ metrics }) => metrics.record(batch), ANSWER_SECONDS)
  }

  metrics(span: 1 | 10, times: readonly number[], name?: string): Promise<JobSums[]> {
    return this.#read(({ metrics }) => metrics.sums(span, times, name))
  }

  histograms(name: string, minutes: readonly number[]): Promise<{ at: number; counts: number[] }[]> {
    return this.#read(({ metrics }) => metrics.histograms(name, minutes))
  }

  markDeploy(deploy: Deploy, now: number): Promise<boolean> {
    return this.#write(({ metrics }) => metrics.markDeploy(deploy, now), ANSWER_SECONDS)
  }

  deploys(days: readonly string[]): Promise<Deploy[]> {
    return this.#read(({ metrics }) => metrics.deploys(days))
  }

  iterations(jids: readonly string[]): Promise<(IterationRecord | null)[]> {
    return this.#read(({ iterations }) => jids.map((jid) => iterations.find(jid)))
  }

  saveIteration(jid: string, state: IterationState, now: number): Promise<boolean> {
    return this.#write(({ iterations }) => iterations.save(jid, state, now), ANSWER_SECONDS)
  }

  crons(names?: readonly string[]): Promise<CronRecord[]> {
    return this.#read(({ crons }) => crons.list(names))
  }

  defineCron(name: string, definition: CronDefinition, seconds: number): Promise<boolean> {
    return this.#write(({ crons }) => crons.define(name, definition, seconds), ANSWER_SECONDS)
  }

  async tickCron(name: string, tick: CronTick, now: number): Promise<CronTickAnswer> {
    try {
      return await this.#write((s) => tickCron(s, name, tick, now), ANSWER_SECONDS)
    } catch (thrown) {
      if (!(thrown instanceof HighkiqError)) throw thrown
      throw new PushError(thrown.message, tick.push ? [tick.push.jid] : [], false, { cause: thrown })
    }
  }

  pauseCron(name: string, paused: boolean, now: number): Promise<boolean> {
    return this.#write(({ crons }) => crons.pause(name, paused, now), ANSWER_SECONDS)
  }

  forgetCron(name: string): Promise<boolean> {
    return this.#write(({ crons }) => crons.forget(name), ANSWER_SECONDS)
  }

  unlock(lock: string, holder: string): Promise<void> {
    return this.#write(({ crons }) => crons.unlock(lock, holder), ANSWER_SECONDS)
  }

  /** Something in the turn can't be applied: each item gets a transaction of its own, and only the culprit fails. */
  async #turnOneByOne(owner: string, turn: Turn): Promise<TurnAnswer> {
    const nothing: Turn = { now: turn.now, started: [], settlements: [], take: { queues: [], n: 0 } }
    const answer: TurnAnswer = { fenced: false, started: [], settled: [], taken: [], marks: 0 }
    const alone = async (part: Partial<Turn>) => {
      const one = await this.#write((s) => runTurn(s, owner, { ...nothing, ...part }))
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
      this.#write((s) => withLedger(s, now, (ledger) => some.map((item) => apply(s, ledger, item))))
    try {
      return await together(items)
    } catch (thrown) {
      if (thrown instanceof HighkiqError) throw thrown
      const answers: SwapAnswer[] = []
      for (const item of items) answers.push(...(await together([item]).catch((): SwapAnswer[] => ['error'])))
      return answers
    }
  }

  // --------------------------------------------------------------------------------------------------- the file

  /** `seconds`: how long the file may be locked before this is given up. */
  async #write<T>(work: (s: Opened) => T, seconds = Number.POSITIVE_INFINITY): Promise<T> {
    const s = await this.#opened()
    return s.writer.write(() => work(s), seconds)
  }

  /**
   * Reads see one state of the file; they wait for nobody, but the file may be closed to all for a moment. Each takes a
   * turn of the event loop: who asks again and again would else keep everybody else in the process from working.
   */
  async #read<T>(work: (s: Opened) => T): Promise<T> {
    for (;;) {
      const s = await this.#opened()
      await nextTurn()
      try {
        return work(s)
      } catch (thrown) {
        if (!s.db.isBusy(thrown)) throw s.db.explain(thrown)
        await new Promise((resume) => setTimeout(resume, 1))
      }
    }
  }

  #opened(): Promise<Opened> {
    if (this.#closed) return Promise.reject(closedError(this.#options.path))
    this.#opening ??= this.#open().catch((thrown) => {
      // What was wrong may be mended: the next one tries again.
      this.#opening = undefined
      throw thrown
    })
    return this.#opening
  }

  async #open(): Promise<Opened> {
    const db = await Database.open(this.#options)
    const rung = new Set<string>()
    const dataVersion = () => Object.values(db.first<Record<string, number>>('PRAGMA data_version') ?? {})[0] ?? 0
    const bell = new Bell(db.path, dataVersion)
    const writer = new Writer(db, () => {
      bell.ring(rung)
      rung.clear()
    })
    const queues = new Queues(db, rung)
    return {
      db,
      writer,
      bell,
      queues,
      sets: new Sets(db, rung),
      leases: new Leases(db),
      processes: new Processes(db),
      results: new Results(db, rung),
      tasks: new Tasks(db),
      crons: new Crons(db),
      search: new Search(db),
      removal: new Removal(db),
      metrics: new Metrics(db),
      iterations: new Iterations(db),
      marks: new Marks(db, rung),
    }
  }
}
