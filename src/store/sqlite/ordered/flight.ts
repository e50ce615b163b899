/** What is in flight: reading it, and putting it back or to the morgue. */

import {
  type MorgueEntry,
  type OrderedInFlight,
  type OrderedState,
  type ScoredPayload,
  shardOf,
} from '../../contract.ts'
import type { Database } from '../database.ts'
import { sql } from '../sql.generated.ts'
import type { OrderedBook } from './book.ts'
import type { OrderedMorgue } from './morgue.ts'
import { type Change, newRow, type OrderedWaiting, type WaitingRow } from './waiting.ts'

export interface Flight {
  id: string
  shard: number
  take: number
  cancelled: boolean
  /** More of the id waits. */
  waits: boolean
  taken: Taken | null
}

/** What was taken, as it was taken. */
export interface Taken extends OrderedState {
  stalls: number
  suspect: number
  payloads: ScoredPayload[]
}

type Listed = [string, number, number, number, number, Content | null]
type Content = [string, number, number, number, string | null, string, string | null]
type Told = [string, number, number, number, string | null, number]

export class OrderedFlights {
  readonly #db: Database
  readonly #waiting: OrderedWaiting
  readonly #morgue: OrderedMorgue

  constructor(db: Database, waiting: OrderedWaiting, morgue: OrderedMorgue) {
    this.#db = db
    this.#waiting = waiting
    this.#morgue = morgue
  }

  /** `whole`: with what was taken. */
  find(queue: number, whole: readonly string[], others: readonly string[] = []): Map<string, Flight> {
    const found = new Map<string, Flight>()
    const names = [...whole, ...others]
    if (names.length === 0) return found
    const rows = this.#db.list<Listed>(sql.flight.find, queue, JSON.stringify(names), whole.length)
    for (const [id, shard, take, cancelled, waits, content] of rows) {
      found.set(id, {
        id,
        shard,
        take,
        cancelled: cancelled === 1,
        waits: waits === 1,
        taken: content && takenOf(content),
      })
    }
    return found
  }

  /** Whichever of the ids are in flight. */
  among(queue: number, ids: readonly string[]): Set<string> {
    if (ids.length === 0) return new Set()
    return new Set(this.#db.list<string>(sql.flight.among, queue, JSON.stringify(ids)))
  }

  /** Something waits of these from now on. */
  more(queue: number, rows: readonly { id: string }[]): void {
    if (rows.length > 0) this.#db.run(sql.flight.more, queue, JSON.stringify(rows.map(({ id }) => id)))
  }

  /** In flight no more; what becomes of them is the caller's to say. */
  remove(queue: number, ids: readonly string[]): void {
    if (ids.length > 0) this.#db.run(sql.flight.remove, queue, JSON.stringify(ids))
  }

  /** What was pushed for these ids meanwhile, which nobody holds any more, waits to be taken. */
  free(book: OrderedBook, flights: readonly Flight[]): void {
    const ids = flights.filter(({ waits }) => waits).map(({ id }) => id)
    for (const row of this.#waiting.find(book.id, ids).values()) this.#letGo(book, row)
  }

  /** What was taken goes back, merged with what was pushed meanwhile; it must not be in flight any more. */
  putBack(book: OrderedBook, flights: readonly Flight[]): void {
    const ids = flights.filter(({ waits }) => waits).map(({ id }) => id)
    const waiting = this.#waiting.find(book.id, ids)
    const fresh: WaitingRow[] = []
    const back: WaitingRow[] = []
    const changes: Change[] = []
    for (const { id, taken } of flights) {
      if (!taken) continue
      const { performIn, retryCount, error, stalls, suspect, payloads } = taken
      const there = waiting.get(id)
      const row = there ?? newRow(id, { shard: shardOf(id, book.queue.shards), held: 0, performIn, retryCount })
      Object.assign(row, { performIn, retryCount, error, stalls, suspect })
      changes.push([row, payloads])
      if (there) {
        back.push(there)
      } else {
        fresh.push(row)
        book.waits(row)
      }
    }
    this.#waiting.add(book.id, changes)
    for (const row of back) this.#letGo(book, row)
    this.#waiting.enter(book.id, fresh)
  }

  #letGo(book: OrderedBook, row: WaitingRow): void {
    row.held = 0
    row.shard = shardOf(row.id, book.queue.shards)
    this.#waiting.change(book.id, row)
    book.waits(row)
  }

  /**
   * All that is in flight under a shard goes back as it was taken, but for what was cancelled. `maxCrashes`: its owner
   * crashed, and an id that was alone has caused that.
   */
  restore(
    book: OrderedBook,
    number: number,
    now: number,
    maxCrashes?: number,
  ): { restored: number; died: MorgueEntry[] } {
    const shard = book.shard(number)
    shard.alone = 0
    if (shard.busy === 0) return { restored: 0, died: [] }
    shard.busy = 0
    const ids = this.#db.list<string>(sql.flight.ofShard, book.id, number)
    const flights = [...this.find(book.id, ids).values()]
    this.remove(book.id, ids)
    const left = flights.filter(({ cancelled }) => !cancelled)
    this.free(
      book,
      flights.filter(({ cancelled }) => cancelled),
    )
    if (maxCrashes !== undefined) blame(flights)
    const doomed = maxCrashes === undefined ? [] : left.filter(({ taken }) => (taken?.stalls ?? 0) >= maxCrashes)
    const died = doomed.map(({ id, taken }) => {
      const { payloads, stalls } = taken as Taken
      return this.#morgue.enter(book, id, payloads, `crashed ${stalls} times`, now)
    })
    this.free(book, doomed)
    const saved = left.filter((flight) => !doomed.includes(flight))
    this.putBack(book, saved)
    return { restored: saved.length, died }
  }

  list(queue: number, owner: string | null): OrderedInFlight[] {
    return this.#db.list<Told>(sql.flight.list, queue, owner).map(toldOf)
  }

  one(queue: number, id: string): OrderedInFlight | null {
    const row = this.#db.json<Told>(sql.flight.one, queue, id)
    return row ? toldOf(row) : null
  }
}

/** An id is taken at most once in a take. */
export function ticketOf(shard: number, take: number, id: string): string {
  return `${shard}.${take}:${id}`
}

/** The beginning of a ticket, up to the id. */
export function takeOf(ticket: string): { shard: number; number: number } {
  const point = ticket.indexOf('.')
  return { shard: Number(ticket.slice(0, point)), number: Number(ticket.slice(point + 1, -1)) }
}

/** Who was alone in flight crashed its owner; of several nobody knows which one it was. */
function blame(flights: readonly Flight[]): void {
  for (const { taken } of flights) {
    if (!taken) continue
    if (flights.length === 1) taken.stalls++
    else taken.suspect = 1
  }
}

function takenOf([performIn, retryCount, stalls, suspect, error, text, score]: Content): Taken {
  const payloads: ScoredPayload[] = score === null ? JSON.parse(text) : [[text, Number(score)]]
  return { performIn: Number(performIn), retryCount, stalls, suspect, error, payloads }
}

function toldOf([id, shard, take, token, owner, takenAt]: Told): OrderedInFlight {
  return { id, ticket: ticketOf(shard, take, id), shard, token, owner: owner ?? '', fetchedAt: takenAt }
}
