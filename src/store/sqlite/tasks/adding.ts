/** Who adds rows to a task, how far they have come, and the rows themselves. */

import type { AddAnswer, EventStatus, NewRow } from '../../contract.ts'
import type { Database } from '../database.ts'
import { sql } from '../sql.generated.ts'
import type { Book } from './book.ts'
import type { Ledger } from './ledger.ts'
import {
  BROKEN,
  ELSEWHERE,
  ENDED,
  FRESH,
  hasEnded,
  isStopped,
  OPEN,
  REPLACED,
  STATUS_CODE,
  type TaskRow,
} from './row.ts'

interface Adder {
  token: string
  cursor: number
  state: number
  retry: number
}

interface Chunk {
  adder: string
  from: number
  rows: readonly NewRow[]
  now: number
  /** The text that the task keeps about the last of the rows. */
  last: string | undefined
}

/** A row of the task itself adds under this name. */
const ROW = /^row:(\d+)$/

export class Adding {
  readonly #db: Database

  constructor(db: Database) {
    this.#db = db
  }

  add(ledger: Ledger, id: string, { adder: token, from, rows, now, last }: Chunk): AddAnswer {
    const book = ledger.book(id)
    if (!book) return unknown
    const { task } = book
    const row = ROW.exec(token)
    if (row && !ledger.event(book, Number(row[1]))) return unknown
    const adder = this.#find(task, token)
    const cursor = adder?.cursor ?? 0
    if (row ? false : !adder || adder.state === REPLACED) return { ok: false, reason: 'taken-over', cursor }
    if (from + rows.length <= cursor) return { ok: true, total: task.total }
    const ended = row ? hasEnded(task) || isStopped(task) : adder?.state !== OPEN
    if (ended) return { ok: false, reason: 'ended', cursor }
    if (from !== cursor) return { ok: false, reason: 'gap', cursor }
    if (rows.every(isBare)) {
      const texts = JSON.stringify(rows.map(({ args }) => args))
      this.#db.run(sql.event.addBare, task.key, task.total, task.run, texts)
      task.total += rows.length
      task.enqueued += rows.length
      task.held += rows.length
    } else {
      const events = rows.map((one) => this.#newEvent(ledger, book, one, now))
      this.#db.run(sql.event.add, task.key, JSON.stringify(events))
    }
    if (rows.some(({ job }) => job !== undefined)) task.mixed = 1
    if (last !== undefined) this.#db.run(sql.task.keepLastRow, last, task.key)
    this.#db.run(sql.adder.advance, task.key, token, cursor + rows.length)
    return { ok: true, total: task.total }
  }

  open(ledger: Ledger, id: string, token: string, instead: string | undefined): AddAnswer {
    const book = ledger.book(id)
    if (!book) return unknown
    const { task } = book
    const mine = this.#find(task, token)
    if (mine) return mine.state === OPEN ? { ok: true, total: task.total } : refusal(mine)
    if (hasEnded(task) || isStopped(task)) return { ok: false, reason: 'ended', cursor: 0 }
    let cursor = 0
    if (instead !== undefined) {
      const other = this.#find(task, instead)
      if (!other || other.state === REPLACED) return { ok: false, reason: 'taken-over', cursor: other?.cursor ?? 0 }
      cursor = other.cursor
      if (other.state === OPEN) task.adders--
      if (other.state === BROKEN) task.broken--
      if (other.state === BROKEN && !task.paused) task.reason = null
      this.#db.run(sql.adder.become, REPLACED, task.key, instead)
      if (instead === task.adder) {
        task.adder = token
        this.#db.run(sql.task.replaceAdder, token, task.key)
      }
    }
    this.enter(task, token, { cursor })
    return { ok: true, total: task.total }
  }

  /** A new adder adds from now on; `retry`: it puts rows back. */
  enter(task: TaskRow, token: string, { cursor = 0, retry = false } = {}): void {
    this.#db.run(sql.adder.enter, task.key, token, cursor, OPEN, retry ? 1 : 0)
    task.adders++
  }

  isOpen(task: TaskRow, token: string): boolean {
    return this.#find(task, token)?.state === OPEN
  }

  end(ledger: Ledger, id: string, token: string, interrupted: boolean): AddAnswer {
    const book = ledger.book(id)
    if (!book) return unknown
    const { task } = book
    const adder = this.#find(task, token)
    if (!adder || adder.state === REPLACED) return refusal(adder)
    // Said twice: the first one counted.
    if (adder.state === OPEN) this.#close(book, adder, interrupted)
    return { ok: true, total: task.total }
  }

  /** Whoever was adding rows is dead. */
  interrupt(ledger: Ledger, token: string): void {
    for (const { id } of this.#db.all<{ id: string }>(sql.adder.open, token)) {
      const book = ledger.book(id)
      const adder = book && this.#find(book.task, token)
      if (adder) this.#close(book, adder, true)
    }
  }

  #close(book: Book, { token, retry }: Adder, interrupted: boolean): void {
    const { task } = book
    const broken = interrupted && !retry
    this.#db.run(sql.adder.become, broken ? BROKEN : ENDED, task.key, token)
    task.adders--
    if (broken) task.broken++
    if (task.adders === 0 && !retry) book.addingEnded = true
  }

  #find(task: TaskRow, token: string): Adder | undefined {
    return this.#db.first<Adder>(sql.adder.find, task.key, token)
  }

  /** Counts a row and gives its event, in the order of `add`'s columns. */
  #newEvent(ledger: Ledger, book: Book, { args, number, source, job, rejected }: NewRow, now: number): unknown[] {
    const { task } = book
    const index = task.total++
    const status: EventStatus = rejected?.status ?? 'enqueued'
    const code = rejected?.code?.toWellFormed() || null
    ledger.count(book, status, code, 1)
    if (!rejected) task.held++
    if (rejected?.status === 'failed') ledger.rejected(book, task.run)
    ledger.addMessages(task.key, index, rejected?.messages)
    const dropped = rejected && task.keep_params === 'none'
    return [
      index,
      STATUS_CODE[status],
      rejected ? ELSEWHERE : FRESH,
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

/** There is nothing but its arguments. */
function isBare({ number, source, job, rejected }: NewRow): boolean {
  return number === undefined && source === undefined && job === undefined && rejected === undefined
}

const unknown: AddAnswer = { ok: false, reason: 'unknown', cursor: 0 }

function refusal(adder: Adder | undefined): AddAnswer {
  const replaced = !adder || adder.state === REPLACED
  return { ok: false, reason: replaced ? 'taken-over' : 'ended', cursor: adder?.cursor ?? 0 }
}
