/** Who works on an ordered queue, and which shards are whose. */

import type { MorgueEntry } from '../../contract.ts'
import type { Database } from '../database.ts'
import { sql } from '../sql.generated.ts'
import { nextNumber, type OrderedBook } from './book.ts'
import type { OrderedFlights } from './flight.ts'

export class OrderedOwners {
  readonly #db: Database
  readonly #flights: OrderedFlights

  constructor(db: Database, flights: OrderedFlights) {
    this.#db = db
    this.#flights = flights
  }

  /** `owner`: its id; its lease holds. */
  join(book: OrderedBook, owner: number): void {
    if (this.#db.run(sql.ordered.join, book.id, owner) > 0) book.ring()
  }

  leave(book: OrderedBook, owner: string, now: number): void {
    for (const number of this.#db.list<number>(sql.ordered.owned, book.id, owner)) this.#free(book, number, now)
    if (this.#db.run(sql.ordered.strike, book.id, owner) > 0) book.ring()
  }

  members(book: OrderedBook): string[] {
    return this.#db.list(sql.ordered.members, book.id)
  }

  own(
    book: OrderedBook,
    number: number,
    owner: string,
    maxCrashes: number,
    now: number,
  ): { token: number; restored: number; died: MorgueEntry[] } | null {
    if (!(number < book.width)) return null
    const member = this.#db.first<{ id: number }>(sql.ordered.member, book.id, owner)
    const before = book.look(number)
    if (!member || !before) return null
    if (this.#db.first(sql.ordered.holds, before.owner)) {
      return before.owner === member.id ? { token: before.token, restored: 0, died: [] } : null
    }
    const shard = book.shard(number)
    const ended = this.#flights.restore(book, number, now, maxCrashes)
    shard.owner = member.id
    // A queue of that name may have been there before, and somebody may still hold a fence of it.
    shard.token = shard.token === 0 ? nextNumber(this.#db) : shard.token + 1
    book.tell(shard, null)
    return { token: shard.token, ...ended }
  }

  release(book: OrderedBook, number: number, owner: number, token: number, now: number): boolean {
    const shard = book.look(number)
    if (shard?.owner !== owner || shard.token !== token) return false
    this.#free(book, number, now)
    book.ring()
    return true
  }

  #free(book: OrderedBook, number: number, now: number): void {
    this.#flights.restore(book, number, now)
    book.shard(number).owner = 0
  }
}
