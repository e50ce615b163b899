/** Ids in flight: reading them, and moving them back to the queue or to the morgue. */

import { type AcquiredShard, type OrderedInFlight, type ScoredPayload, shardOf } from '../../contract.ts'
import {
  blame,
  type Change,
  type FetchedState,
  type InFlight,
  newRow,
  type WaitingRow,
} from '../../sql/ordered-rows.ts'
import { Tables } from '../server/database.ts'
import { sql } from '../sql.generated.ts'
import { type Death, MorgueTable } from './morgue.ts'
import type { OpenQueue } from './open-queue.ts'
import { WaitingTable } from './waiting.ts'

type FoundRow = Omit<InFlight, 'fetched'> &
  Omit<FetchedState, 'payloads'> & {
    score: number | null
    /** null: the payloads were not asked for. */
    text: string | null
  }

export class InFlightTable extends Tables {
  readonly #waiting = this.db.get(WaitingTable)
  readonly #morgue = this.db.get(MorgueTable)

  /** Returns those of the ids that are in flight; those in `whole` with their state at the fetch. */
  async find(queue: number, whole: readonly string[], others: readonly string[] = []): Promise<Map<string, InFlight>> {
    const names = [...whole, ...others]
    if (names.length === 0) return new Map()
    const rows = await this.db.all<FoundRow>(sql.inFlight.find, queue, names, whole.length)
    return new Map(rows.map((row) => [row.id, { ...row, fetched: fetchedOf(row) }]))
  }

  /** Returns those of the ids that are in flight. */
  async among(queue: number, ids: readonly string[]): Promise<Set<string>> {
    if (ids.length === 0) return new Set()
    const rows = await this.db.all<{ id: string }>(sql.inFlight.among, queue, ids)
    return new Set(rows.map(({ id }) => id))
  }

  /** Stores that these ids have waiting payloads. */
  async noteWaiting(queue: number, rows: readonly { id: string }[]): Promise<void> {
    if (rows.length === 0) return
    await this.db.run(
      sql.inFlight.noteWaiting,
      queue,
      rows.map(({ id }) => id),
    )
  }

  /** Deletes ids. The caller decides where their payloads go. */
  async remove(queue: number, ids: readonly string[]): Promise<void> {
    if (ids.length > 0) await this.db.run(sql.inFlight.remove, queue, ids)
  }

  /**
   * Puts back the fetched payloads (`fetched`), merged with those pushed meanwhile, which can be fetched from now on. The
   * ids must not be in flight any more.
   */
  async requeue(open: OpenQueue, flights: readonly InFlight[]): Promise<void> {
    const ids = flights.filter(({ waits }) => waits).map(({ id }) => id)
    const waiting = await this.#waiting.find(open.id, ids)
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
    await this.#waiting.add(open.id, changes)
    const rows = [...waiting.values(), ...fresh]
    // They can be fetched, in the shards that they belong to now.
    for (const row of rows) Object.assign(row, { inFlight: 0, shard: shardOf(row.id, open.queue.shards) })
    await open.addWaiting(rows)
    await this.#waiting.change(open.id, [...waiting.values()])
    await this.#waiting.enter(open.id, fresh)
  }

  /**
   * Puts all ids of a shard back with their state at the fetch, except cancelled ones. With `maxCrashes` the owner has
   * crashed, and an id that was alone in flight is counted as the cause.
   */
  async requeueShard(
    open: OpenQueue,
    number: number,
    now: number,
    maxCrashes?: number,
  ): Promise<Omit<AcquiredShard, 'token'>> {
    const shard = await open.changeShard(number)
    shard.alone = 0
    if (shard.busy === 0) return { rescued: 0, died: [] }
    shard.busy = 0
    const ids = (await this.db.all<{ id: string }>(sql.inFlight.ofShard, open.id, number)).map(({ id }) => id)
    const flights = [...(await this.find(open.id, ids)).values()]
    await this.remove(open.id, ids)
    if (maxCrashes !== undefined) blame(flights)
    let rescued = 0
    const deaths: Death[] = []
    for (const flight of flights) {
      const { id, fetched, cancelled } = flight
      const dies = !cancelled && maxCrashes !== undefined && fetched && fetched.crashes >= maxCrashes
      if (dies) deaths.push({ id, payloads: fetched.payloads, error: `crashed ${fetched.crashes} times` })
      if (dies || cancelled) flight.fetched = null
      else rescued++
    }
    const died = await this.#morgue.enter(open, deaths, now)
    await this.requeue(open, flights)
    return { rescued, died }
  }

  /** Returns the ids in flight of one owner or of all; with `only`, at most this id. */
  async list(queue: number, owner: string | null, only: string | null = null): Promise<OrderedInFlight[]> {
    type Row = Omit<OrderedInFlight, 'ticket' | 'owner'> & { fetchNumber: number; owner: string | null }
    const rows = await this.db.all<Row>(sql.inFlight.list, queue, owner, only)
    return rows.map(({ fetchNumber, owner: name, ...row }) => {
      return { ...row, ticket: ticketOf(row.shard, fetchNumber, row.id), owner: name ?? '' }
    })
  }
}

/** Returns a ticket. One fetch has an id at most once. */
export function ticketOf(shard: number, fetchNumber: number, id: string): string {
  return `${shard}.${fetchNumber}:${id}`
}

function fetchedOf({ performIn, retryCount, crashes, suspect, error, text, score }: FoundRow): FetchedState | null {
  if (text === null) return null
  const payloads: ScoredPayload[] = score === null ? JSON.parse(text) : [[text, score]]
  return { performIn, retryCount, crashes, suspect, error, payloads }
}
