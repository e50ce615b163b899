/** Ids in flight: reading them, and moving them back to the queue or to the morgue. */

import {
  type AcquiredShard,
  type OrderedInFlight,
  type OrderedState,
  type ScoredPayload,
  shardOf,
} from '../../contract.ts'
import { Tables } from '../file/database.ts'
import { sql } from '../sql.generated.ts'
import { BEHIND_ALL } from './limits.ts'
import { MorgueTable } from './morgue.ts'
import type { OpenQueue } from './open-queue.ts'
import { type Change, newRow, type WaitingRow, WaitingTable } from './waiting.ts'

export interface InFlight {
  id: string
  shard: number
  fetchNumber: number
  cancelled: boolean
  /** Whether the id has waiting payloads. */
  waits: boolean
  fetched: FetchedState | null
}

/** The state of an id at its fetch. */
export interface FetchedState extends OrderedState {
  crashes: number
  suspect: number
  payloads: ScoredPayload[]
}

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
      found.set(id, {
        id,
        shard,
        fetchNumber,
        cancelled: cancelled === 1,
        waits: waits === 1,
        fetched: content && fetchedOf(content),
      })
    }
    return found
  }

  /** Returns those of the ids that are in flight. */
  among(queue: number, ids: readonly string[]): Set<string> {
    if (ids.length === 0) return new Set()
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

  /** Makes the payloads that were pushed meanwhile ready to be fetched. */
  releaseWaiting(open: OpenQueue, flights: readonly InFlight[]): void {
    const ids = flights.filter(({ waits }) => waits).map(({ id }) => id)
    for (const row of this.#waiting.find(open.id, ids).values()) this.#releaseRow(open, row)
  }

  /** Puts the fetched payloads back, merged with those pushed meanwhile. The ids must not be in flight any more. */
  requeue(open: OpenQueue, flights: readonly InFlight[]): void {
    const ids = flights.filter(({ waits }) => waits).map(({ id }) => id)
    const waiting = this.#waiting.find(open.id, ids)
    const fresh: WaitingRow[] = []
    const back: WaitingRow[] = []
    const changes: Change[] = []
    for (const { id, fetched } of flights) {
      if (!fetched) continue
      const { performIn, retryCount, error, crashes, suspect, payloads } = fetched
      const there = waiting.get(id)
      const row = there ?? newRow(id, { shard: shardOf(id, open.queue.shards), inFlight: 0, performIn, retryCount })
      Object.assign(row, { performIn, retryCount, error, crashes, suspect })
      changes.push([row, payloads])
      if (there) {
        back.push(there)
      } else {
        fresh.push(row)
        open.addWaiting(row)
      }
    }
    this.#waiting.add(open.id, changes)
    for (const row of back) this.#releaseRow(open, row)
    this.#waiting.enter(open.id, fresh)
  }

  #releaseRow(open: OpenQueue, row: WaitingRow): void {
    row.inFlight = 0
    row.shard = shardOf(row.id, open.queue.shards)
    this.#waiting.change(open.id, row)
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
    const left = flights.filter(({ cancelled }) => !cancelled)
    this.releaseWaiting(
      open,
      flights.filter(({ cancelled }) => cancelled),
    )
    if (maxCrashes !== undefined) blame(flights)
    const dead = maxCrashes === undefined ? [] : left.filter(({ fetched }) => (fetched?.crashes ?? 0) >= maxCrashes)
    const died = dead.map(({ id, fetched }) => {
      const { payloads, crashes } = fetched as FetchedState
      return this.#morgue.enter(open, id, payloads, `crashed ${crashes} times`, now)
    })
    this.releaseWaiting(open, dead)
    const saved = left.filter((flight) => !dead.includes(flight))
    this.requeue(open, saved)
    return { rescued: saved.length, died }
  }

  /** Returns the ids in flight of one owner or of all; with `only`, at most this id. */
  list(queue: number, owner: string | null, only?: string): OrderedInFlight[] {
    const range = [only ?? '', only ?? BEHIND_ALL] as const
    const rows = this.db.list<InFlightColumns>(sql.inFlight.list, queue, owner, ...range)
    return rows.map(([id, shard, fetchNumber, token, name, fetchedAt]) => ({
      id,
      ticket: ticketOf(shard, fetchNumber, id),
      shard,
      token,
      owner: name ?? '',
      fetchedAt,
    }))
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

/** Counts a crash of an id that was alone in flight; several ids become suspects. */
function blame(flights: readonly InFlight[]): void {
  for (const { fetched } of flights) {
    if (!fetched) continue
    if (flights.length === 1) fetched.crashes++
    else fetched.suspect = 1
  }
}

function fetchedOf([performIn, retryCount, crashes, suspect, error, text, score]: Content): FetchedState {
  const payloads: ScoredPayload[] = score === null ? JSON.parse(text) : [[text, Number(score)]]
  return { performIn: Number(performIn), retryCount, crashes, suspect, error, payloads }
}
