/**
 * The effects of one operation: marks go, and the books of the tasks are kept – events change, counts follow, freed places
 * are filled again. Tasks are read when first touched and written once, by `close`.
 */

import { splitTaskJid } from '../../../job/payload.ts'
import type { Effect, EventEffect, EventStatus, Message, StartAnswer } from '../../contract.ts'
import type { Database } from '../database.ts'
import type { Iterations } from '../iterations.ts'
import type { Marks } from '../marks.ts'
import type { Queues } from '../queues.ts'
import { sql } from '../sql.generated.ts'
import { Backlog } from './backlog.ts'
import { type Book, openBook, termsOf } from './book.ts'
import {
  ELSEWHERE,
  type EventState,
  eventsOf,
  FRESH,
  HELD,
  isDropped,
  isStopped,
  PLACED,
  REJECTED,
  STATUS_CODE,
  STATUS_NAME,
  type TaskRow,
} from './row.ts'
import { callbacks, judge, moveOn } from './state.ts'
import { takeSteps } from './steps.ts'

/** Of at most 50 messages the first ones tell how it began; the oldest behind them make room. */
const KEPT_MESSAGES = 50
const FIRST_MESSAGES = 10
/** The code of rows that were cancelled with their task: nothing re-opens them in the same run. */
export const CANCELLED = 'cancelled'

export class Ledger {
  readonly #db: Database
  readonly #queues: Queues
  readonly #iterations: Iterations
  readonly #marks: Marks
  readonly #backlog: Backlog
  readonly #now: number
  readonly #books = new Map<string, Book | undefined>()

  constructor(db: Database, features: { queues: Queues; iterations: Iterations; marks: Marks }, now: number) {
    this.#db = db
    this.#queues = features.queues
    this.#iterations = features.iterations
    this.#marks = features.marks
    this.#backlog = new Backlog(db)
    this.#now = now
  }

  /** Undefined: there is no such task. */
  book(id: string): Book | undefined {
    if (!this.#books.has(id)) {
      const task = this.#db.first<TaskRow>(sql.task.load, id)
      this.#books.set(id, task && openBook(task))
    }
    return this.#books.get(id)
  }

  event(book: Book, index: number): EventState | undefined {
    if (!book.events.has(index)) this.load(book, [index])
    return book.events.get(index)
  }

  /** Reads many events at once, which is much cheaper than one by one. */
  load(book: Book, indexes: readonly number[]): void {
    if (indexes.length === 0) return
    for (const event of eventsOf(this.#db, book.task.key, indexes)) {
      if (event.place === FRESH && event.idx < book.task.next) event.place = PLACED
      book.events.set(event.idx, event)
    }
  }

  /** Makes the changes that need no look at their rows; answers which. */
  advance(effects: readonly Effect[]): ReadonlySet<Effect> {
    return takeSteps(this.#db, (id) => this.book(id), effects, this.#now)
  }

  /** Reads the events of many changes, but for those that are made already. */
  prepare(effects: Iterable<Effect>, made?: ReadonlySet<Effect>): void {
    const wanted = new Map<Book, number[]>()
    for (const effect of effects) {
      if (effect.kind !== 'event' || made?.has(effect)) continue
      const { id, index } = splitTaskJid(effect.jid)
      const book = this.book(id)
      if (!book || book.events.has(index)) continue
      const indexes = wanted.get(book)
      if (indexes) indexes.push(index)
      else wanted.set(book, [index])
    }
    for (const [book, indexes] of wanted) this.load(book, indexes)
  }

  /** Changes that come with a job which stays out of the queue, or is done; or with none. Not those `made` already. */
  apply(effects: readonly Effect[] = [], made?: ReadonlySet<Effect>): StartAnswer {
    let answer: StartAnswer = 'ok'
    for (const effect of effects) {
      if (!made?.has(effect) && this.#change(effect) === 'superseded') answer = 'superseded'
    }
    return answer
  }

  /** The same for a job on its way into a queue; false when its task holds it back, and then it is kept here. */
  admit(text: string, effects: readonly Effect[] = [], made?: ReadonlySet<Effect>): boolean {
    let admitted = true
    for (const effect of effects) {
      if (made?.has(effect)) continue
      // A text that has been overtaken goes on its way and is settled unrun: it has no place.
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

  /** A row that was just added, or was there: its status is counted, and its reason. */
  count({ task, reasons }: Book, status: EventStatus, code: string | null, difference: 1 | -1): void {
    task[status] += difference
    if (STATUS_CODE[status] < REJECTED) return
    const reason = `${STATUS_CODE[status]}${code ?? ''}`
    reasons.set(reason, (reasons.get(reason) ?? 0) + difference)
  }

  /** Changes a row's status and what follows from that. */
  become(book: Book, event: EventState, status: EventStatus, code: string | null): void {
    this.count(book, STATUS_NAME[event.status] as EventStatus, event.code, -1)
    this.count(book, status, code, 1)
    if (status === 'failed' || status === 'error') this.rejected(book, event.run)
    event.status = STATUS_CODE[status]
    event.code = code
    // Whatever it became, its job is not in the backlog any more.
    if (status !== 'enqueued' && isHeld(event)) this.free(book, event)
    book.task.progress_at = this.#now
    book.changed.add(event)
  }

  /** Notes that a row of that run became failed or error. */
  rejected(book: Book, run: number): void {
    if (!book.rejectedRuns.includes(run)) book.rejectedRuns = [...book.rejectedRuns, run]
  }

  /** A row's place goes to the next. */
  free(book: Book, event: EventState): void {
    if (event.place === PLACED) book.task.placed--
    if (isHeld(event)) book.task.held--
    if (event.place === HELD) this.#backlog.remove(book.task, event.idx)
    event.place = ELSEWHERE
    book.changed.add(event)
  }

  /** A row waits for another run, behind all others. */
  hold(book: Book, event: EventState): void {
    this.free(book, event)
    this.#backlog.putBack(book.task, event.idx)
    event.place = HELD
  }

  /** With its task: nothing but another run brings it back. */
  cancel(book: Book, event: EventState): void {
    this.become(book, event, 'cancelled', CANCELLED)
    this.free(book, event)
    event.finished_at = this.#now
    event.drop = book.task.keep_params === 'none'
  }

  /** Nobody adds rows any more, and none comes into the queue. */
  stop({ task }: Book): void {
    task.state = 'cancelling'
    task.paused = 0
    task.adders = 0
    task.broken = 0
    task.swept = 0
    this.#db.run(sql.adder.endAll, task.key)
  }

  /** Fills free places, moves the states on, and writes what was touched. */
  close(): void {
    for (const book of this.#books.values()) {
      if (!book) continue
      const { task } = book
      if (judge(task, book, this.#now)) this.stop(book)
      // The rows that come next are read from their table: there one of them that just ended has to be seen.
      if (Array.from(book.changed).some(({ idx }) => idx >= task.next)) this.#saveEvents(book)
      this.#refill(book)
      moveOn(task, this.#now)
      const calls = callbacks(task, book, this.#now)
      this.#save(book)
      for (const { queue, text } of calls) this.#queues.pushBack(queue, [text])
    }
    this.#books.clear()
  }

  #find(jid: string): { book: Book; event: EventState } | undefined {
    const { id, index } = splitTaskJid(jid)
    const book = this.book(id)
    const event = book && this.event(book, index)
    return event && { book, event }
  }

  #change(effect: Effect): StartAnswer {
    if (effect.kind === 'clear-cancellation') {
      this.#marks.end(effect)
      return 'ok'
    }
    if (effect.kind === 'iteration') {
      this.#iterations.change(effect, this.#now)
      return 'ok'
    }
    if (effect.kind === 'release-lock') {
      this.#db.run(sql.lock.release, effect.lock, effect.holder)
      return 'ok'
    }
    const found = this.#find(effect.jid)
    // A deleted task has no say any more: its jobs run as if they had never belonged to it.
    if (!found) return 'ok'
    const { book, event } = found
    const step = effect.attempt * 2 + (effect.status === 'working' ? 0 : 1)
    if (effect.run < event.run || (effect.run === event.run && step < event.step)) return 'superseded'
    if (effect.run === event.run && isCancelledWithTask(event)) return 'superseded'

    const same = effect.run === event.run && step === event.step
    const repeated = same && STATUS_CODE[effect.status] === event.status
    if (isStopped(book.task) && isHalted(effect, repeated)) {
      if (event.status < STATUS_CODE.finished) {
        if (effect.status === 'enqueued') this.#reach(event, effect, step)
        this.cancel(book, event)
        this.addMessages(book.task.key, event.idx, effect.messages)
      }
      return 'superseded'
    }
    this.#reach(event, effect, step)
    const code = effect.status === 'working' ? null : effect.code?.toWellFormed() || null
    const { rejectedRuns } = book
    this.become(book, event, effect.status, code)
    // What was told before stops nothing now.
    if (repeated) book.rejectedRuns = rejectedRuns
    // A row that waits here by now did not leave from here.
    if (effect.window === 'leave' && event.place === PLACED) this.free(book, event)
    if (effect.status !== 'working') {
      event.result = effect.result ?? null
      event.drop = isDropped(book.task, effect.status)
    }
    if (!repeated) this.addMessages(book.task.key, event.idx, effect.messages)
    return 'ok'
  }

  /** How far an event has come, and when. */
  #reach(event: EventState, effect: EventEffect, step: number): void {
    event.run = effect.run
    event.step = step
    if (effect.status === 'working') {
      event.started_at = effect.at
      event.finished_at = null
    } else {
      event.started_at = effect.startedAt ?? event.started_at
      event.finished_at = effect.status === 'enqueued' ? null : effect.at
    }
  }

  #enter(effect: EventEffect, text: string): boolean {
    const found = this.#find(effect.jid)
    if (!found || found.event.place === PLACED) return true
    const { book, event } = found
    if (isHeld(event)) return false
    const { task } = book
    const room = task.placed < task.window && !task.paused
    if (room) task.placed++
    else this.#backlog.putFront(task, event.idx, text)
    event.place = room ? PLACED : HELD
    book.changed.add(event)
    return room
  }

  #refill(book: Book): void {
    const { task } = book
    if (task.paused || isStopped(task)) return
    const room = Math.min(task.window - task.placed, task.held)
    if (room <= 0 || this.#backlog.issueBare(task, room, this.#now, this.#queues)) return
    const issued = this.#backlog.issue(task, room, this.#now, (index) => book.events.get(index)?.run)
    const returned = issued.filter(({ isFresh }) => !isFresh).map(({ idx }) => idx)
    this.load(
      book,
      returned.filter((idx) => !book.events.has(idx)),
    )
    for (const idx of returned) {
      const event = book.events.get(idx) as EventState
      event.place = PLACED
      book.changed.add(event)
    }
    const others = issued.flatMap((job) => job.others)
    this.load(
      book,
      others.filter((idx) => !book.events.has(idx)),
    )
    for (const idx of others) {
      const event = book.events.get(idx) as EventState
      event.place = ELSEWHERE
      book.changed.add(event)
    }
    task.held -= issued.length + others.length
    task.placed += issued.length
    this.#queues.pushBack(
      task.queue,
      issued.map(({ text }) => text),
    )
  }

  #saveEvents({ task, changed }: Book): void {
    if (changed.size === 0) return
    const rows = Array.from(changed, (event) => [
      event.idx,
      event.status,
      event.place,
      event.run,
      event.step,
      event.code,
      event.started_at,
      event.finished_at,
      event.result,
      event.drop ? 1 : 0,
    ])
    this.#db.run(sql.event.save, task.key, JSON.stringify(rows))
    changed.clear()
  }

  #save(book: Book): void {
    const { task, reasons, terms } = book
    this.#saveEvents(book)
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
      task.held,
      task.placed,
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

function isHeld({ place }: EventState): boolean {
  return place === HELD || place === FRESH
}

function isCancelledWithTask({ status, code }: EventState): boolean {
  return status === STATUS_CODE.cancelled && code === CANCELLED
}

/** Of a task that is stopped no row begins, and none waits to begin. */
function isHalted({ status }: EventEffect, repeated: boolean): boolean {
  return status === 'enqueued' || (status === 'working' && !repeated)
}
