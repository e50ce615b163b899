/** The producers of a task, their cursors, and the rows they add. */

import type { AddAnswer, EventStatus, NewRow } from '../../contract.ts'
import { type Chunk, type Producer, ROW_NAME, refusal, rowName, UNKNOWN_TASK } from '../../sql/producer.ts'
import {
  BROKEN,
  ELSEWHERE,
  ENDED,
  hasEnded,
  isBare,
  isStopped,
  NEVER_QUEUED,
  OPEN,
  REPLACED,
  STATUS_CODE,
} from '../../sql/task-row.ts'
import { Tables } from '../file/database.ts'
import type { Ledgers } from '../ledgers/ledgers.ts'
import type { TaskLedger } from '../ledgers/task-ledger.ts'
import type { TaskRow } from '../ledgers/task-row.ts'
import { sql } from '../sql.generated.ts'

export class Adding extends Tables {
  add(ledgers: Ledgers, ledger: TaskLedger, { producer: name, from, rows, now, last }: Chunk): AddAnswer {
    const { task } = ledger
    const row = ROW_NAME.exec(name)
    const event = row && ledgers.event(ledger, Number(row[1]))
    if (row && !event) return UNKNOWN_TASK
    const stored = row ? rowName(Number(row[1])) : name
    const producer = this.#find(task, stored)
    const cursor = producer?.cursor ?? 0
    const isReplaced = row && event ? event.run > Number(row[2]) : !producer || producer.state === REPLACED
    if (isReplaced) return { ok: false, reason: 'taken-over', cursor }
    if (from + rows.length <= cursor) return { ok: true, total: task.total }
    if (row && (hasEnded(task) || isStopped(task))) return { ok: false, reason: 'ended', cursor }
    if (!row && producer?.state !== OPEN) return refusal(producer)
    if (from !== cursor) return { ok: false, reason: 'gap', cursor }
    if (rows.every(isBare)) {
      const texts = JSON.stringify(rows.map(({ args }) => args))
      this.db.run(sql.event.addBare, task.key, task.total, task.run, texts)
      task.total += rows.length
      task.enqueued += rows.length
      task.backlog += rows.length
    } else {
      const events = rows.map((one) => this.#newEvent(ledgers, ledger, one, now))
      this.db.run(sql.event.add, task.key, JSON.stringify(events))
    }
    if (rows.some(({ job }) => job !== undefined)) task.mixed = 1
    if (last !== undefined) this.db.run(sql.task.keepLastRow, last, task.key)
    this.db.run(sql.producer.advance, task.key, stored, cursor + rows.length)
    return { ok: true, total: task.total }
  }

  open({ task }: TaskLedger, name: string, instead: string | undefined): AddAnswer {
    const mine = this.#find(task, name)
    if (mine) return mine.state === OPEN ? { ok: true, total: task.total } : refusal(mine)
    if (hasEnded(task) || isStopped(task)) return { ok: false, reason: 'ended', cursor: 0 }
    let cursor = 0
    if (instead !== undefined) {
      const other = this.#find(task, instead)
      if (!other || other.state === REPLACED) return { ok: false, reason: 'taken-over', cursor: other?.cursor ?? 0 }
      cursor = other.cursor
      if (other.state === OPEN) task.producers--
      if (other.state === BROKEN) task.broken--
      if (other.state === BROKEN && !task.paused) task.reason = null
      this.db.run(sql.producer.setState, REPLACED, task.key, instead)
      if (instead === task.producer) {
        task.producer = name
        this.db.run(sql.task.replaceProducer, name, task.key)
      }
    }
    this.addProducer(task, name, { cursor })
    return { ok: true, total: task.total }
  }

  /** Opens adding for a producer; `retry`: it puts rows back for another run. */
  addProducer(task: TaskRow, name: string, { cursor = 0, retry = false } = {}): void {
    this.db.run(sql.producer.add, task.key, name, cursor, OPEN, retry ? 1 : 0)
    task.producers++
  }

  isOpen(task: TaskRow, name: string): boolean {
    return this.#find(task, name)?.state === OPEN
  }

  end(ledger: TaskLedger, name: string, interrupted: boolean): AddAnswer {
    const { task } = ledger
    const producer = this.#find(task, name)
    // The task of a lost producer stays interrupted.
    if (!producer || producer.state === REPLACED || (producer.state === BROKEN && !interrupted))
      return refusal(producer)
    // A repeated call changes nothing.
    if (producer.state === OPEN) this.#close(ledger, producer, interrupted)
    return { ok: true, total: task.total }
  }

  /** Ends adding for a dead producer; its tasks become `interrupted`. */
  interrupt(ledgers: Ledgers, name: string): void {
    for (const { id } of this.db.all<{ id: string }>(sql.producer.open, name)) {
      const ledger = ledgers.of(id)
      const producer = ledger && this.#find(ledger.task, name)
      if (producer) this.#close(ledger, producer, true)
    }
  }

  #close(ledger: TaskLedger, { name, retry }: Producer, interrupted: boolean): void {
    const { task } = ledger
    const broken = interrupted && !retry
    this.db.run(sql.producer.setState, broken ? BROKEN : ENDED, task.key, name)
    task.producers--
    if (broken) task.broken++
    if (task.producers === 0 && !retry) ledger.addingEnded = true
  }

  #find(task: TaskRow, name: string): Producer | undefined {
    return this.db.first<Producer>(sql.producer.find, task.key, name)
  }

  /** Counts a row and returns its event, in the order of the columns of `add`. */
  #newEvent(
    ledgers: Ledgers,
    ledger: TaskLedger,
    { args, number, source, job, rejected }: NewRow,
    now: number,
  ): unknown[] {
    const { task } = ledger
    const index = task.total++
    const status: EventStatus = rejected?.status ?? 'enqueued'
    const code = rejected?.code?.toWellFormed() || null
    ledgers.count(ledger, status, code, 1)
    if (rejected) task.ended_before++
    else task.backlog++
    if (rejected?.status === 'failed') ledgers.noteRejected(ledger, task.run)
    ledgers.addMessages(task.key, index, rejected?.messages)
    const dropped = rejected && task.keep_args === 'none'
    return [
      index,
      STATUS_CODE[status],
      rejected ? ELSEWHERE : NEVER_QUEUED,
      task.run,
      1,
      number ?? null,
      job ?? null,
      code,
      rejected ? now : null,
      dropped ? null : args,
      dropped ? null : (source ?? null),
    ]
  }
}
