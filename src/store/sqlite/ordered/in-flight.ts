/** Ids in flight: reading them, and moving them back to the queue or to the morgue. */

import {
  type AcquiredShard,
  type MorgueEntry,
  type OrderedInFlight,
  type ScoredPayload,
  shardOf,
} from '../../contract.ts'
import {
  blame,
  type Change,
  type FetchedState,
  type InFlight,
  newRow,
  type WaitingRow,
} from '../../sql/ordered-rows.ts'
import { Tables } from '../file/database.ts'
import { sql } from '../sql.generated.ts'
import { MorgueTable } from './morgue.ts'
import type { OpenQueue } from './open-queue.ts'
import { BEHIND_ALL } from './page-bounds.ts'
import { WaitingTable } from './waiting.ts'

type Listed = [string, number, number, number, number, Content | null]
type Content = [string, number, number, number, string | null, string, string | null]
type InFlightColumns = [string, number, number, number, string | null, number]

export class InFlightTable extends Tables {
  readonly #waiting = this.db.get(WaitingTable)
  readonly #morgue = this.db.get(MorgueTable)

  /** Returns those of the ids that are in flight; those in `whole` with their state at the fetch. */
  find(queue: number, whole: readonly string[], others: readonly string[] = []): Map<string, InFlight> {
    const found = new Map<string, InFlight>()
    const names = [...whole, ...others]
    if (names.length === 0) return found
    const rows = this.db.list<Listed>(sql.inFlight.find, queue, JSON.stringify(names), whole.length)
    for (const [id, shard, fetchNumber, cancelled, waits, content] of rows) {
      const fetched = content && fetchedOf(content)
      found.set(id, { id, shard, fetchNumber, cancelled: cancelled === 1, waits: waits === 1, fetched })
    }
    return found
  }

  /** Returns those of the ids that are in flight. */
  among(queue: number, ids: readonly string[]): Set<string> {
    if (ids.length === 0 || !this.db.first(sql.inFlight.some, queue)) return new Set()
    return new Set(this.db.list<string>(sql.inFlight.among, queue, JSON.stringify(ids)))
  }

  /** Stores that these ids have waiting payloads. */
  noteWaiting(queue: number, rows: readonly { id: string }[]): void {
    if (rows.length > 0) this.db.run(sql.inFlight.noteWaiting, queue, JSON.stringify(rows.map(({ id }) => id)))
  }

  /** Deletes ids. The caller decides where their payloads go. */
  remove(queue: number, ids: readonly string[]): void {
    if (ids.length > 0) this.db.run(sql.inFlight.remove, queue, JSON.stringify(ids))
  }

  /**
   * Puts back the fetched payloads (`fetched`), merged with those pushed meanwhile, which can be fetched from now on. The
   * ids must not be in flight any more.
   */
  requeue(open: OpenQueue, flights: readonly InFlight[]): void {
    const ids = flights.filter(({ waits }) => waits).map(({ id }) => id)
    const waiting = this.#waiting.find(open.id, ids)
    const fresh: WaitingRow[] = []
    const changes: Change[] = []
    for (const { id, fetched } of flights) {
      if (!fetched) continue
      const { payloads, ...state } = fetched
      const there = waiting.get(id)
      const row = Object.assign(there ?? newRow(id, { shard: 0, inFlight: 0, performIn: 0, retryCount: 0 }), state)
      changes.push([row, payloads])
      if (!there) fresh.push(row)
    }
    this.#waiting.add(open.id, changes)
    for (const row of waiting.values()) {
      this.#enterShard(open, row)
      this.#waiting.change(open.id, row)
    }
    for (const row of fresh) this.#enterShard(open, row)
    this.#waiting.enter(open.id, fresh)
  }

  /** Puts a row into its shard, where it can be fetched. */
  #enterShard(open: OpenQueue, row: WaitingRow): void {
    row.inFlight = 0
    row.shard = shardOf(row.id, open.queue.shards)
    open.addWaiting(row)
  }

  /**
   * Puts all ids of a shard back with their state at the fetch, except cancelled ones. With `maxCrashes` the owner has
   * crashed, and an id that was alone in flight is counted as the cause.
   */
  requeueShard(open: OpenQueue, number: number, now: number, maxCrashes?: number): Omit<AcquiredShard, 'token'> {
    const shard = open.changeShard(number)
    shard.alone = 0
    if (shard.busy === 0) return { rescued: 0, died: [] }
    shard.busy = 0
    const ids = this.db.list<string>(sql.inFlight.ofShard, open.id, number)
    const flights = [...this.find(open.id, ids).values()]
    this.remove(open.id, ids)
    if (maxCrashes !== undefined) blame(flights)
    let rescued = 0
    const died: MorgueEntry[] = []
    for (const flight of flights) {
      const { id, fetched, cancelled } = flight
      const dies = !cancelled && maxCrashes !== undefined && fetched && fetched.crashes >= maxCrashes
      if (dies) died.push(this.#morgue.enter(open, id, fetched.payloads, `crashed ${fetched.crashes} times`, now))
      if (dies || cancelled) flight.fetched = null
      else rescued++
    }
    this.requeue(open, flights)
    return { rescued, died }
  }

  /** Returns the ids in flight of one owner or of all; with `only`, at most this id. */
  list(queue: number, owner: string | null, only?: string): OrderedInFlight[] {
    const range = [only ?? '', only ?? BEHIND_ALL] as const
    const rows = this.db.list<InFlightColumns>(sql.inFlight.list, queue, owner, ...range)
    return rows.map(([id, shard, fetchNumber, token, name, fetchedAt]) => {
      const ticket = ticketOf(shard, fetchNumber, id)
      return { id, ticket, shard, token, owner: name ?? '', fetchedAt }
    })
  }
}

/** Returns a ticket. One fetch has an id at most once. */
export function ticketOf(shard: number, fetchNumber: number, id: string): string {
  return `${shard}.${fetchNumber}:${id}`
}

/** Parses the part of a ticket before the id. */
export function parseFetch(ticket: string): { shard: number; number: number } {
  const point = ticket.indexOf('.')
  return { shard: Number(ticket.slice(0, point)), number: Number(ticket.slice(point + 1, -1)) }
}

function fetchedOf([performIn, retryCount, crashes, suspect, error, text, score]: Content): FetchedState {
  const payloads: ScoredPayload[] = score === null ? JSON.parse(text) : [[text, Number(score)]]
  return { performIn: Number(performIn), retryCount, crashes, suspect, error, payloads }
}
