/**
 * One step of an owner of shards: settles ids that ended, then fetches ids that are due. The number of its statements does not
 * grow with the number of ids.
 */

import {
  type FetchedBatch,
  ORDERED_BYTES,
  type OrderedEnd,
  type OrderedSettleAndFetch,
  type OrderedSettleAndFetchAnswer,
  type OrderedSettlement,
} from '../../contract.ts'
import { type InFlight, newRow, type WaitingRow } from '../../sql/ordered-rows.ts'
import { Tables } from '../server/database.ts'
import { sql } from '../sql.generated.ts'
import { InFlightTable, ticketOf } from './in-flight.ts'
import { type Death, MorgueTable } from './morgue.ts'
import type { OpenQueue, OwnersQueue, Shard } from './open-queue.ts'
import { PayloadTable } from './payloads.ts'
import { WaitingTable } from './waiting.ts'

type SettleAnswer = OrderedSettleAndFetchAnswer['settled'][number]
type FetchAnswer = OrderedSettleAndFetchAnswer['fetched'][number]

/** A waiting id that may be fetched. */
interface Due {
  shard: number
  id: string
  performIn: number
  size: number
  /** The score and the bytes of the only payload; null: there are several. */
  score: number | null
  bytes: number | null
  retryCount: number
  crashes: number
  suspect: number
  error: string | null
}

/** An id that is fetched. */
interface Chosen {
  row: Due
  batch: FetchedBatch
  shard: Shard
  /** The number of payloads that are fetched. */
  n: number
}

/** The shard with its request. */
type Asked = readonly [shard: Shard, n: number]

export class SettleAndFetchStep extends Tables {
  readonly #waiting = this.db.get(WaitingTable)
  readonly #payloads = this.db.get(PayloadTable)
  readonly #flights = this.db.get(InFlightTable)
  readonly #morgue = this.db.get(MorgueTable)

  /** `owner` is the id of an owner with a lease. */
  async run(
    { open, hasCancelled }: OwnersQueue,
    owner: number,
    request: OrderedSettleAndFetch,
  ): Promise<OrderedSettleAndFetchAnswer> {
    const asked = await this.#asked(open, owner, request)
    const { rest, due } = await this.#settleDone(open, owner, request.settlements, asked)
    const settled = await this.#settleRest(open, owner, rest, request)
    const fetched = await this.#fetchAll(open, asked, due ?? (await this.#step(open, [], asked)).due, request)
    const cancelled = hasCancelled ? await this.#cancelled(open, owner) : []
    return { settled, fetched, paused: open.queue.paused === 1, shards: open.queue.shards, cancelled }
  }

  async #cancelled(open: OpenQueue, owner: number): Promise<OrderedSettleAndFetchAnswer['cancelled']> {
    type Row = { id: string; shard: number; fetchNumber: number }
    const rows = await this.db.all<Row>(sql.inFlight.cancelled, open.id, owner)
    return rows.map(({ id, shard, fetchNumber }) => ({ id, ticket: ticketOf(shard, fetchNumber, id) }))
  }

  /** Returns the shards that the owner asks for and has. */
  async #asked(open: OpenQueue, owner: number, { fetch }: OrderedSettleAndFetch): Promise<Map<number, Asked>> {
    const asked = new Map<number, Asked>()
    for (const { shard: number, token, n } of fetch) {
      const shard = await owned(open, number, owner, token)
      if (shard) asked.set(number, [shard, open.queue.paused ? 0 : n])
    }
    return asked
  }

  /**
   * Settles ids that are done and have no other changes, and returns the other settlements. If there are none, the statement
   * also reads what is due; undefined: the others may change it.
   */
  async #settleDone(
    open: OpenQueue,
    owner: number,
    settlements: readonly OrderedSettlement[],
    asked: ReadonlyMap<number, Asked>,
  ): Promise<{ rest: readonly OrderedSettlement[]; due?: Map<number, Due[]> }> {
    const tried = new Map<string, OrderedSettlement & { fetchNumber: number }>()
    for (const settlement of settlements) {
      const { id, ticket, shard, token, end } = settlement
      if (end.kind !== 'done' || tried.has(id) || !(await owned(open, shard, owner, token))) continue
      const fetchNumber = fetchNumberOf(ticket, shard, id)
      if (fetchNumber !== undefined) tried.set(id, { ...settlement, fetchNumber })
    }
    if (tried.size === 0 && settlements.length > 0) return { rest: settlements }
    const candidates = [...tried.values()]
    const { ended, due } = await this.#step(open, candidates, tried.size === settlements.length ? asked : new Map())
    if (ended.length === settlements.length) {
      for (const { shard } of candidates) await count(open, shard, 'done', false)
      return { rest: [], due }
    }
    const done = new Set<string>()
    for (const nth of ended) {
      const { id, shard } = candidates[nth - 1] as OrderedSettlement
      await count(open, shard, 'done', false)
      done.add(id)
    }
    // Of an id that is named twice only the first settlement with its ticket is done.
    return { rest: settlements.filter(({ id, ticket }) => !(tried.get(id)?.ticket === ticket && done.delete(id))) }
  }

  /** Deletes ids in flight that are done. Returns the places of those that were there, and the ids that are due, by shard. */
  async #step(
    open: OpenQueue,
    candidates: readonly { id: string; shard: number; fetchNumber: number }[],
    asked: ReadonlyMap<number, Asked>,
  ): Promise<{ ended: number[]; due: Map<number, Due[]> }> {
    const ended: number[] = []
    const due = new Map<number, Due[]>()
    if (candidates.length + asked.size === 0) return { ended, due }
    const settled = (['id', 'shard', 'fetchNumber'] as const).map((name) => candidates.map((one) => one[name]))
    // One more than is fetched: the next one.
    const fetched = [[...asked.keys()], Array.from(asked.values(), ([, n]) => n + 1)]
    type Row = Due & { nth: number | null }
    for (const row of await this.db.all<Row>(sql.waiting.step, open.id, ...settled, ...fetched)) {
      const there = due.get(row.shard)
      if (row.nth !== null) ended.push(row.nth)
      else if (there) there.push(row)
      else due.set(row.shard, [row])
    }
    return { ended, due }
  }

  async #settleRest(
    open: OpenQueue,
    owner: number,
    rest: readonly OrderedSettlement[],
    { settlements, now }: OrderedSettleAndFetch,
  ): Promise<SettleAnswer[]> {
    if (rest.length === 0) return settlements.map(() => 'ok')
    const whole = new Set(rest.filter(({ end }) => needsPayloads(end.kind)).map(({ id }) => id))
    const others = new Set(rest.map(({ id }) => id).filter((id) => !whole.has(id)))
    const flights = await this.#flights.find(open.id, [...whole], [...others])
    const ended: InFlight[] = []
    const deaths: Death[] = []
    const answers = new Map<OrderedSettlement, SettleAnswer>()
    for (const settlement of rest) {
      const { id, ticket, shard: number, token, end } = settlement
      const flight = flights.get(id)
      const shard = await owned(open, number, owner, token)
      if (!flight || !shard || flight.shard !== number || ticketOf(number, flight.fetchNumber, id) !== ticket) {
        answers.set(settlement, 'fenced')
        continue
      }
      // An id that is named twice in a call is settled once.
      flights.delete(id)
      ended.push(flight)
      await count(open, number, end.kind, flight.cancelled)
      if (end.kind === 'done' || flight.cancelled) flight.fetched = null
      else applyEnd(flight, end, now, deaths)
    }
    await this.#morgue.enter(open, deaths, now)
    await this.#flights.remove(
      open.id,
      ended.map(({ id }) => id),
    )
    await this.#flights.requeue(open, ended)
    return settlements.map((settlement) => answers.get(settlement) ?? 'ok')
  }

  async #fetchAll(
    open: OpenQueue,
    asked: ReadonlyMap<number, Asked>,
    due: ReadonlyMap<number, Due[]>,
    request: OrderedSettleAndFetch,
  ): Promise<FetchAnswer[]> {
    const chosen = await this.#choose(open, asked, due, request)
    const nextOf = (number: number) => due.get(number)?.[chosen.get(number)?.length ?? 0]?.performIn ?? null
    for (const [shard] of asked.values()) open.setNextDue(shard, nextOf(shard.shard))
    await this.#move(open, chosen, request.now)
    return request.fetch.map(({ shard }) => {
      if (!asked.has(shard)) return { lost: true, ids: [], next: null }
      return { lost: false, ids: (chosen.get(shard) ?? []).map(({ batch }) => batch), next: nextOf(shard) }
    })
  }

  /** Chooses the ids to fetch from the beginning of each shard, within the bytes of a call. */
  async #choose(
    open: OpenQueue,
    asked: ReadonlyMap<number, Asked>,
    due: ReadonlyMap<number, Due[]>,
    request: OrderedSettleAndFetch,
  ): Promise<Map<number, Chosen[]>> {
    const now = request.now / 1000
    const candidates = [...asked].map(([number, [shard, n]]) => {
      const rows = (due.get(number) ?? []).slice(0, shard.alone ? 0 : n)
      const later = rows.findIndex(({ performIn }) => performIn > now)
      return [shard, later === -1 ? rows : rows.slice(0, later)] as const
    })
    const several = candidates.flatMap(([, rows]) => rows.filter(({ bytes }) => bytes === null).map(({ id }) => id))
    const sizes = await this.#payloads.sizes(open.id, several, request.maxPayloads)
    const chosen = new Map<number, Chosen[]>()
    /** The bytes that the call may still fetch; undefined: nothing was fetched yet. */
    let left: number | undefined
    for (const [shard, rows] of candidates) {
      const ids: Chosen[] = []
      for (const row of rows) {
        if (row.suspect && shard.busy + ids.length > 0) break
        const { n, sum, isCut } = fitting(row.bytes === null ? (sizes.get(row.id) ?? []) : [row.bytes], left)
        if (isCut && left !== undefined) break
        // The first payload may exceed the limit.
        left = Math.max(0, (left ?? ORDERED_BYTES) - sum)
        ids.push({ row, batch: batchOf(row), shard, n })
        if (row.suspect) {
          shard.alone = 1
          break
        }
      }
      if (ids.length > 0) chosen.set(shard.shard, ids)
    }
    return chosen
  }

  /** Puts the chosen ids in flight. */
  async #move(open: OpenQueue, chosen: ReadonlyMap<number, Chosen[]>, now: number): Promise<void> {
    const all = [...chosen.values()].flat()
    if (all.length === 0) return
    for (const [number, ids] of chosen) {
      const shard = await open.changeShard(number)
      // A standby to which the store failed over may not have received the last fetches. A number of at least the
      // current time is above theirs.
      shard.fetchNumber = Math.max(shard.fetchNumber + 1, now)
      shard.busy += ids.length
      for (const { batch } of ids) batch.ticket = ticketOf(number, shard.fetchNumber, batch.id)
    }
    await open.removeWaiting(all.map(({ row }) => ({ ...row, inFlight: 0 })))
    await this.#moveSingle(
      open,
      all.filter(({ row }) => row.bytes !== null),
      now,
    )
    await this.#moveSeveral(
      open,
      all.filter(({ row }) => row.bytes === null),
      now,
    )
  }

  /** Puts ids with one payload in flight. */
  async #moveSingle(open: OpenQueue, chosen: readonly Chosen[], now: number): Promise<void> {
    if (chosen.length === 0) return
    const columns = [chosen.map(({ row }) => row.id), chosen.map(({ shard }) => shard.fetchNumber)]
    const values = [...columns, now, ...open.drainShards()]
    const rows = await this.db.all<{ id: string; text: string }>(sql.waiting.fetch, open.id, ...values)
    const texts = new Map(rows.map(({ id, text }) => [id, text]))
    for (const { row, batch } of chosen) batch.payloads = [[texts.get(row.id) as string, row.score as number]]
  }

  /** Puts ids with several payloads in flight with the lowest ones. The others wait without failures. */
  async #moveSeveral(open: OpenQueue, chosen: readonly Chosen[], now: number): Promise<void> {
    if (chosen.length === 0) return
    const taken = await this.#payloads.drain(
      open.id,
      chosen.map(({ row, n }) => [row.id, n] as const),
    )
    for (const { batch } of chosen) batch.payloads = taken.get(batch.id) ?? []
    const columns = [
      chosen.map(({ row }) => row.id),
      chosen.map(({ row }) => row.shard),
      chosen.map(({ shard }) => shard.fetchNumber),
      chosen.map(({ row, n }) => Number(n < row.size)),
      ...(['performIn', 'retryCount', 'crashes', 'suspect', 'error'] as const).map((name) =>
        chosen.map(({ row }) => row[name]),
      ),
      chosen.map(({ batch }) => JSON.stringify(batch.payloads)),
    ]
    await this.db.run(sql.inFlight.add, open.id, now, ...columns)
    const rests = chosen.filter(({ row, n }) => n < row.size).map(restOf)
    await this.#waiting.change(open.id, rests)
    const gone = chosen.filter(({ row, n }) => n === row.size).map(restOf)
    await this.#waiting.removeRows(open.id, gone)
  }
}

/** Returns the row of an id with several payloads after its fetch. */
function restOf({ row: { id, shard, performIn, size }, n }: Chosen): WaitingRow {
  return { ...newRow(id, { shard, inFlight: 1, performIn, retryCount: -1 }), size: size - n }
}

/** Changes the fetched state as the end says; null: no payloads wait again. */
function applyEnd(flight: InFlight, end: OrderedEnd, now: number, deaths: Death[]): void {
  const { id, fetched } = flight
  if (!fetched) return
  const fresh = { crashes: 0, suspect: 0 }
  if ('state' in end) {
    const { performIn, retryCount, error } = end.state
    Object.assign(fetched, fresh, { performIn, retryCount, error: error?.toWellFormed() ?? null })
  }
  if (end.kind === 'dead') {
    const error = end.error.toWellFormed()
    deaths.push({ id, payloads: fetched.payloads.slice(0, 1), error })
    const payloads = fetched.payloads.slice(1)
    Object.assign(fetched, fresh, { payloads, performIn: now / 1000, retryCount: -1, error })
  }
  if (fetched.payloads.length === 0) flight.fetched = null
}

/** Returns a shard if the owner has it with this token. */
async function owned(open: OpenQueue, number: number, owner: number, token: number): Promise<Shard | undefined> {
  const shard = await open.readShard(number)
  if (shard?.owner !== owner || shard.token !== token) return undefined
  // The owner has received the deaths together with the token.
  if (shard.died !== null) (await open.changeShard(number)).died = null
  return shard
}

/** Returns the number of the fetch that a ticket names; undefined: it is not a ticket of this id in this shard. */
function fetchNumberOf(ticket: string, shard: number, id: string): number | undefined {
  const number = Number(ticket.slice(`${shard}.`.length, ticket.length - `:${id}`.length))
  return Number.isSafeInteger(number) && ticket === ticketOf(shard, number, id) ? number : undefined
}

/** Counts an id that ended. A cancelled id counts only if it is done. */
async function count(open: OpenQueue, number: number, kind: OrderedEnd['kind'], cancelled: boolean): Promise<void> {
  const shard = await open.changeShard(number)
  shard.busy--
  if (shard.busy === 0) shard.alone = 0
  if (kind === 'done') shard.processed++
  if ((kind === 'failed' || kind === 'dead') && !cancelled) shard.failed++
}

function needsPayloads(kind: OrderedSettlement['end']['kind']): boolean {
  return kind !== 'done' && kind !== 'cancelled'
}

/** Returns the number of payloads that fit, at least one, and their bytes. */
function fitting(sizes: readonly number[], room = ORDERED_BYTES): { n: number; sum: number; isCut: boolean } {
  let n = 0
  let sum = 0
  for (const size of sizes) {
    if (n > 0 && sum + size > room) break
    n++
    sum += size
  }
  return { n, sum, isCut: n < sizes.length || sum > room }
}

function batchOf({ id, performIn, retryCount, error, crashes, suspect }: Due): FetchedBatch {
  return { id, ticket: '', payloads: [], performIn, retryCount, error, crashes, suspect: suspect === 1 }
}
