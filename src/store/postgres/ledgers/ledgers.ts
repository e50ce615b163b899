/**
 * Applies the effects of one operation. It changes events and counts in the ledgers of their tasks, and refills windows
 * from the backlogs. Ledgers are read when they are first needed. `close` writes all of them together, with one statement for
 * each table.
 */

import { splitTaskJid } from '../../../job/payload.ts'
import type { Effect, EventEffect, EventStatus, Message, RecordEffect, StartAnswer } from '../../contract.ts'
import {
  BACKLOG,
  CANCELLED,
  dropsArgs,
  ELSEWHERE,
  type EventState,
  isCancelledWithTask,
  isHalted,
  isInBacklog,
  isStopped,
  NEVER_QUEUED,
  REJECTED,
  STATUS_CODE,
  STATUS_NAME,
  setAttempt,
  WINDOW,
} from '../../sql/task-row.ts'
import { callbacks, checkFailures, updateState } from '../../sql/task-state.ts'
import { Arrivals } from '../queues/arrivals.ts'
import { dropCancelled } from '../queues/cancellations.ts'
import { appendEvents } from '../queues/job-events.ts'
import type { Database } from '../server/database.ts'
import { sql } from '../sql.generated.ts'
import { Backlog } from './backlog.ts'
import { advanceInBulk } from './bulk-steps.ts'
import { Deferrals } from './deferrals.ts'
import { applyJobEffects, type JobEffect } from './job-effects.ts'
import { type RowMessage, saveEvents, saveMessages, saveReasons, saveTasks } from './save.ts'
import { openLedger, type TaskLedger } from './task-ledger.ts'
import type { TaskRow } from './task-row.ts'

/** Runs `work` with ledgers, and writes them at its end. */
export async function withLedgers<T>(db: Database, now: number, work: (ledgers: Ledgers) => Promise<T>): Promise<T> {
  const ledgers = new Ledgers(db, now)
  const result = await work(ledgers)
  await ledgers.close()
  return result
}

export class Ledgers {
  readonly #db: Database
  readonly #arrivals: Arrivals
  readonly #backlog: Backlog
  readonly #deferrals: Deferrals
  readonly #now: number
  readonly #ledgers = new Map<string, TaskLedger | undefined>()
  /** The messages to add to rows. */
  readonly #messages: RowMessage[] = []
  /** The effects on jobs themselves. */
  readonly #jobEffects: JobEffect[] = []
  /** The events of jobs to record. */
  #records: RecordEffect[] | undefined

  constructor(db: Database, now: number) {
    this.#db = db
    this.#arrivals = db.get(Arrivals)
    this.#backlog = db.get(Backlog)
    this.#deferrals = db.get(Deferrals)
    this.#now = now
  }

  /** Returns the ledger of a task; undefined: there is no such task. */
  async of(id: string): Promise<TaskLedger | undefined> {
    if (!this.#ledgers.has(id)) {
      const task = await this.#db.first<TaskRow>(sql.task.load, id)
      this.#ledgers.set(id, task && openLedger(task))
    }
    return this.#ledgers.get(id)
  }

  /** Reads the ledgers of the tasks of effects together. */
  async #open(effects: Iterable<Effect>): Promise<void> {
    const ids = new Set<string>()
    for (const effect of effects) {
      if (effect.kind !== 'event') continue
      const { id } = splitTaskJid(effect.jid)
      if (!this.#ledgers.has(id)) ids.add(id)
    }
    if (ids.size === 0) return
    const tasks = await this.#db.all<TaskRow>(sql.task.loadAll, [...ids])
    for (const id of ids) this.#ledgers.set(id, undefined)
    for (const task of tasks) this.#ledgers.set(task.id, openLedger(task))
  }

  async event(ledger: TaskLedger, index: number): Promise<EventState | undefined> {
    if (!ledger.events.has(index)) await this.load(ledger, [index])
    return ledger.events.get(index)
  }

  /** Reads events together, which is much cheaper than one by one. */
  async load(ledger: TaskLedger, indexes: readonly number[]): Promise<void> {
    await this.#load(indexes.map((index) => ({ ledger, index })))
  }

  async #load(wanted: readonly { ledger: TaskLedger; index: number }[]): Promise<void> {
    if (wanted.length === 0) return
    const ledgers = new Map(wanted.map(({ ledger }) => [ledger.task.key, ledger]))
    const keys = wanted.map(({ ledger }) => ledger.task.key)
    const indexes = wanted.map(({ index }) => index)
    for (const { task: key, ...event } of await this.#db.all<EventState & { task: number }>(
      sql.event.load,
      keys,
      indexes,
    )) {
      const { task, events } = ledgers.get(key) as TaskLedger
      if (event.location === NEVER_QUEUED && event.idx < task.next) event.location = WINDOW
      events.set(event.idx, event)
    }
  }

  /** Applies the effects that need not read their rows, and returns them. */
  async advance(effects: readonly Effect[]): Promise<ReadonlySet<Effect>> {
    await this.#open(effects)
    return await advanceInBulk(this.#db, (id) => this.#ledgers.get(id), effects, this.#now)
  }

  /** Reads the events of effects together, except for effects that are `applied`. */
  async prepare(effects: readonly Effect[], applied?: ReadonlySet<Effect>): Promise<void> {
    await this.#open(effects)
    const wanted: { ledger: TaskLedger; index: number }[] = []
    for (const effect of effects) {
      if (effect.kind !== 'event' || applied?.has(effect)) continue
      const { id, index } = splitTaskJid(effect.jid)
      const ledger = this.#ledgers.get(id)
      if (ledger && !ledger.events.has(index)) wanted.push({ ledger, index })
    }
    await this.#load(wanted)
  }

  /** Applies effects of a job that does not go to a queue, except those that are `applied`. */
  async apply(effects: readonly Effect[] = [], applied?: ReadonlySet<Effect>): Promise<StartAnswer> {
    let answer: StartAnswer = 'ok'
    for (const effect of effects) {
      if (!applied?.has(effect) && (await this.#change(effect)) === 'superseded') answer = 'superseded'
    }
    return answer
  }

  /**
   * Applies effects of a job that goes to a queue, except those that are `applied`. Returns false if the job's task has no
   * room in its window; then the job is in the backlog.
   */
  async admit(text: string, effects: readonly Effect[] = [], applied?: ReadonlySet<Effect>): Promise<boolean> {
    let admitted = true
    for (const effect of effects) {
      if (applied?.has(effect)) continue
      // A superseded job still goes to the queue, but not into the window, and is settled without running.
      if ((await this.#change(effect)) === 'superseded') continue
      if (effect.kind === 'event' && effect.window === 'enter') admitted = (await this.#enter(effect, text)) && admitted
    }
    return admitted
  }

  addMessages(key: number, index: number, messages: readonly Message[] = []): void {
    for (const message of messages) this.#messages.push({ key, index, message })
  }

  /** Adds to the counts of a status and its code. */
  count({ task, reasons }: TaskLedger, status: EventStatus, code: string | null, difference: 1 | -1): void {
    task[status] += difference
    if (STATUS_CODE[status] < REJECTED) return
    const reason = `${STATUS_CODE[status]}${code ?? ''}`
    reasons.set(reason, (reasons.get(reason) ?? 0) + difference)
  }

  /** Changes the status of a row, with the counts and the backlog. */
  become(ledger: TaskLedger, event: EventState, status: EventStatus, code: string | null): void {
    this.count(ledger, STATUS_NAME[event.status] as EventStatus, event.code, -1)
    this.count(ledger, status, code, 1)
    if (status === 'failed' || status === 'error') this.noteRejected(ledger, event.run)
    event.status = STATUS_CODE[status]
    event.code = code
    // A row of any other status is not in the backlog.
    if (status !== 'enqueued' && isInBacklog(event)) this.leave(ledger, event)
    ledger.task.progress_at = this.#now
    ledger.changed.add(event)
  }

  /** Notes that a row of a run became `failed` or `error`. */
  noteRejected(ledger: TaskLedger, run: number): void {
    if (!ledger.rejectedRuns.includes(run)) ledger.rejectedRuns = [...ledger.rejectedRuns, run]
  }

  /** Removes a row from the window or the backlog. */
  leave({ task, positions, changed }: TaskLedger, event: EventState): void {
    if (event.location === WINDOW) task.in_window--
    if (isInBacklog(event)) task.backlog--
    if (event.location === BACKLOG) positions.set(event.idx, null)
    event.location = ELSEWHERE
    changed.add(event)
  }

  /** Puts a row at the back of the backlog, for another run. Its text is made when it enters the queue. */
  putInBacklog(ledger: TaskLedger, event: EventState): void {
    this.leave(ledger, event)
    this.#position(ledger, event, null)
  }

  #position({ task, positions }: TaskLedger, event: EventState, text: string | null): void {
    // The order of the positions is that in which rows got them.
    positions.delete(event.idx)
    positions.set(event.idx, { text })
    task.backlog++
    event.location = BACKLOG
  }

  /** Cancels a row together with its task. Only another run can run it again. */
  cancel(ledger: TaskLedger, event: EventState): void {
    this.become(ledger, event, 'cancelled', CANCELLED)
    this.leave(ledger, event)
    event.finished_at = this.#now
    event.drop = ledger.task.keep_args === 'none'
  }

  /** Stops a task: adding ends, and no more rows enter the queue. */
  async stop({ task }: TaskLedger): Promise<void> {
    task.state = 'cancelling'
    task.paused = 0
    task.producers = 0
    task.broken = 0
    task.cancel_from = 0
    await this.#db.run(sql.producer.endAll, task.key)
  }

  /** Refills windows, updates the states of the tasks, and writes all ledgers. */
  async close(): Promise<void> {
    const ledgers = Array.from(this.#ledgers.values()).filter((ledger) => ledger !== undefined)
    this.#ledgers.clear()
    for (const ledger of ledgers) if (checkFailures(ledger, this.#now)) await this.stop(ledger)
    const jobEffects = this.#jobEffects.splice(0)
    if (jobEffects.length > 0) await applyJobEffects(this.#db, jobEffects, this.#now)
    // Jobs that came back are before the rows that enter the window now.
    await this.#arrivals.store()
    // A refill reads rows and positions from the tables.
    await saveEvents(this.#db, ledgers)
    await this.#backlog.savePositions(ledgers)
    for (const ledger of ledgers) await this.#refill(ledger)
    for (const ledger of ledgers) {
      updateState(ledger.task, this.#now)
      for (const { queue, text } of callbacks(ledger, this.#now)) this.#pushBack(queue, text)
    }
    await saveReasons(this.#db, ledgers)
    await saveTasks(this.#db, ledgers)
    await saveMessages(this.#db, this.#messages.splice(0))
    if (this.#records) await appendEvents(this.#db, this.#records, this.#now)
    this.#records = undefined
    await this.#arrivals.store()
  }

  async #find(jid: string): Promise<{ ledger: TaskLedger; event: EventState } | undefined> {
    const { id, index } = splitTaskJid(jid)
    const ledger = await this.of(id)
    const event = ledger && (await this.event(ledger, index))
    return event && { ledger, event }
  }

  async #change(effect: Effect): Promise<StartAnswer> {
    if (effect.kind === 'record') {
      this.#records ??= []
      this.#records.push(effect)
      return 'ok'
    }
    if (effect.kind !== 'event') {
      this.#jobEffects.push(effect)
      return 'ok'
    }
    const found = await this.#find(effect.jid)
    // The jobs of a deleted task run untracked.
    if (!found) return 'ok'
    const { ledger, event } = found
    const step = effect.attempt * 2 + (effect.status === 'working' ? 0 : 1)
    const isOver = effect.run === event.run && event.status >= STATUS_CODE.finished
    if (isOver && (await this.#deferrals.hasEnded(ledger.task, event))) {
      if (effect.window === 'park') this.addMessages(ledger.task.key, event.idx, effect.messages)
      return 'superseded'
    }
    if (effect.run < event.run || (effect.run === event.run && step < event.step)) return 'superseded'
    if (effect.run === event.run && isCancelledWithTask(event)) return 'superseded'

    const same = effect.run === event.run && step === event.step
    const repeated = same && STATUS_CODE[effect.status] === event.status
    if (isStopped(ledger.task) && isHalted(effect, repeated)) {
      if (event.status < STATUS_CODE.finished) {
        if (effect.status === 'enqueued') setAttempt(event, effect, step)
        this.cancel(ledger, event)
        this.addMessages(ledger.task.key, event.idx, effect.messages)
      }
      return 'superseded'
    }
    if (effect.window === 'park' && (await dropCancelled(this.#db, effect))) {
      this.cancel(ledger, event)
      this.addMessages(ledger.task.key, event.idx, effect.messages)
      return 'ok'
    }
    setAttempt(event, effect, step)
    const code = effect.status === 'working' ? null : codeOf(effect.code)
    const { rejectedRuns } = ledger
    this.become(ledger, event, effect.status, code)
    // A repeated effect must not count as a new failure.
    if (repeated) ledger.rejectedRuns = rejectedRuns
    // A row that is in the backlog by now has not left the window.
    if ((effect.window === 'leave' || effect.window === 'park') && event.location === WINDOW) this.leave(ledger, event)
    const isParked = effect.window === 'park' && (await this.#deferrals.park(ledger.task, event))
    if (effect.status !== 'working') {
      event.result = effect.result ?? null
      event.drop = dropsArgs(ledger.task, effect.status)
    }
    if (!repeated || isParked) this.addMessages(ledger.task.key, event.idx, effect.messages)
    return 'ok'
  }

  async #enter(effect: EventEffect, text: string): Promise<boolean> {
    const found = await this.#find(effect.jid)
    if (!found || found.event.location === WINDOW) return true
    const { ledger, event } = found
    if (isInBacklog(event)) return false
    const { task } = ledger
    const room = task.in_window < task.window_size && !task.paused && !task.moving
    if (room) {
      task.in_window++
      event.location = WINDOW
    } else this.#position(ledger, event, text)
    ledger.changed.add(event)
    return room
  }

  async #refill(ledger: TaskLedger): Promise<void> {
    const { task } = ledger
    if (task.paused || task.moving || isStopped(task)) return
    const room = Math.min(task.window_size - task.in_window, task.backlog)
    if (room <= 0 || (await this.#backlog.issueBare(task, room, this.#now))) return
    const issued = await this.#backlog.issue(task, room, this.#now)
    task.backlog -= issued.reduce((sum, { others }) => sum + 1 + others.length, 0)
    task.in_window += issued.length
    for (const { text } of issued) this.#pushBack(task.queue, text)
  }

  #pushBack(queue: string, text: string): void {
    this.#arrivals.add({ to: 'queue', queue, text, end: 'back' })
  }
}

/** Returns a code as it is stored: without half a surrogate pair. */
export function codeOf(code: string | undefined): string | null {
  return code?.toWellFormed() || null
}
