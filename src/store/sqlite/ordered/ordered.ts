/** Ordered queues: all that belongs to them, and opening one. */

import type { OrderedPush, OrderedSettleAndFetch, OrderedSettleAndFetchAnswer } from '../../contract.ts'
import type { Database } from '../database.ts'
import type { Leases } from '../leases.ts'
import { sql } from '../sql.generated.ts'
import { OrderedActs } from './acts.ts'
import { nextNumber, OrderedBook } from './book.ts'
import { OrderedFlights } from './flight.ts'
import { OrderedLook } from './look.ts'
import { OrderedMorgue } from './morgue.ts'
import { OrderedOwners } from './owners.ts'
import { checkItems, pushItems } from './push.ts'
import { OrderedTurns } from './turn.ts'
import { OrderedWaiting } from './waiting.ts'

export class Ordered {
  readonly waiting: OrderedWaiting
  readonly morgue: OrderedMorgue
  readonly flights: OrderedFlights
  readonly owners: OrderedOwners
  readonly acts: OrderedActs
  readonly look: OrderedLook
  readonly #turns: OrderedTurns
  readonly #db: Database
  readonly #leases: Leases
  readonly #rung: Set<string>

  /** `rung` collects what to ring after the commit. */
  constructor(db: Database, leases: Leases, rung: Set<string>) {
    this.#db = db
    this.#leases = leases
    this.#rung = rung
    this.waiting = new OrderedWaiting(db)
    this.morgue = new OrderedMorgue(db, this.waiting)
    this.flights = new OrderedFlights(db, this.waiting, this.morgue)
    this.owners = new OrderedOwners(db, this.flights)
    this.acts = new OrderedActs(db, this.waiting, this.flights, this.morgue)
    this.look = new OrderedLook(db, this.waiting)
    this.#turns = new OrderedTurns(db, this.waiting, this.flights, this.morgue)
  }

  names(): string[] {
    return this.#db.list(sql.ordered.names)
  }

  /** undefined: there is no such queue. Who changes something closes it. */
  open(queue: string): OrderedBook | undefined {
    return OrderedBook.open(this.#db, this.#rung, queue)
  }

  define(queue: string, shards: number): OrderedBook {
    const there = this.open(queue)
    if (there) return there
    this.#db.run(sql.ordered.define, queue, shards)
    const book = this.open(queue) as OrderedBook
    // A queue that was deleted and comes again gives no ticket again.
    this.#db.run(sql.ordered.addShards, book.id, shards, nextNumber(this.#db))
    return book
  }

  /** Runs `work` with the queue's book open and closes it; undefined: there is no such queue. */
  change<T>(queue: string, work: (book: OrderedBook) => T): T | undefined {
    const book = this.open(queue)
    if (!book) return undefined
    const answer = work(book)
    book.close()
    return answer
  }

  push(queue: string, shards: number, items: readonly OrderedPush[]): void {
    checkItems(items)
    const book = this.define(queue, shards)
    pushItems(book, this.waiting, this.flights, items)
    book.close()
  }

  /** The id of an owner whose lease holds. */
  ownerId(owner: string): number | undefined {
    return this.#leases.current(owner)?.owner
  }

  turn(queue: string, owner: string, turn: OrderedSettleAndFetch, careful: boolean): OrderedSettleAndFetchAnswer {
    const id = this.ownerId(owner)
    const answer = id === undefined ? undefined : this.change(queue, (book) => this.#turns.run(book, id, turn, careful))
    if (answer) return answer
    const { paused, shards } = this.open(queue)?.queue ?? { paused: 0, shards: 0 }
    return {
      settled: turn.settlements.map(() => 'fenced'),
      fetched: turn.fetch.map(() => ({ lost: true, ids: [], next: null })),
      paused: paused === 1,
      shards,
      cancelled: [],
    }
  }

  /** Forgets a queue in which nothing is and on which nobody works. */
  forget(book: OrderedBook): boolean {
    const { busy } = this.look
      .numbers(book, 0)
      .shards.reduce((sum, { busy }) => ({ busy: sum.busy + busy }), { busy: 0 })
    if (busy > 0 || book.queue.morgue > 0 || this.owners.members(book).length > 0) return false
    if (this.#db.first(sql.waiting.some, book.id)) return false
    const { keepNumbers, forgetMembers, forgetShards, forget } = sql.ordered
    for (const statement of [keepNumbers, forgetMembers, forgetShards, forget]) this.#db.run(statement, book.id)
    return true
  }
}
