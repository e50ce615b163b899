/**
 * Makes sure that every task ends, whichever process died. One worker at a time continues cancellations, ends deferred
 * rows whose deadline is over, removes rows from the window whose jobs another program fetched, ends rows whose jobs
 * are in no queue and no job set, and deletes old tasks.
 */

import { isArriving } from '../inspect/arriving-task.ts'
import { jobsInOrder, pages } from '../inspect/walk.ts'
import { readPayload, splitTaskJid } from '../job/payload.ts'
import { baseQueue } from '../job/priority.ts'
import { jidsOf } from '../job/rows.ts'
import type { EventRecord, Store, TaskRecord } from '../store/contract.ts'
import type { LeaderLock } from '../worker/background-service.ts'
import type { Engine } from '../worker/engine.ts'
import { FAR_AHEAD_MS, ItemRunner, Maintenance, WalkPace } from '../worker/maintenance.ts'
import { OverdueRows } from './deferred.ts'
import { cancelRows, removeTask } from './end-task.ts'
import { eventPages } from './event.ts'

const MIN_INTERVAL_SECONDS = 0.2
/** A task without progress for this long is idle. */
const IDLE_MS = 10_000
const EXPIRED_AT_ONCE = 100
/** The number of open tasks, or of tasks that are being cancelled, that the store checks for one page. */
const TASK_PAGE = 1000
/** The number of tasks whose rows one walk through queues and sets looks for. */
const TASKS_PER_WALK = 10_000
/** A walk counts as this long at least, although the store answers at once when no task is idle. */
const SHORTEST_WALK_MS = 50
/** A correction of progress counts as this long at least, so that one runs once an hour. */
const SHORTEST_CORRECTION_MS = 36_000
const PAGE = 500

/** Open rows whose jobs were not seen. */
type MissingRows = Map<TaskRecord, EventRecord[]>

/** The indexes of the rows whose jobs were seen, by the id of the task. */
type Seen = Map<string, Set<number>>

export class TaskMaintenance extends Maintenance {
  readonly #app: Pick<Engine, 'store' | 'now' | 'report'>
  readonly #overdue: OverdueRows
  readonly #tasks: ItemRunner
  readonly #idleMs: number
  readonly #pace: WalkPace
  readonly #correctionPace: WalkPace
  /** The tasks being cancelled whose rows this leader has cancelled, with the pass in which the store last listed them. */
  readonly #cancelled = new Map<string, number>()
  /** A pass lists all tasks that are being cancelled, with a page in each round. */
  #pass = 0
  /** The cursor of the next page of the pass. */
  #after: string | undefined
  /** The rows whose jobs the last walk did not find, by jid, with their run, attempts and status then. */
  #missing = new Map<string, string>()

  /**
   * `everySeconds` is the time between two rounds, at least MIN_INTERVAL_SECONDS; `walkingPart` is the largest part of the
   * time for walks.
   */
  constructor(
    app: Pick<Engine, 'store' | 'now' | 'report'>,
    options: { everySeconds: number; idleMs?: number; walkingPart?: number; lock?: LeaderLock },
  ) {
    const { everySeconds, idleMs = IDLE_MS, walkingPart, ...rest } = options
    const everyMs = Math.max(everySeconds, MIN_INTERVAL_SECONDS) * 1000
    super(app, { during: 'task maintenance', everyMs, ...rest })
    this.#app = app
    this.#overdue = new OverdueRows(app)
    this.#tasks = new ItemRunner(app.report, (task) => ({ task, during: 'task maintenance' }))
    this.#idleMs = idleMs
    this.#pace = new WalkPace(walkingPart, SHORTEST_WALK_MS)
    this.#correctionPace = new WalkPace(walkingPart, SHORTEST_CORRECTION_MS)
  }

  /** Runs one round, unless another process holds the lock. */
  public override async run(): Promise<void> {
    const store = this.#app.store
    if (!(await this.isLeader())) {
      // Tasks may end, and be cancelled again, before this process is the leader again.
      this.#cancelled.clear()
      return
    }
    const now = this.#app.now()
    const isMoreOverdue = await this.#overdue.endSome()
    const isMoreCancelling = await this.#continueCancelling(store)
    const limit = EXPIRED_AT_ONCE + this.#tasks.pausing
    const expired = await store.tasks.expired(now, limit)
    for (const id of expired) {
      if (!(await this.isLeader())) return
      await this.#tasks.run(id, async () => {
        // A person may have retried its rows while this worker deleted other tasks.
        if ((await store.tasks.expired(now, limit)).includes(id)) await removeTask(this.#app, id)
      })
    }
    // Each tracked job is a task, so thousands may be old at once.
    if (isMoreOverdue || isMoreCancelling || expired.length === limit) this.runWithin(0)
    if (this.#correctionPace.isDue) await this.#correctionPace.run(() => this.#correctProgress(store))
    if (this.#pace.isDue) await this.#pace.run(() => this.#walk(store, now - this.#idleMs))
  }

  /**
   * Cancels the rows of the next page of cancelled tasks, once for each task. Only a walk, at its own pace, cancels
   * them again, because it reads all rows of a task while one of them runs. Returns true when it cancelled rows and
   * there may be more tasks.
   */
  async #continueCancelling(store: Store): Promise<boolean> {
    const { items, next } = await store.tasks.cancelling({ after: this.#after, limit: TASK_PAGE })
    const found = items.filter((id) => !this.#cancelled.has(id))
    for (const id of items) if (this.#cancelled.has(id)) this.#cancelled.set(id, this.#pass)
    for (const id of found) {
      if (!(await this.isLeader())) return false
      await this.#tasks.run(id, async () => {
        await cancelRows(this.#app, id)
        this.#cancelled.set(id, this.#pass)
      })
    }
    this.#after = next ?? undefined
    if (next !== null) return found.length > 0
    for (const [id, pass] of this.#cancelled) if (pass !== this.#pass) this.#cancelled.delete(id)
    this.#pass++
    return false
  }

  /** Sets the times of progress that are far in the future to now. */
  async #correctProgress(store: Store): Promise<'done' | 'stopped'> {
    const time = this.#app.now() + FAR_AHEAD_MS
    for await (const { items } of pages((after) => store.tasks.ahead(time, { after, limit: TASK_PAGE }))) {
      for (const task of items) {
        if (!(await this.isLeader())) return 'stopped'
        await this.#tasks.run(task.id, () => this.#setProgress(store, task.id))
      }
    }
    return 'done'
  }

  /** Sets the progress of a task to now. It repeats the last change of a row, which changes nothing else. */
  async #setProgress(store: Store, id: string): Promise<void> {
    const now = this.#app.now()
    for (const status of ['working', 'enqueued'] as const) {
      const [event] = await store.tasks.events(id, { status: [status], limit: 1 })
      if (!event) continue
      const { jid, run, attempts: attempt, startedAt } = event
      const effect = { kind: 'event', jid, run, attempt, status, window: 'keep', at: startedAt ?? now } as const
      return store.tasks.changeEvents([effect], now)
    }
  }

  /** Looks for the rows of all idle tasks, also of those that are being cancelled. */
  async #walk(store: Store, before: number): Promise<'done' | 'unconfirmed' | 'stopped'> {
    const missing = new Map<string, string>()
    for await (const tasks of this.#idle(store, before)) {
      if (!(await this.isLeader())) return 'stopped'
      const seen = await this.#jobsSeen(store, tasks)
      const suspects: MissingRows = new Map()
      for (const task of tasks) {
        if (!(await this.isLeader())) return 'stopped'
        await this.#tasks.run(task.id, async () => {
          const unseen = await this.#freeWindow(store, task, seen)
          // Until `lostAfter` has passed since the last progress, the row only leaves the window.
          if (this.#app.now() - (task.progressAt ?? task.createdAt) < task.lostAfter) return
          for (const event of unseen) missing.set(event.jid, stateOf(event))
          const again = unseen.filter((event) => this.#missing.get(event.jid) === stateOf(event))
          if (again.length > 0) suspects.set(task, again)
        })
      }
      if (suspects.size > 0) await this.#endLostRows(store, suspects)
    }
    const isConfirmed = [...missing].every(([jid, state]) => this.#missing.get(jid) === state)
    this.#missing = missing
    // The next walk must come soon: if this worker stops before it, what it knows is lost.
    return isConfirmed ? 'done' : 'unconfirmed'
  }

  /** Lists all idle tasks, as many at a time as one walk looks for. */
  async *#idle(store: Store, before: number): AsyncGenerator<TaskRecord[]> {
    let tasks: TaskRecord[] = []
    for await (const page of this.#idlePages(store, before)) {
      // Rows that are parked have no job to look for.
      tasks.push(...page.filter(({ counts, deferred }) => counts.enqueued + counts.working > deferred))
      if (this.isStopping) return
      if (tasks.length < TASKS_PER_WALK) continue
      yield tasks
      tasks = []
    }
    if (tasks.length > 0) yield tasks
  }

  /**
   * Lists all idle tasks. `tasks.idle` does not list those that are being cancelled: this cancels their rows first, and
   * lists those that are still idle.
   */
  async *#idlePages(store: Store, before: number): AsyncGenerator<TaskRecord[]> {
    for await (const { items } of pages((after) => store.tasks.cancelling({ after, limit: TASK_PAGE }))) {
      for (const id of items) {
        const idle = (await this.isLeader()) ? await this.#cancelIdle(store, id, before) : undefined
        yield idle ? [idle] : []
      }
    }
    for await (const { items } of pages((after) => store.tasks.idle(before, { after, limit: TASK_PAGE }))) yield items
  }

  /**
   * Cancels the rows of a task, and returns the task if it is still idle. Of its rows, only those that were running are
   * open. Also corrects a time of progress that is far in the future.
   */
  async #cancelIdle(store: Store, id: string, before: number): Promise<TaskRecord | undefined> {
    let idle: TaskRecord | undefined
    await this.#tasks.run(id, async () => {
      await cancelRows(this.#app, id)
      const task = await store.tasks.find(id)
      const progressAt = task?.progressAt ?? task?.createdAt ?? 0
      if (progressAt > this.#app.now() + FAR_AHEAD_MS) await this.#setProgress(store, id)
      else if (task?.state === 'cancelling' && progressAt < before) idle = task
    })
    return idle
  }

  /**
   * Removes open rows from the window if their jobs were not seen, so that the next rows are queued.
   * @returns these rows, and the other open rows whose jobs were not seen
   */
  async #freeWindow(store: Store, task: TaskRecord, seen: Seen): Promise<EventRecord[]> {
    const unseen = await this.#missingRows(store, task, seen)
    if (unseen.length === 0 || (await this.#hasMoved(store, task))) return []
    const inWindow = unseen.filter(({ location }) => location === 'window')
    if (inWindow.length > 0) {
      await store.tasks.leaveWindow(
        task.id,
        inWindow.map(({ index }) => index),
        this.#app.now(),
      )
    }
    return unseen
  }

  /** Returns whether rows of the task were queued, ran or ended since it was read. Added rows make only the backlog longer. */
  async #hasMoved(store: Store, { id, progressAt, inWindow, backlog }: TaskRecord): Promise<boolean> {
    const found = await store.tasks.find(id)
    return found?.progressAt !== progressAt || found.inWindow !== inWindow || found.backlog < backlog
  }

  /**
   * Ends rows whose jobs two walks did not find. First it searches all queues, because middleware or `promote` may have put the
   * jobs into another one, and the dead set, into which another program may have put them. It searches twice,
   * because a job that was requeued, or waits for its limit again, may have moved against the order of a search. It skips tasks
   * whose jobs a move has not yet brought from another store.
   */
  async #endLostRows(store: Store, suspects: MissingRows): Promise<void> {
    // The flags are read before the search: the jobs of a task without a flag are all here by then.
    for (const task of suspects.keys()) if (await isArriving(store, task.id)) suspects.delete(task)
    if (suspects.size === 0) return
    const tasks = [...suspects.keys()]
    const [found, dead] = [emptyFor(tasks), emptyFor(tasks)]
    const lostOf = ({ id }: TaskRecord, events: EventRecord[]) =>
      events.filter(({ index }) => !found.get(id)?.has(index))
    const isAnyLost = () => [...suspects].some(([task, events]) => lostOf(task, events).length > 0)
    for (let i = 0; i < 2; i++) {
      for await (const { items } of jobsInOrder(store, needleOf(found))) addJobs(found, items)
      if (!isAnyLost()) return
    }
    const search = pages((after) => store.search.scanSet('dead', needleOf(dead), { after, limit: PAGE }))
    for await (const { items } of search) addJobs(dead, items)
    for (const [task, events] of suspects) {
      await this.#tasks.run(task.id, async () => {
        if ((await store.tasks.find(task.id))?.progressAt !== task.progressAt) return
        await this.#endRows(store, lostOf(task, events), ({ index, status }) => {
          // Not the outcome `dead`, whose row has the code of its error: here nothing else is known of the end.
          if (dead.get(task.id)?.has(index)) return 'dead'
          // The store has no start of a row that is not `working`: most likely a program that does not know tasks ran it.
          return status === 'working' ? 'lost' : 'ran-elsewhere'
        })
      })
    }
  }

  /**
   * Returns the rows whose jobs are in the queue of their task or in a job set, by task. It searches in the order in
   * which a job moves, once for all tasks, after each of them was found idle.
   */
  async #jobsSeen(store: Store, tasks: readonly TaskRecord[]): Promise<Seen> {
    const seen = emptyFor(tasks)
    for await (const { items } of jobsInOrder(store, needleOf(seen), queuesOf(tasks))) addJobs(seen, items)
    return seen
  }

  /** Returns the open rows that are neither in the backlog nor parked, and were not seen. */
  async #missingRows(store: Store, task: TaskRecord, seen: Seen): Promise<EventRecord[]> {
    const { id, counts, backlog, rowsPerJob } = task
    const away: EventRecord[] = []
    // If a job of several rows is back in the backlog, only its first row is `backlog`, and the others are `elsewhere`.
    const mayBeInBacklog = ({ status, location }: EventRecord) =>
      rowsPerJob !== null && backlog > 0 && status === 'enqueued' && location === 'elsewhere'
    // Rows of the backlog may lie anywhere between the others. The scan counts the others, and stops after the last one.
    const outside = { enqueued: counts.enqueued - backlog, working: counts.working }
    for (const status of ['enqueued', 'working'] as const) {
      let left = outside[status]
      if (left <= 0) continue
      for await (const page of eventPages(store, id, { status: [status] })) {
        const others = page.filter(({ location }) => location !== 'backlog')
        for (const event of others) {
          const isParked = event.deferredUntil !== undefined
          if (!isParked && !mayBeInBacklog(event) && !seen.get(id)?.has(event.index)) away.push(event)
        }
        left -= others.length
        if (left <= 0) break
      }
    }
    return away
  }

  async #endRows(store: Store, lost: readonly EventRecord[], codeOf: (event: EventRecord) => string): Promise<void> {
    const at = this.#app.now()
    const end = { kind: 'event', status: 'error', window: 'leave', at } as const
    for (let from = 0; from < lost.length; from += PAGE) {
      const effects = lost.slice(from, from + PAGE).map((event) => {
        const { jid, run, attempts } = event
        const code = codeOf(event)
        return { ...end, jid, run, attempt: attempts, code, messages: [{ at, code, params: {} }] }
      })
      await store.tasks.changeEvents(effects, at)
    }
  }
}

/** Returns the state of a row. If it has changed by the next walk, the job existed in between: the row is not lost. */
function stateOf({ run, attempts, status }: EventRecord): string {
  return `${run} ${attempts} ${status}`
}

/** Returns the queues of tasks by the names under which the store lists them. */
function queuesOf(tasks: readonly TaskRecord[]): Set<string> {
  return new Set(tasks.map(({ queue }) => baseQueue(queue)))
}

function emptyFor(tasks: readonly TaskRecord[]): Seen {
  return new Map(tasks.map(({ id }) => [id, new Set<number>()]))
}

/** Returns a text that all jobs of these tasks contain: for a single task its id, so that no other jobs are read. */
function needleOf(seen: Seen): string {
  const [id, ...others] = seen.keys()
  return others.length === 0 ? `"${id}"` : '"hk_task"'
}

function addJobs(seen: Seen, items: readonly { text: string }[]): void {
  for (const { text } of items) {
    const payload = text.includes('"hk_task"') ? readPayload(text) : undefined
    const indexes = payload?.hk_task === undefined ? undefined : seen.get(payload.hk_task)
    if (payload && indexes) for (const jid of jidsOf(payload)) indexes.add(splitTaskJid(jid).index)
  }
}
