/**
 * The books of the tasks inside one operation: events change, counts follow, freed places are filled again. Tasks are
 * read when first touched and written once, by `close`.
 */

import { completeRow, splitTaskJid } from '../../job/payload.ts'
import type { Effect, EventEffect, EventStatus, Message, StartAnswer, TaskState } from '../contract.ts'
import type { Database } from './database.ts'
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

export class Ledger {
  readonly #db: Database
  readonly #queues: Queues
  readonly #now: number
  readonly #tasks = new Map<string, TaskRow | undefined>()

  constructor(db: Database, queues: Queues, now: number) {
    this.#db = db
    this.#queues = queues
    this.#now = now
  }

  task(id: string): TaskRow | undefined {
    if (!this.#tasks.has(id)) this.#tasks.set(id, this.#db.first<TaskRow>(sql.task.load, id))
    return this.#tasks.get(id)
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
      this.#change(effect)
      if (effect.place === 'enter') admitted = this.#enter(effect, text) && admitted
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

  /** Fills free places, moves the states on, and writes the tasks that were touched. */
  close(): void {
    for (const task of this.#tasks.values()) {
      if (!task) continue
      this.#refill(task)
      this.#moveOn(task)
      this.#save(task)
    }
    this.#tasks.clear()
  }

  #change(effect: EventEffect): StartAnswer {
    const { id, index } = splitTaskJid(effect.jid)
    const task = this.task(id)
    // A deleted task has no say any more: its jobs run as if they had never belonged to it.
    if (!task) return 'ok'
    const event = this.#db.first<{ status: number; place: number; run: number; step: number }>(
      sql.task.eventState,
      task.key,
      index,
    )
    if (!event) return 'ok'
    const step = effect.attempt * 2 + (effect.status === 'working' ? 0 : 1)
    if (effect.run < event.run || (effect.run === event.run && step < event.step)) return 'superseded'

    const before = STATUS_NAME[event.status] as EventStatus
    if (before !== effect.status) {
      task[before]--
      task[effect.status]++
    }
    let { place } = event
    if (effect.place === 'leave') {
      if (place === PLACED) task.placed--
      place = ELSEWHERE
    }
    const status = STATUS_CODE[effect.status]
    if (effect.status === 'working') {
      this.#db.run(sql.task.begin, status, place, effect.run, step, effect.at, task.key, index)
    } else {
      const final = effect.status !== 'enqueued'
      const drop =
        final &&
        (task.keep_params === 'none' || (task.keep_params === 'rejected' && effect.status === 'finished'))
      this.#db.run(
        sql.task.change,
        status,
        place,
        effect.run,
        step,
        effect.startedAt ?? null,
        final ? effect.at : null,
        effect.code ?? null,
        effect.result ?? null,
        drop ? 1 : 0,
        task.key,
        index,
      )
    }
    this.addMessages(task.key, index, effect.messages)
    task.progress_at = this.#now
    return 'ok'
  }

  #enter(effect: EventEffect, text: string): boolean {
    const { id, index } = splitTaskJid(effect.jid)
    const task = this.task(id)
    const event = task && this.#db.first<{ place: number }>(sql.task.eventState, task.key, index)
    if (!task || !event || event.place === PLACED) return true
    const room = task.placed < task.window && task.state !== 'paused'
    if (room) {
      task.placed++
    } else {
      this.#db.run(sql.task.holdFront, task.key, index, text)
      task.held++
    }
    this.#db.run(sql.task.place, room ? PLACED : HELD, task.key, index)
    return room
  }

  #refill(task: TaskRow): void {
    if (task.state === 'paused' || task.state === 'cancelling' || task.state === 'cancelled') return
    const texts: string[] = []
    let room = Math.min(task.window - task.placed, task.held)
    if (room <= 0) return
    const returned = this.#db.all<{ place: number; idx: number; text: string }>(sql.task.firstHeld, task.key, room)
    for (const { place, idx, text } of returned) {
      this.#db.run(sql.task.unhold, task.key, place)
      this.#db.run(sql.task.place, PLACED, task.key, idx)
      texts.push(text)
    }
    room -= returned.length
    if (room > 0) {
      const rows = this.#db.all<{ idx: number; run: number; args: string }>(
        sql.task.waiting,
        task.key,
        task.next,
        room,
      )
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

  #save(task: TaskRow): void {
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
