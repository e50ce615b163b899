/** The producers of a task, their cursors, and the rows they add. */

import type { AddAnswer, NewRow } from '../../contract.ts'
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
import { codeOf, type Ledgers } from '../ledgers/ledgers.ts'
import type { TaskLedger } from '../ledgers/task-ledger.ts'
import type { TaskRow } from '../ledgers/task-row.ts'
import { Tables } from '../server/database.ts'
import { sql } from '../sql.generated.ts'

export class Adding extends Tables {
  async add(
    ledgers: Ledgers,
    ledger: TaskLedger,
    { producer: name, from, rows, now, last }: Chunk,
  ): Promise<AddAnswer> {
    const { task } = ledger
    const row = ROW_NAME.exec(name)
    const event = row && (await ledgers.event(ledger, Number(row[1])))
    if (row && !event) return UNKNOWN_TASK
    const stored = row ? rowName(Number(row[1])) : name
    const producer = await this.#find(task, stored)
    const cursor = producer?.cursor ?? 0
    const isReplaced = row && event ? event.run > Number(row[2]) : !producer || producer.state === REPLACED
    if (isReplaced) return { ok: false, reason: 'taken-over', cursor }
    if (from + rows.length <= cursor) return { ok: true, total: task.total }
    if (row && (hasEnded(task) || isStopped(task))) return { ok: false, reason: 'ended', cursor }
    if (!row && producer?.state !== OPEN) return refusal(producer)
    if (from !== cursor) return { ok: false, reason: 'gap', cursor }
    if (rows.every(isBare)) {
      const texts = rows.map(({ args }) => args)
      await this.db.run(sql.event.addBare, task.key, task.total, task.run, texts)
      task.total += rows.length
      task.enqueued += rows.length
      task.backlog += rows.length
    } else {
      await this.#insert(task, rows, now)
      for (const one of rows) this.#count(ledgers, ledger, one)
    }
    if (rows.some(({ job }) => job !== undefined)) task.mixed = 1
    if (last !== undefined) task.last_row = last
    await this.db.run(sql.producer.advance, task.key, [stored], [cursor + rows.length])
    return { ok: true, total: task.total }
  }

  async open({ task }: TaskLedger, name: string, instead: string | undefined): Promise<AddAnswer> {
    const mine = await this.#find(task, name)
    if (mine) return mine.state === OPEN ? { ok: true, total: task.total } : refusal(mine)
    if (hasEnded(task) || isStopped(task)) return { ok: false, reason: 'ended', cursor: 0 }
    let cursor = 0
    if (instead !== undefined) {
      const other = await this.#find(task, instead)
      if (!other || other.state === REPLACED) return { ok: false, reason: 'taken-over', cursor: other?.cursor ?? 0 }
      cursor = other.cursor
      if (other.state === OPEN) task.producers--
      if (other.state === BROKEN) task.broken--
      if (other.state === BROKEN && !task.paused) task.reason = null
      await this.db.run(sql.producer.setState, REPLACED, task.key, instead)
      if (instead === task.producer) task.producer = name
    }
    await this.addProducer(task, name, { cursor })
    return { ok: true, total: task.total }
  }

  /** Opens adding for a producer; `retry`: it puts rows back for another run. */
  async addProducer(task: TaskRow, name: string, { cursor = 0, retry = false } = {}): Promise<void> {
    await this.db.run(sql.producer.add, task.key, name, cursor, OPEN, retry ? 1 : 0)
    task.producers++
  }

  async isOpen(task: TaskRow, name: string): Promise<boolean> {
    return (await this.#find(task, name))?.state === OPEN
  }

  async end(ledger: TaskLedger, name: string, interrupted: boolean): Promise<AddAnswer> {
    const { task } = ledger
    const producer = await this.#find(task, name)
    // The task of a lost producer stays interrupted.
    if (!producer || producer.state === REPLACED || (producer.state === BROKEN && !interrupted))
      return refusal(producer)
    // A repeated call changes nothing.
    if (producer.state === OPEN) await this.#close(ledger, producer, interrupted)
    return { ok: true, total: task.total }
  }

  /** Ends adding for a dead producer; its tasks become `interrupted`. */
  async interrupt(ledgers: Ledgers, name: string): Promise<void> {
    for (const { id } of await this.db.all<{ id: string }>(sql.producer.open, name)) {
      const ledger = await ledgers.of(id)
      const producer = ledger && (await this.#find(ledger.task, name))
      if (producer) await this.#close(ledger, producer, true)
    }
  }

  async #close(ledger: TaskLedger, { name, retry }: Producer, interrupted: boolean): Promise<void> {
    const { task } = ledger
    const broken = interrupted && !retry
    await this.db.run(sql.producer.setState, broken ? BROKEN : ENDED, task.key, name)
    task.producers--
    if (broken) task.broken++
    if (task.producers === 0 && !retry) ledger.addingEnded = true
  }

  async #find(task: TaskRow, name: string): Promise<Producer | undefined> {
    return await this.db.first<Producer>(sql.producer.find, task.key, name)
  }

  async #insert({ key, total, run, keep_args }: TaskRow, rows: readonly NewRow[], now: number): Promise<void> {
    const isDropped = ({ rejected }: NewRow) => rejected !== undefined && keep_args === 'none'
    await this.db.run(
      sql.event.add,
      key,
      rows.map((_, i) => total + i),
      rows.map(({ rejected }) => STATUS_CODE[rejected?.status ?? 'enqueued']),
      rows.map(({ rejected }) => (rejected ? ELSEWHERE : NEVER_QUEUED)),
      rows.map(() => run),
      rows.map(() => 1),
      rows.map(({ number = null }) => number),
      rows.map(({ job = null }) => job),
      rows.map(({ rejected }) => codeOf(rejected?.code)),
      rows.map(({ rejected }) => (rejected ? now : null)),
      rows.map((row) => (isDropped(row) ? null : row.args)),
      rows.map((row) => (isDropped(row) ? null : (row.source ?? null))),
    )
  }

  /** Counts a new row, and adds its messages. */
  #count(ledgers: Ledgers, ledger: TaskLedger, { rejected }: NewRow): void {
    const { task } = ledger
    const index = task.total++
    ledgers.count(ledger, rejected?.status ?? 'enqueued', codeOf(rejected?.code), 1)
    if (rejected) task.ended_before++
    else task.backlog++
    if (rejected?.status === 'failed') ledgers.noteRejected(ledger, task.run)
    ledgers.addMessages(task.key, index, rejected?.messages)
  }
}
