/** What people do to what waits. */

import { ORDERED_PAGE, shardOf } from '../../contract.ts'
import type { Database } from '../database.ts'
import { sql } from '../sql.generated.ts'
import type { OrderedBook } from './book.ts'
import type { OrderedFlights } from './flight.ts'
import type { OrderedMorgue } from './morgue.ts'
import { newRow, type OrderedWaiting } from './waiting.ts'

export class OrderedActs {
  readonly #db: Database
  readonly #waiting: OrderedWaiting
  readonly #flights: OrderedFlights
  readonly #morgue: OrderedMorgue

  constructor(db: Database, waiting: OrderedWaiting, flights: OrderedFlights, morgue: OrderedMorgue) {
    this.#db = db
    this.#waiting = waiting
    this.#flights = flights
    this.#morgue = morgue
  }

  act(
    book: OrderedBook,
    act: 'now' | 'delete' | 'kill',
    ids: readonly string[],
    { failed = false, error, now }: { failed?: boolean; error?: string; now: number },
  ): number {
    const found = [...this.#waiting.find(book.id, ids.slice(0, ORDERED_PAGE)).values()]
    const rows = failed ? found.filter(({ retryCount }) => retryCount >= 0) : found
    if (act === 'now') {
      for (const row of rows) {
        if (row.performIn <= now / 1000) continue
        row.performIn = now / 1000
        this.#waiting.change(book.id, row)
        if (!row.held) book.soon(book.shard(row.shard), row.performIn)
      }
      return rows.length
    }
    for (const row of rows) {
      book.leaves(row)
      if (act === 'kill') this.#morgue.enterAll(book, row, error ?? row.error, now)
    }
    this.#waiting.remove(book.id, rows)
    return rows.length
  }

  deletePayload(book: OrderedBook, id: string, payload: string): boolean {
    const row = this.#waiting.find(book.id, [id]).get(id)
    const dropped = row && this.#waiting.dropOne(book.id, row, payload)
    if (!dropped) return false
    if (dropped === 'last') {
      book.leaves(row)
      this.#waiting.remove(book.id, [row])
    } else {
      this.#waiting.change(book.id, row)
    }
    return true
  }

  /** From the morgue back among what waits, merged. */
  resurrect(book: OrderedBook, ids: readonly string[], now: number): number {
    const inFlight = this.#flights.among(book.id, ids)
    const waiting = this.#waiting.find(book.id, ids)
    let n = 0
    for (const id of new Set(ids)) {
      const dead = this.#morgue.reason(book.id, id)
      if (!dead) continue
      const there = waiting.get(id)
      if (there) book.leaves(there)
      const place = { shard: shardOf(id, book.queue.shards), held: inFlight.has(id) ? 1 : 0 }
      const row = there ?? newRow(id, { ...place, performIn: 0, retryCount: -1 })
      this.#waiting.raise(book.id, row)
      Object.assign(row, { performIn: now / 1000, retryCount: -1, error: dead.error })
      if (there) this.#waiting.change(book.id, row)
      else this.#waiting.enter(book.id, [row])
      if (row.held) this.#flights.more(book.id, [row])
      book.waits(row)
      this.#morgue.delete(book, [id])
      n++
    }
    return n
  }

  cancel(book: OrderedBook, ids: readonly string[]): ('removed' | 'signalled' | 'not-found')[] {
    const inFlight = this.#flights.among(book.id, ids)
    const rows = this.#waiting.find(book.id, ids)
    for (const row of rows.values()) book.leaves(row)
    this.#waiting.remove(book.id, [...rows.values()])
    if (inFlight.size > 0) {
      this.#db.run(sql.flight.cancel, book.id, JSON.stringify([...inFlight]))
      book.ring()
    }
    return ids.map((id) => {
      if (inFlight.has(id)) return 'signalled'
      // Named twice, it was removed once.
      return rows.delete(id) ? 'removed' : 'not-found'
    })
  }
}
