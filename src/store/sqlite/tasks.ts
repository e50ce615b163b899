/** Tracked tasks: adding rows, and looking at what became of them. */

import { HighkiqError } from '../../job/errors.ts'
import { splitTaskJid, taskJid } from '../../job/payload.ts'
import {
  type AddAnswer,
  EVENT_STATUSES,
  type EventQuery,
  type EventRecord,
  type EventStatus,
  type Message,
  type NewRow,
  type TaskRecord,
  type TaskSpec,
} from '../contract.ts'
import type { Database } from './database.ts'
import { ELSEWHERE, type Ledger, PLACED, STATUS_CODE, STATUS_NAME, type TaskRow } from './ledger.ts'
import { sql } from './sql.generated.ts'

interface EventRow {
  idx: number
  status: number
  run: number
  step: number
  number: number | null
  code: string | null
  started_at: number | null
  finished_at: number | null
  args: string | null
  source: string | null
  result: string | null
}

export class Tasks {
  readonly #db: Database

  constructor(db: Database) {
    this.#db = db
  }

  create(task: TaskSpec): boolean {
    const row = this.#db.first<{ key: number }>(
      sql.task.create,
      task.id,
      task.name,
      task.job,
      task.queue,
      task.template,
      task.window,
      task.keepParams,
      task.meta,
      task.adder,
      task.createdAt,
    )
    if (row) this.#db.run(sql.task.enterAdder, row.key, task.adder)
    return row !== undefined
  }

  add(ledger: Ledger, id: string, adder: string, from: number, rows: readonly NewRow[], now: number): AddAnswer {
    const refusal = this.#refusal(ledger, id, adder)
    if (refusal) return refusal
    const task = ledger.task(id) as TaskRow
    const cursor = this.#cursor(task.key, adder)
    if (from + rows.length <= cursor) return { ok: true, total: task.total }
    if (from !== cursor) return { ok: false, reason: 'gap', cursor }
    const events = rows.map((row) => this.#newEvent(ledger, task, row, now))
    this.#db.run(sql.task.addEvents, task.key, JSON.stringify(events))
    this.#db.run(sql.task.advance, cursor + rows.length, task.key, adder)
    return { ok: true, total: task.total }
  }

  endAdding(ledger: Ledger, id: string, adder: string, interrupted: boolean): AddAnswer {
    const refusal = this.#refusal(ledger, id, adder)
    // Said twice: the first one counted.
    if (refusal?.reason === 'ended') return { ok: true, total: ledger.task(id)?.total ?? 0 }
    if (refusal) return refusal
    const task = ledger.task(id) as TaskRow
    if (task.state === 'adding') task.state = interrupted ? 'interrupted' : 'running'
    return { ok: true, total: task.total }
  }

  /** Whoever was adding rows is dead. */
  interrupt(adder: string): void {
    this.#db.run(sql.task.interrupt, adder)
  }

  find(id: string): TaskRecord | null {
    const row = this.#db.first<TaskRow>(sql.task.load, id)
    return row ? recordOf(row) : null
  }

  list({ before, limit }: { before?: { createdAt: number; id: string }; limit: number }): TaskRecord[] {
    const rows = before
      ? this.#db.all<TaskRow>(sql.task.older, before.createdAt, before.id, limit)
      : this.#db.all<TaskRow>(sql.task.newest, limit)
    return rows.map(recordOf)
  }

  events(id: string, { status, after = -1, limit }: EventQuery): EventRecord[] {
    const task = this.#db.first<TaskRow>(sql.task.load, id)
    if (!task) return []
    const rows = status
      ? this.#eventsOf(task.key, status, after, limit)
      : this.#db.all<EventRow>(sql.task.events, task.key, after, limit)
    return rows.map((row) => this.#eventRecord(task, row))
  }

  event(jid: string): EventRecord | null {
    const { id, index } = splitTaskJid(jid)
    const task = this.#db.first<TaskRow>(sql.task.load, id)
    const row = task && this.#db.first<EventRow>(sql.task.event, task.key, index)
    return task && row ? this.#eventRecord(task, row) : null
  }

  message(ledger: Ledger, jid: string, message: Message): void {
    const { id, index } = splitTaskJid(jid)
    const task = ledger.task(id)
    if (!task || !this.#db.first(sql.task.event, task.key, index)) {
      throw new HighkiqError('UNKNOWN_TASK', `no event ${jid}: its task was deleted, or it was never tracked`)
    }
    ledger.addMessages(task.key, index, [message])
  }

  #refusal(ledger: Ledger, id: string, adder: string) {
    const task = ledger.task(id)
    if (!task) return { ok: false, reason: 'unknown', cursor: 0 } as const
    const cursor = this.#cursor(task.key, adder)
    if (task.adder !== adder) return { ok: false, reason: 'taken-over', cursor } as const
    const adding = task.state === 'adding' || task.state === 'paused'
    return adding ? undefined : ({ ok: false, reason: 'ended', cursor } as const)
  }

  #cursor(key: number, adder: string): number {
    return this.#db.first<{ cursor: number }>(sql.task.adder, key, adder)?.cursor ?? 0
  }

  /** Counts a row and gives its event, in the order of `addEvents`' columns. */
  #newEvent(ledger: Ledger, task: TaskRow, { args, number, source, rejected }: NewRow, now: number): unknown[] {
    const index = task.total++
    const status: EventStatus = rejected?.status ?? 'enqueued'
    task[status]++
    if (!rejected) task.held++
    ledger.addMessages(task.key, index, rejected?.messages)
    const dropped = rejected && task.keep_params === 'none'
    return [
      index,
      STATUS_CODE[status],
      rejected ? ELSEWHERE : PLACED,
      task.run,
      1,
      number ?? null,
      rejected?.code?.toWellFormed() ?? null,
      rejected ? now : null,
      dropped ? null : args,
      dropped ? null : (source ?? null),
    ]
  }

  #eventsOf(key: number, status: readonly EventStatus[], after: number, limit: number): EventRow[] {
    return status
      .flatMap((name) => {
        const rejected = STATUS_CODE[name] >= 3
        const page = rejected ? sql.task.rejectedOf : sql.task.eventsOf
        return this.#db.all<EventRow>(page, key, STATUS_CODE[name], after, limit)
      })
      .sort((a, b) => a.idx - b.idx)
      .slice(0, limit)
  }

  #eventRecord(task: TaskRow, row: EventRow): EventRecord {
    return {
      index: row.idx,
      jid: taskJid(task.id, row.idx),
      number: row.number,
      status: STATUS_NAME[row.status] as EventStatus,
      run: row.run,
      attempts: row.step >> 1,
      args: row.args,
      source: row.source,
      code: row.code,
      startedAt: row.started_at,
      finishedAt: row.finished_at,
      result: row.result,
      messages: this.#messages(task.key, row.idx),
    }
  }

  /** A jump in the numbers is where messages were dropped: it is told in their place. */
  #messages(key: number, index: number): Message[] {
    const rows = this.#db.all<{ n: number; at: number; code: string; params: string }>(sql.task.messages, key, index)
    return rows.flatMap(({ n, at, code, params }, i) => {
      const message = { at, code, params: JSON.parse(params) as Record<string, unknown> }
      const missing = n - (rows[i - 1]?.n ?? 0) - 1
      return missing > 0 ? [{ at, code: 'dropped', params: { messages: missing } }, message] : [message]
    })
  }
}

function recordOf(row: TaskRow): TaskRecord {
  const counts = {} as Record<EventStatus, number>
  for (const status of EVENT_STATUSES) counts[status] = row[status]
  return {
    id: row.id,
    name: row.name,
    job: row.job,
    queue: row.queue,
    state: row.state,
    run: row.run,
    total: row.total,
    held: row.held,
    placed: row.placed,
    window: row.window,
    counts,
    meta: row.meta,
    createdAt: row.created_at,
    progressAt: row.progress_at,
    finishedAt: row.finished_at,
  }
}
