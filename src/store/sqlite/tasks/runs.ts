/** Steering a task: pauses and changes, cancelling it, and putting its rejected rows to work again. */

import { taskJid } from '../../../job/payload.ts'
import { endedOf, type Message, type RetryRow, type TaskChange } from '../../contract.ts'
import type { Database } from '../database.ts'
import type { Sets } from '../sets.ts'
import { sql } from '../sql.generated.ts'
import type { Adding } from './adding.ts'
import type { Book } from './book.ts'
import type { Ledger } from './ledger.ts'
import { hasEnded, isStopped, PLACED, REJECTED, STATUS_CODE, written } from './row.ts'

/** Rows that one call of `cancelRows` looks at for each that it may cancel. */
const LOOKED_AT = 10

type Retried = 'ok' | 'gone' | 'dropped'

export class Runs {
  readonly #db: Database
  readonly #adding: Adding
  readonly #sets: Sets

  constructor(db: Database, adding: Adding, sets: Sets) {
    this.#db = db
    this.#adding = adding
    this.#sets = sets
  }

  change(ledger: Ledger, id: string, change: TaskChange): 'ok' | 'ended' | null {
    const task = ledger.book(id)?.task
    if (!task) return null
    if (hasEnded(task)) return 'ended'
    if (change.name !== undefined) task.name = change.name
    if (change.window !== undefined) task.window = change.window
    if (change.maxFailures !== undefined) task.tolerance = written(change.maxFailures)
    if (change.onMaxFailures !== undefined) task.beyond = change.onMaxFailures
    const paused = change.paused === undefined || isStopped(task) ? task.paused : Number(change.paused)
    // A pause brings its own reason, and takes it away.
    if (paused !== task.paused) task.reason = null
    task.paused = paused
    if (change.reason !== undefined) task.reason = written(change.reason)
    return 'ok'
  }

  cancel(ledger: Ledger, id: string, reason: Message | null): 'ok' | 'ended' | null {
    const book = ledger.book(id)
    if (!book) return null
    if (hasEnded(book.task)) return 'ended'
    if (isStopped(book.task)) return 'ok'
    ledger.stop(book)
    book.task.reason = written(reason)
    return 'ok'
  }

  cancelRows(ledger: Ledger, id: string, most: number): { cancelled: number; maybeRunning: string[]; done: boolean } {
    const book = ledger.book(id)
    const answer = { cancelled: 0, maybeRunning: [] as string[], done: true }
    if (book?.task.state !== 'cancelling') return answer
    const { task } = book
    const looked = most * LOOKED_AT
    const rows = this.#db.all<{ idx: number; status: number }>(sql.event.open, task.key, task.swept, looked, most)
    ledger.load(
      book,
      rows.map(({ idx }) => idx),
    )
    for (const { idx } of rows) {
      const event = ledger.event(book, idx)
      // Also those that are one job with others, and have no place of their own.
      if (event?.place === PLACED || event?.status === STATUS_CODE.working) answer.maybeRunning.push(taskJid(id, idx))
      if (event?.status !== STATUS_CODE.enqueued) continue
      ledger.cancel(book, event)
      answer.cancelled++
    }
    const last = rows.at(-1)
    task.swept = last && rows.length === most ? last.idx + 1 : task.swept + looked
    const isOver = task.swept >= task.total
    if (isOver) task.swept = 0
    answer.done = task.enqueued === 0 && (isOver || task.working === 0)
    return answer
  }

  start(ledger: Ledger, id: string, run: number, adder: string, now: number): 'ok' | 'gone' | 'cancelling' | null {
    const task = ledger.book(id)?.task
    if (!task) return null
    if (task.run === run + 1 && this.#adding.isOpen(task, adder)) return 'ok'
    if (task.run !== run) return 'gone'
    if (task.state === 'cancelling') return 'cancelling'
    // A reason to be cancelled is none any more; one to be paused or interrupted still is.
    if (!task.paused && task.broken === 0) task.reason = null
    task.run++
    task.run_at = now
    task.ended_before = endedOf(task)
    this.#adding.enter(task, adder, { retry: true })
    task.state = 'adding'
    task.finished_at = null
    task.expires_at = null
    return 'ok'
  }

  retry(ledger: Ledger, id: string, run: number, rows: readonly RetryRow[]): Retried[] {
    const book = ledger.book(id)
    if (!book || book.task.run !== run || isStopped(book.task)) return rows.map(() => 'gone')
    const indexes = rows.map(({ index }) => index)
    ledger.load(book, indexes)
    const kept = this.#db.all<{ idx: number }>(sql.event.withArgs, book.task.key, JSON.stringify(indexes))
    const hasArgs = new Set(kept.map(({ idx }) => idx))
    return rows.map((row) => this.#putBack(ledger, book, row, hasArgs.has(row.index)))
  }

  freePlaces(ledger: Ledger, id: string, indexes: readonly number[]): void {
    const book = ledger.book(id)
    if (!book) return
    ledger.load(book, indexes)
    for (const index of indexes) {
      const event = book.events.get(index)
      if (event?.place === PLACED) ledger.free(book, event)
    }
  }

  #putBack(ledger: Ledger, book: Book, row: RetryRow, hasArgs: boolean): Retried {
    const { index, args, source, dead } = row
    const { task } = book
    const event = ledger.event(book, index)
    if (!event) return 'gone'
    // A repeated call: it is in this run already.
    if (event.run === task.run) return 'ok'
    if (event.status < REJECTED) return 'gone'
    if (args === undefined && !hasArgs) return 'dropped'
    if (args !== undefined || source !== undefined) {
      this.#db.run(sql.event.correct, task.key, index, args?.toWellFormed() ?? null, source?.toWellFormed() ?? null)
    }
    ledger.become(book, event, 'enqueued', null)
    task.ended_before--
    ledger.hold(book, event)
    event.run = task.run
    event.step = 1
    event.started_at = null
    event.finished_at = null
    event.result = null
    event.drop = false
    if (dead) this.#sets.remove('dead', dead)
    return 'ok'
  }
}
