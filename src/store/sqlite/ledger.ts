/**
 * The effects of one operation: marks go, and the books of the tasks are kept – events change, counts follow, freed places
 * are filled again. Tasks are read when first touched and written once, by `close`.
 */

import { completeRow, splitTaskJid } from '../../job/payload.ts'
import type { Effect, EventEffect, EventStatus, Message, StartAnswer, TaskState } from '../contract.ts'
import type { Database } from './database.ts'
import type { Iterations } from './iterations.ts'
import type { Marks } from './marks.ts'
import type { Queues } from './queues.ts'
import { sql } from './sql.generated.ts'

export const STATUS_CODE: Record<EventStatus, number> = {
  enqueued: 0,
  working: 1,
  finished: 2,
  failed: 3,
  error: 4,
  cancelled: 5,
}
export const STATUS_NAME = Object.keys(STATUS_CODE) as EventStatus[]

/** Where an event's job is, as `event.place` has it. */
export const HELD = 0
export const PLACED = 1
export const ELSEWHERE = 2

export interface TaskRow {
  key: number
  id: string
  name: string
  job: string
  queue: string
  template: string
  window: number
  keep_params: 'rejected' | 'all' | 'none'
  meta: string
  adder: string
  state: TaskState
  run: number
  total: number
  next: number
  held: number
  placed: number
  enqueued: number
  working: number
  finished: number
  failed: number
  error: number
  cancelled: number
  created_at: number
  progress_at: number | null
  finished_at: number | null
}

/** Of at most 50 messages the first ones tell how it began; the oldest behind them make room. */
const KEPT_MESSAGES = 50
const FIRST_MESSAGES = 10

interface EventState {
  idx: number
  status: number
  place: number
  run: number
  step: number
  code: string | null
  started_at: number | null
  finished_at: number | null
  result: string | null
  /** The arguments are not needed any more. */
  drop?: boolean
}

/** A task and those of its events that this operation touches. */
interface Book {
  task: TaskRow
  events: Map<number, EventState>
  changed: Set<EventState>
}

export class Ledger {
  readonly #db: Database
  readonly #queues: Queues
  readonly #iterations: Iterations
  readonly #marks: Marks
  readonly #now: number
  readonly #books = new Map<string, Book | undefined>()

  constructor(db: Database, features: { queues: Queues; iterations: Iterations; marks: Marks }, now: number) {
    this.#db = db
    this.#queues = features.queues
    this.#iterations = features.iterations
    this.#marks = features.marks
    this.#now = now
  }

  task(id: string): TaskRow | undefined {
    return this.#book(id)?.task
  }

  /** Reads the events of many changes at once, which is much cheaper than one by one. */
  prepare(effects: Iterable<Effect>): void {
    const wanted = new Map<Book, number[]>()
    for (const effect of effects) {
      if (effect.kind !== 'event') continue
      const { id, index } = splitTaskJid(effect.jid)
      const book = this.#book(id)
      if (!book || book.events.has(index)) continue
      const indexes = wanted.get(book)
      if (indexes) indexes.push(index)
      else wanted.set(book, [index])
    }
    for (const [book, indexes] of wanted) this.#loadEvents(book, indexes)
  }

  /** Changes that come with a job which stays out of the queue, or is done. */
  apply(effects: readonly Effect[] = []): StartAnswer {
    let answer: StartAnswer = 'ok'
    for (const effect of effects) if (this.#change(effect) === 'superseded') answer = 'superseded'
    return answer
  }

  /** The same for a job on its way into a queue; false when its task holds it back, and then it is kept here. */
  admit(text: string, effects: readonly Effect[] = []): boolean {
    let admitted = true
    for (const effect of effects) {
      // A text that has been overtaken goes on its way and is settled unrun: it has no place.
      if (this.#change(effect) === 'superseded') continue
      if (effect.kind === 'event' && effect.place === 'enter') admitted = this.#enter(effect, text) && admitted
    }
    return admitted
  }

  addMessages(key: number, index: number, messages: readonly Message[] = []): void {
    for (const { at, code, params } of messages) {
      const count = this.#db.first<{ kept: number; last: number }>(sql.task.messageCount, key, index)
      if (count && count.kept >= KEPT_MESSAGES) this.#db.run(sql.task.dropMiddle, key, index, FIRST_MESSAGES)
      this.#db.run(sql.task.addMessage, key, index, (count?.last ?? 0) + 1, at, code, JSON.stringify(params))
    }
  }

  /** Fills free places, moves the states on, and writes what was touched. */
  close(): void {
    for (const book of this.#books.values()) {
      if (!book) continue
      this.#refill(book)
      this.#moveOn(book.task)
      this.#save(book)
    }
    this.#books.clear()
  }

  #book(id: string): Book | undefined {
    if (!this.#books.has(id)) {
      const task = this.#db.first<TaskRow>(sql.task.load, id)
      this.#books.set(id, task && { task, events: new Map(), changed: new Set() })
    }
    return this.#books.get(id)
  }

  #loadEvents(book: Book, indexes: number[]): void {
    const events = this.#db.all<EventState>(sql.task.loadEvents, book.task.key, JSON.stringify(indexes))
    for (const event of events) book.events.set(event.idx, event)
  }

  #find(jid: string): { book: Book; event: EventState } | undefined {
    const { id, index } = splitTaskJid(jid)
    const book = this.#book(id)
    if (!book) return undefined
    if (!book.events.has(index)) this.#loadEvents(book, [index])
    const event = book.events.get(index)
    return event && { book, event }
  }

  #change(effect: Effect): StartAnswer {
    if (effect.kind === 'unmark') {
      this.#marks.end(effect)
      return 'ok'
    }
    if (effect.kind === 'iteration') {
      this.#iterations.change(effect, this.#now)
      return 'ok'
    }
    if (effect.kind === 'unlock') {
      this.#db.run(sql.lock.release, effect.lock, effect.holder)
      return 'ok'
    }
    const found = this.#find(effect.jid)
    // A deleted task has no say any more: its jobs run as if they had never belonged to it.
    if (!found) return 'ok'
    const { book, event } = found
    const { task } = book
    const step = effect.attempt * 2 + (effect.status === 'working' ? 0 : 1)
    if (effect.run < event.run || (effect.run === event.run && step < event.step)) return 'superseded'

    const repeated = effect.run === event.run && step === event.step && STATUS_CODE[effect.status] === event.status
    task[STATUS_NAME[event.status] as EventStatus]--
    task[effect.status]++
    task.progress_at = this.#now
    event.status = STATUS_CODE[effect.status]
    event.run = effect.run
    event.step = step
    if (effect.place === 'leave') {
      if (event.place === PLACED) task.placed--
      event.place = ELSEWHERE
    }
    if (effect.status === 'working') {
      event.started_at = effect.at
      event.finished_at = null
      event.code = null
    } else {
      event.started_at = effect.startedAt ?? event.started_at
      event.finished_at = effect.status === 'enqueued' ? null : effect.at
      event.code = effect.code?.toWellFormed() ?? null
      event.result = effect.result ?? null
      event.drop = isDropped(task, effect.status)
    }
    book.changed.add(event)
    if (!repeated) this.addMessages(task.key, event.idx, effect.messages)
    return 'ok'
  }

  #enter(effect: EventEffect, text: string): boolean {
    const found = this.#find(effect.jid)
    if (!found || found.event.place === PLACED) return true
    const { book, event } = found
    if (event.place === HELD) return false
    const { task } = book
    const room = task.placed < task.window && task.state !== 'paused'
    if (room) {
      task.placed++
    } else {
      this.#db.run(sql.task.holdFront, task.key, event.idx, text.toWellFormed())
      task.held++
    }
    event.place = room ? PLACED : HELD
    book.changed.add(event)
    return room
  }

  #refill(book: Book): void {
    const { task } = book
    if (task.state === 'paused' || task.state === 'cancelling' || task.state === 'cancelled') return
    let room = Math.min(task.window - task.placed, task.held)
    if (room <= 0) return
    const returned = this.#db.all<{ place: number; idx: number; text: string }>(sql.task.firstHeld, task.key, room)
    const texts: string[] = []
    for (const { place, idx, text } of returned) {
      this.#db.run(sql.task.unhold, task.key, place)
      if (!book.events.has(idx)) this.#loadEvents(book, [idx])
      const event = book.events.get(idx) as EventState
      event.place = PLACED
      book.changed.add(event)
      texts.push(text)
    }
    room -= returned.length
    if (room > 0) {
      const rows = this.#db.all<{ idx: number; run: number; args: string }>(sql.task.waiting, task.key, task.next, room)
      for (const { idx, run, args } of rows) {
        texts.push(completeRow({ template: task.template, args, task: task.id, index: idx, run, now: this.#now }))
        task.next = idx + 1
      }
    }
    task.held -= texts.length
    task.placed += texts.length
    this.#queues.pushBack(task.queue, texts)
  }

  #moveOn(task: TaskRow): void {
    const open = task.enqueued + task.working
    if (task.state === 'running' && open === 0) {
      task.state = 'done'
      task.finished_at = this.#now
    } else if (task.state === 'done' && open > 0) {
      task.state = 'running'
      task.finished_at = null
    }
  }

  #save({ task, changed }: Book): void {
    if (changed.size > 0) {
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
      this.#db.run(sql.task.saveEvents, task.key, JSON.stringify(rows))
    }
    this.#db.run(
      sql.task.save,
      task.state,
      task.run,
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
      task.key,
    )
  }
}

function isDropped(task: TaskRow, status: EventStatus): boolean {
  if (status === 'enqueued' || task.keep_params === 'all') return false
  return task.keep_params === 'none' || status === 'finished'
}
