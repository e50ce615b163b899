/** What people do to what waits. */

import { ORDERED_PAGE, ORDERED_STEP, shardOf } from '../../contract.ts'
import type { Database } from '../database.ts'
import { sql } from '../sql.generated.ts'
import type { OrderedBook } from './book.ts'
import type { OrderedFlights } from './flight.ts'
import type { OrderedMorgue } from './morgue.ts'
import { inOneStep, type Step } from './step.ts'
import { newRow, type OrderedWaiting, type WaitingRow } from './waiting.ts'

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

  /** Kills ids; `begun` holds the ids of which an earlier step has killed a part. */
  act(
    book: OrderedBook,
    act: 'now' | 'delete' | 'kill',
    ids: readonly string[],
    { failed = false, error, now }: { failed?: boolean; error?: string; now: number },
    begun: ReadonlySet<string>,
  ): Step {
    const found = [...this.#waiting.find(book.id, ids.slice(0, ORDERED_PAGE)).values()]
    const rows = failed ? found.filter(({ retryCount }) => retryCount >= 0) : found
    if (act === 'now') {
      for (const row of rows) {
        if (row.performIn <= now / 1000) continue
        row.performIn = now / 1000
        this.#waiting.change(book.id, row)
        if (!row.held) book.soon(book.shard(row.shard), row.performIn)
      }
      return { n: rows.length, rest: [] }
    }
    const { some, rest } = inOneStep(rows, ({ size }) => size)
    const [large] = rest
    if (some.length === 0 && large) {
      if (act === 'kill') this.#morgue.enterSome(book, large, error ?? large.error, now, begun.has(large.id))
      else this.#waiting.dropSome(book.id, large)
      this.#waiting.change(book.id, large)
      return { n: 0, rest: rest.map(({ id }) => id), begun: large.id }
    }
    for (const row of some) {
      book.leaves(row)
      if (act === 'kill') this.#morgue.enterAll(book, row, error ?? row.error, now, begun.has(row.id))
    }
    this.#waiting.remove(book.id, some)
    return { n: some.length, rest: rest.map(({ id }) => id) }
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
  resurrect(book: OrderedBook, ids: readonly string[], now: number): Step {
    const dead = [...new Set(ids)].filter((id) => this.#morgue.reason(book.id, id) !== undefined)
    const { some, rest } = inOneStep(dead, (id) => this.#waiting.deadSize(book.id, id))
    const [large] = rest
    if (some.length === 0 && large !== undefined) {
      this.#raise(book, [large], now, (row) => this.#waiting.raiseSome(book.id, row))
      return { n: 0, rest }
    }
    this.#raise(book, some, now, (row) => this.#waiting.raise(book.id, row))
    return { n: this.#morgue.delete(book, some).n, rest }
  }

  /** Puts dead ids back into the queue; `add` moves their payloads. */
  #raise(book: OrderedBook, ids: readonly string[], now: number, add: (row: WaitingRow) => void): void {
    const inFlight = this.#flights.among(book.id, ids)
    const waiting = this.#waiting.find(book.id, ids)
    for (const id of ids) {
      const there = waiting.get(id)
      if (there) book.leaves(there)
      const place = { shard: shardOf(id, book.queue.shards), held: inFlight.has(id) ? 1 : 0 }
      const row = there ?? newRow(id, { ...place, performIn: 0, retryCount: -1 })
      add(row)
      const error = this.#morgue.reason(book.id, id)?.error ?? null
      Object.assign(row, { performIn: now / 1000, retryCount: -1, error })
      if (there) this.#waiting.change(book.id, row)
      else this.#waiting.enter(book.id, [row])
      if (row.held) this.#flights.more(book.id, [row])
      book.waits(row)
    }
  }

  /**
   * Deletes a part of an id with very many payloads, if these ids include one.
   * @returns whether they did
   */
  cancelSome(book: OrderedBook, ids: readonly string[]): boolean {
    const large = [...this.#waiting.find(book.id, ids).values()].find(({ size }) => size > ORDERED_STEP)
    if (!large) return false
    this.#waiting.dropSome(book.id, large)
    this.#waiting.change(book.id, large)
    return true
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
