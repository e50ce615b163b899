/**
 * Applies the effects of one operation. It changes events and counts in the ledgers of their tasks, and refills windows
 * from the backlogs. A ledger is read when it is first needed and written once, by `close`.
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
import type { Database } from '../file/database.ts'
import { dropCancelled } from '../queues/cancellations.ts'
import { appendEvents } from '../queues/job-events.ts'
import { Queues } from '../queues/queues.ts'
import { sql } from '../sql.generated.ts'
import { Backlog } from './backlog.ts'
import { advanceInBulk } from './bulk-steps.ts'
import { Deferrals } from './deferrals.ts'
import { applyJobEffect } from './job-effects.ts'
import { openLedger, type TaskLedger, termsOf } from './task-ledger.ts'
import { eventsOf, type TaskRow } from './task-row.ts'

/** An event keeps at most 50 messages. The first ten always stay; of the others the oldest is dropped first. */
const KEPT_MESSAGES = 50
const FIRST_MESSAGES = 10

/** Runs `work` with ledgers, and writes them at its end. */
export function withLedgers<T>(db: Database, now: number, work: (ledgers: Ledgers) => T): T {
  const ledgers = new Ledgers(db, now)
  const result = work(ledgers)
  ledgers.close()
  return result
}

export class Ledgers {
  readonly #db: Database
  readonly #queues: Queues
  readonly #backlog: Backlog
  readonly #deferrals: Deferrals
  readonly #now: number
  readonly #ledgers = new Map<string, TaskLedger | undefined>()
  /** The events of jobs to record. */
  #records: RecordEffect[] | undefined

  constructor(db: Database, now: number) {
    this.#db = db
    this.#queues = db.get(Queues)
    this.#backlog = db.get(Backlog)
    this.#deferrals = db.get(Deferrals)
    this.#now = now
  }

  /** Returns the ledger of a task; undefined: there is no such task. */
  of(id: string): TaskLedger | undefined {
    if (!this.#ledgers.has(id)) {
      const task = this.#db.first<TaskRow>(sql.task.load, id)
      this.#ledgers.set(id, task && openLedger(task))
    }
    return this.#ledgers.get(id)
  }

  event(ledger: TaskLedger, index: number): EventState | undefined {
    if (!ledger.events.has(index)) this.load(ledger, [index])
    return ledger.events.get(index)
  }

  /** Reads events together, which is much cheaper than one by one. */
  load(ledger: TaskLedger, indexes: readonly number[]): void {
    if (indexes.length === 0) return
    for (const event of eventsOf(this.#db, ledger.task.key, indexes)) {
      if (event.location === NEVER_QUEUED && event.idx < ledger.task.next) event.location = WINDOW
      ledger.events.set(event.idx, event)
    }
  }

  /** Applies the effects that need not read their rows, and returns them. */
  advance(effects: readonly Effect[]): ReadonlySet<Effect> {
    return advanceInBulk(this.#db, (id) => this.of(id), effects, this.#now)
  }

  /** Reads the events of effects together, except for effects that are `applied`. */
  prepare(effects: Iterable<Effect>, applied?: ReadonlySet<Effect>): void {
    const wanted = new Map<TaskLedger, number[]>()
    for (const effect of effects) {
      if (effect.kind !== 'event' || applied?.has(effect)) continue
      const { id, index } = splitTaskJid(effect.jid)
      const ledger = this.of(id)
      if (!ledger || ledger.events.has(index)) continue
      const indexes = wanted.get(ledger)
      if (indexes) indexes.push(index)
      else wanted.set(ledger, [index])
    }
    for (const [ledger, indexes] of wanted) this.load(ledger, indexes)
  }

  /** Applies effects of a job that does not go to a queue, except those that are `applied`. */
  apply(effects: readonly Effect[] = [], applied?: ReadonlySet<Effect>): StartAnswer {
    let answer: StartAnswer = 'ok'
    for (const effect of effects) {
      if (!applied?.has(effect) && this.#change(effect) === 'superseded') answer = 'superseded'
    }
    return answer
  }

  /**
   * Applies effects of a job that goes to a queue, except those that are `applied`. Returns false if the job's task has no
   * room in its window; then the job is in the backlog.
   */
  admit(text: string, effects: readonly Effect[] = [], applied?: ReadonlySet<Effect>): boolean {
    let admitted = true
    for (const effect of effects) {
      if (applied?.has(effect)) continue
      // A superseded job still goes to the queue, but not into the window, and is settled without running.
      if (this.#change(effect) === 'superseded') continue
      if (effect.kind === 'event' && effect.window === 'enter') admitted = this.#enter(effect, text) && admitted
    }
    return admitted
  }

  addMessages(key: number, index: number, messages: readonly Message[] = []): void {
    for (const { at, code, params } of messages) {
      const count = this.#db.first<{ kept: number; last: number }>(sql.event.messageCount, key, index)
      if (count && count.kept >= KEPT_MESSAGES) this.#db.run(sql.event.dropMiddle, key, index, FIRST_MESSAGES)
      this.#db.run(sql.event.addMessage, key, index, (count?.last ?? 0) + 1, at, code, JSON.stringify(params))
    }
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
  leave(ledger: TaskLedger, event: EventState): void {
    if (event.location === WINDOW) ledger.task.in_window--
    if (isInBacklog(event)) ledger.task.backlog--
    if (event.location === BACKLOG) this.#backlog.remove(ledger.task, event.idx)
    event.location = ELSEWHERE
    ledger.changed.add(event)
  }

  /** Puts a row at the back of the backlog, for another run. */
  putInBacklog(ledger: TaskLedger, event: EventState): void {
    this.leave(ledger, event)
    this.#backlog.putBack(ledger.task, event.idx)
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
  stop({ task }: TaskLedger): void {
    task.state = 'cancelling'
    task.paused = 0
    task.producers = 0
    task.broken = 0
    task.cancel_from = 0
    this.#db.run(sql.producer.endAll, task.key)
  }

  /** Refills windows, updates the states of the tasks, and writes all ledgers. */
  close(): void {
    for (const ledger of this.#ledgers.values()) {
      if (!ledger) continue
      const { task } = ledger
      if (checkFailures(ledger, this.#now)) this.stop(ledger)
      // The refill reads the next rows from the table, so changes of them must be written first.
      if (Array.from(ledger.changed).some(({ idx }) => idx >= task.next)) this.#saveEvents(ledger)
      this.#refill(ledger)
      updateState(task, this.#now)
      const calls = callbacks(ledger, this.#now)
      this.#save(ledger)
      for (const { queue, text } of calls) this.#queues.pushBack(queue, [text])
    }
    this.#ledgers.clear()
    if (this.#records) appendEvents(this.#db, this.#records, this.#now)
    this.#records = undefined
  }

  #find(jid: string): { ledger: TaskLedger; event: EventState } | undefined {
    const { id, index } = splitTaskJid(jid)
    const ledger = this.of(id)
    const event = ledger && this.event(ledger, index)
    return event && { ledger, event }
  }

  #change(effect: Effect): StartAnswer {
    if (effect.kind === 'record') {
      this.#records ??= []
      this.#records.push(effect)
      return 'ok'
    }
    if (effect.kind !== 'event') {
      applyJobEffect(this.#db, effect, this.#now)
      return 'ok'
    }
    const found = this.#find(effect.jid)
    // The jobs of a deleted task run untracked.
    if (!found) return 'ok'
    const { ledger, event } = found
    const step = effect.attempt * 2 + (effect.status === 'working' ? 0 : 1)
    const isOver = effect.run === event.run && event.status >= STATUS_CODE.finished
    if (isOver && this.#deferrals.hasEnded(ledger.task, event)) {
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
    if (effect.window === 'park' && dropCancelled(this.#db, effect)) {
      this.cancel(ledger, event)
      this.addMessages(ledger.task.key, event.idx, effect.messages)
      return 'ok'
    }
    setAttempt(event, effect, step)
    const code = effect.status === 'working' ? null : effect.code?.toWellFormed() || null
    const { rejectedRuns } = ledger
    this.become(ledger, event, effect.status, code)
    // A repeated effect must not count as a new failure.
    if (repeated) ledger.rejectedRuns = rejectedRuns
    // A row that is in the backlog by now has not left the window.
    if ((effect.window === 'leave' || effect.window === 'park') && event.location === WINDOW) this.leave(ledger, event)
    const isParked = effect.window === 'park' && this.#deferrals.park(ledger.task, event)
    if (effect.status !== 'working') {
      event.result = effect.result ?? null
      event.drop = dropsArgs(ledger.task, effect.status)
    }
    if (!repeated || isParked) this.addMessages(ledger.task.key, event.idx, effect.messages)
    return 'ok'
  }

  #enter(effect: EventEffect, text: string): boolean {
    const found = this.#find(effect.jid)
    if (!found || found.event.location === WINDOW) return true
    const { ledger, event } = found
    if (isInBacklog(event)) return false
    const { task } = ledger
    const room = task.in_window < task.window && !task.paused && !task.moving
    if (room) task.in_window++
    else this.#backlog.putFront(task, event.idx, text)
    event.location = room ? WINDOW : BACKLOG
    ledger.changed.add(event)
    return room
  }

  #refill(ledger: TaskLedger): void {
    const { task } = ledger
    if (task.paused || task.moving || isStopped(task)) return
    const room = Math.min(task.window - task.in_window, task.backlog)
    if (room <= 0 || this.#backlog.issueBare(task, room, this.#now, this.#queues)) return
    const issued = this.#backlog.issue(task, room, this.#now, (index) => ledger.events.get(index)?.run)
    const returned = issued.filter(({ isFresh }) => !isFresh).map(({ idx }) => idx)
    const others = issued.flatMap((job) => job.others)
    this.#locate(ledger, returned, WINDOW)
    this.#locate(ledger, others, ELSEWHERE)
    task.backlog -= issued.length + others.length
    task.in_window += issued.length
    const texts = issued.map(({ text }) => text)
    this.#queues.pushBack(task.queue, texts)
  }

  #locate(ledger: TaskLedger, indexes: readonly number[], location: number): void {
    const missing = indexes.filter((idx) => !ledger.events.has(idx))
    this.load(ledger, missing)
    for (const idx of indexes) {
      const event = ledger.events.get(idx) as EventState
      event.location = location
      ledger.changed.add(event)
    }
  }

  #saveEvents({ task, changed }: TaskLedger): void {
    if (changed.size === 0) return
    this.#db.run(sql.event.save, task.key, JSON.stringify(Array.from(changed, valuesOf)))
    changed.clear()
  }

  #save(ledger: TaskLedger): void {
    const { task, reasons, terms } = ledger
    this.#saveEvents(ledger)
    const differences = Array.from(reasons).filter(([, n]) => n !== 0)
    if (differences.length > 0) {
      const rows = differences.map(([reason, n]) => [Number(reason.slice(0, 1)), reason.slice(1), n])
      this.#db.run(sql.event.countReasons, task.key, JSON.stringify(rows))
      if (differences.some(([, n]) => n < 0)) this.#db.run(sql.event.dropReasons, task.key)
    }
    this.#db.run(
      sql.task.save,
      task.state,
      task.total,
      task.next,
      task.backlog,
      task.in_window,
      task.enqueued,
      task.working,
      task.finished,
      task.failed,
      task.error,
      task.cancelled,
      task.progress_at,
      task.finished_at,
      task.expires_at,
      task.key,
    )
    const now = termsOf(task)
    if (now.some((value, i) => value !== terms[i])) this.#db.run(sql.task.saveTerms, ...now, task.key)
  }
}

/** Returns the values of an event in the order of the statement. */
function valuesOf({ idx, status, location, run, step, code, started_at, finished_at, result, drop }: EventState) {
  return [idx, status, location, run, step, code, started_at, finished_at, result, drop ? 1 : 0]
}
