/** What is in flight: reading it, and putting it back or to the morgue. */

import {
  type MorgueEntry,
  type OrderedInFlight,
  type OrderedState,
  type ScoredPayload,
  shardOf,
} from '../../contract.ts'
import type { Database } from '../file/database.ts'
import { sql } from '../sql.generated.ts'
import type { MorgueTable } from './morgue.ts'
import type { OpenQueue } from './open-queue.ts'
import { type Change, newRow, type WaitingRow, type WaitingTable } from './waiting.ts'

export interface InFlight {
  id: string
  shard: number
  take: number
  cancelled: boolean
  /** More of the id waits. */
  waits: boolean
  fetched: FetchedState | null
}

/** What was taken, as it was taken. */
export interface FetchedState extends OrderedState {
  stalls: number
  suspect: number
  payloads: ScoredPayload[]
}

type Listed = [string, number, number, number, number, Content | null]
type Content = [string, number, number, number, string | null, string, string | null]
type Told = [string, number, number, number, string | null, number]

export class InFlightTable {
  readonly #db: Database
  readonly #waiting: WaitingTable
  readonly #morgue: MorgueTable

  constructor(db: Database, waiting: WaitingTable, morgue: MorgueTable) {
    this.#db = db
    this.#waiting = waiting
    this.#morgue = morgue
  }

  /** `whole`: with what was taken. */
  find(queue: number, whole: readonly string[], others: readonly string[] = []): Map<string, InFlight> {
    const found = new Map<string, InFlight>()
    const names = [...whole, ...others]
    if (names.length === 0) return found
    const rows = this.#db.list<Listed>(sql.inFlight.find, queue, JSON.stringify(names), whole.length)
    for (const [id, shard, take, cancelled, waits, content] of rows) {
      found.set(id, {
        id,
        shard,
        take,
        cancelled: cancelled === 1,
        waits: waits === 1,
        fetched: content && fetchedOf(content),
      })
    }
    return found
  }

  /** Whichever of the ids are in flight. */
  among(queue: number, ids: readonly string[]): Set<string> {
    if (ids.length === 0) return new Set()
    return new Set(this.#db.list<string>(sql.inFlight.among, queue, JSON.stringify(ids)))
  }

  /** Something waits of these from now on. */
  noteWaiting(queue: number, rows: readonly { id: string }[]): void {
    if (rows.length > 0) this.#db.run(sql.inFlight.more, queue, JSON.stringify(rows.map(({ id }) => id)))
  }

  /** In flight no more; what becomes of them is the caller's to say. */
  remove(queue: number, ids: readonly string[]): void {
    if (ids.length > 0) this.#db.run(sql.inFlight.remove, queue, JSON.stringify(ids))
  }

  /** What was pushed for these ids meanwhile, which nobody holds any more, waits to be taken. */
  releaseHeld(open: OpenQueue, flights: readonly InFlight[]): void {
    const ids = flights.filter(({ waits }) => waits).map(({ id }) => id)
    for (const row of this.#waiting.find(open.id, ids).values()) this.#letGo(open, row)
  }

  /** What was taken goes back, merged with what was pushed meanwhile; it must not be in flight any more. */
  requeue(open: OpenQueue, flights: readonly InFlight[]): void {
    const ids = flights.filter(({ waits }) => waits).map(({ id }) => id)
    const waiting = this.#waiting.find(open.id, ids)
    const fresh: WaitingRow[] = []
    const back: WaitingRow[] = []
    const changes: Change[] = []
    for (const { id, fetched: taken } of flights) {
      if (!taken) continue
      const { performIn, retryCount, error, stalls, suspect, payloads } = taken
      const there = waiting.get(id)
      const row = there ?? newRow(id, { shard: shardOf(id, open.queue.shards), held: 0, performIn, retryCount })
      Object.assign(row, { performIn, retryCount, error, stalls, suspect })
      changes.push([row, payloads])
      if (there) {
        back.push(there)
      } else {
        fresh.push(row)
        open.addWaiting(row)
      }
    }
    this.#waiting.add(open.id, changes)
    for (const row of back) this.#letGo(open, row)
    this.#waiting.enter(open.id, fresh)
  }

  #letGo(open: OpenQueue, row: WaitingRow): void {
    row.held = 0
    row.shard = shardOf(row.id, open.queue.shards)
    this.#waiting.change(open.id, row)
    open.addWaiting(row)
  }

  /**
   * All that is in flight under a shard goes back as it was taken, but for what was cancelled. `maxCrashes`: its owner
   * crashed, and an id that was alone has caused that.
   */
  requeueShard(
    open: OpenQueue,
    number: number,
    now: number,
    maxCrashes?: number,
  ): { restored: number; died: MorgueEntry[] } {
    const shard = open.changeShard(number)
    shard.alone = 0
    if (shard.busy === 0) return { restored: 0, died: [] }
    shard.busy = 0
    const ids = this.#db.list<string>(sql.inFlight.ofShard, open.id, number)
    const flights = [...this.find(open.id, ids).values()]
    this.remove(open.id, ids)
    const left = flights.filter(({ cancelled }) => !cancelled)
    this.releaseHeld(
      open,
      flights.filter(({ cancelled }) => cancelled),
    )
    if (maxCrashes !== undefined) blame(flights)
    const doomed =
      maxCrashes === undefined ? [] : left.filter(({ fetched: taken }) => (taken?.stalls ?? 0) >= maxCrashes)
    const died = doomed.map(({ id, fetched: taken }) => {
      const { payloads, stalls } = taken as FetchedState
      return this.#morgue.enter(open, id, payloads, `crashed ${stalls} times`, now)
    })
    this.releaseHeld(open, doomed)
    const saved = left.filter((flight) => !doomed.includes(flight))
    this.requeue(open, saved)
    return { restored: saved.length, died }
  }

  list(queue: number, owner: string | null): OrderedInFlight[] {
    return this.#db.list<Told>(sql.inFlight.list, queue, owner).map(inFlightOf)
  }

  one(queue: number, id: string): OrderedInFlight | null {
    const row = this.#db.json<Told>(sql.inFlight.one, queue, id)
    return row ? inFlightOf(row) : null
  }
}

/** An id is taken at most once in a take. */
export function ticketOf(shard: number, take: number, id: string): string {
  return `${shard}.${take}:${id}`
}

/** The beginning of a ticket, up to the id. */
export function parseFetch(ticket: string): { shard: number; number: number } {
  const point = ticket.indexOf('.')
  return { shard: Number(ticket.slice(0, point)), number: Number(ticket.slice(point + 1, -1)) }
}

/** Who was alone in flight crashed its owner; of several nobody knows which one it was. */
function blame(flights: readonly InFlight[]): void {
  for (const { fetched: taken } of flights) {
    if (!taken) continue
    if (flights.length === 1) taken.stalls++
    else taken.suspect = 1
  }
}

function fetchedOf([performIn, retryCount, stalls, suspect, error, text, score]: Content): FetchedState {
  const payloads: ScoredPayload[] = score === null ? JSON.parse(text) : [[text, Number(score)]]
  return { performIn: Number(performIn), retryCount, stalls, suspect, error, payloads }
}

function inFlightOf([id, shard, take, token, owner, takenAt]: Told): OrderedInFlight {
  return { id, ticket: ticketOf(shard, take, id), shard, token, owner: owner ?? '', fetchedAt: takenAt }
}
