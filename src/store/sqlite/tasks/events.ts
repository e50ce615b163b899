/** Reading the events of a task. */

import { HighkiqError } from '../../../job/errors.ts'
import { splitTaskJid, taskJid } from '../../../job/payload.ts'
import {
  EVENT_STATUSES,
  type EventQuery,
  type EventRecord,
  type EventStatus,
  type Message,
  type ReasonCount,
} from '../../contract.ts'
import {
  BACKLOG,
  ELSEWHERE,
  type EventRow,
  NEVER_QUEUED,
  REJECTED,
  STATUS_CODE,
  STATUS_NAME,
} from '../../sql/task-row.ts'
import { Tables } from '../file/database.ts'
import { Deferrals } from '../ledgers/deferrals.ts'
import type { Ledgers } from '../ledgers/ledgers.ts'
import type { TaskRow } from '../ledgers/task-row.ts'
import { sql } from '../sql.generated.ts'

export class Events extends Tables {
  page(
    id: string,
    { status, code, otherCodes, after = -1, indexes, argsOnly = false, limit }: EventQuery,
  ): EventRecord[] {
    const task = this.db.first<TaskRow>(sql.task.load, id)
    // SQLite counts every code on its own, so no row has one of the other codes.
    if (!task || otherCodes) return []
    const rows = indexes
      ? this.db.all<EventRow>(sql.event.those, task.key, JSON.stringify(indexes), limit)
      : code !== undefined
        ? this.#codedOf(task.key, code, status ?? EVENT_STATUSES, after, limit)
        : status
          ? this.#eventsOf(task.key, status, after, limit)
          : this.db.all<EventRow>(sql.event.page, task.key, after, limit)
    const parked = this.db.get(Deferrals).parked(task, rows)
    return rows.map((row) => this.#recordOf(task, row, parked, !argsOnly))
  }

  find(jid: string): EventRecord | null {
    const { id, index } = splitTaskJid(jid)
    const task = this.db.first<TaskRow>(sql.task.load, id)
    const row = task && this.db.first<EventRow>(sql.event.one, task.key, index)
    return task && row ? this.#recordOf(task, row, this.db.get(Deferrals).parked(task, [row])) : null
  }

  reasons(id: string): ReasonCount[] {
    const task = this.db.first<TaskRow>(sql.task.load, id)
    if (!task) return []
    const rows = this.db.all<{ status: number; code: string; count: number }>(sql.event.reasons, task.key)
    return rows.map(({ status, code, count }) => ({
      status: STATUS_NAME[status] as EventStatus,
      code: code === '' ? null : code,
      count,
    }))
  }

  addMessage(ledgers: Ledgers, jid: string, message: Message): void {
    const { id, index } = splitTaskJid(jid)
    const ledger = ledgers.of(id)
    if (!ledger || !ledgers.event(ledger, index)) {
      throw new HighkiqError('UNKNOWN_TASK', `no event ${jid}: its task was deleted, or it was never tracked`)
    }
    ledgers.addMessages(ledger.task.key, index, [message])
  }

  #codedOf(key: number, code: string | null, status: readonly EventStatus[], after: number, limit: number): EventRow[] {
    const some = JSON.stringify(status.map((name) => STATUS_CODE[name]))
    return this.db.all<EventRow>(sql.event.codedOf, key, code?.toWellFormed() ?? null, after, some, limit)
  }

  #eventsOf(key: number, status: readonly EventStatus[], after: number, limit: number): EventRow[] {
    return status
      .flatMap((name) => {
        const page = STATUS_CODE[name] >= REJECTED ? sql.event.rejectedOf : sql.event.pageOf
        return this.db.all<EventRow>(page, key, STATUS_CODE[name], after, limit)
      })
      .sort((a, b) => a.idx - b.idx)
      .slice(0, limit)
  }

  #recordOf(task: TaskRow, row: EventRow, parked: ReadonlyMap<number, number>, withMessages = true): EventRecord {
    const deferredUntil = row.status === STATUS_CODE.working ? parked.get(row.idx) : undefined
    return {
      index: row.idx,
      jid: taskJid(task.id, row.idx),
      number: row.number,
      job: row.job,
      location: locationOf(task, row),
      status: STATUS_NAME[row.status] as EventStatus,
      run: row.run,
      attempts: row.step >> 1,
      args: row.args,
      source: row.source,
      code: row.code,
      startedAt: row.started_at,
      finishedAt: row.finished_at,
      result: row.result,
      messages: withMessages ? this.#messages(task.key, row.idx) : [],
      ...(deferredUntil === undefined ? {} : { deferredUntil }),
    }
  }

  /** Returns the messages of an event. A gap in their numbers becomes a message about the dropped ones. */
  #messages(key: number, index: number): Message[] {
    const rows = this.db.all<{ n: number; at: number; code: string; params: string }>(sql.event.messages, key, index)
    return rows.flatMap(({ n, at, code, params }, i) => {
      const message = { at, code, params: JSON.parse(params) as Record<string, unknown> }
      const missing = n - (rows[i - 1]?.n ?? 0) - 1
      return missing > 0 ? [{ at, code: 'dropped', params: { messages: missing } }, message] : [message]
    })
  }
}

function locationOf({ next }: TaskRow, { idx, location }: EventRow): EventRecord['location'] {
  if (location === ELSEWHERE) return 'elsewhere'
  return location === BACKLOG || (location === NEVER_QUEUED && idx >= next) ? 'backlog' : 'window'
}
