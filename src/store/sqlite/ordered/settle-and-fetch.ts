/** One step of an owner of shards: settles ids that ended, then fetches ids that are due. */

import {
  type FetchedBatch,
  ORDERED_BYTES,
  type OrderedEnd,
  type OrderedSettleAndFetch,
  type OrderedSettleAndFetchAnswer,
  type OrderedSettlement,
  type ScoredPayload,
} from '../../contract.ts'
import type { InFlight, ShardRow } from '../../sql/ordered-rows.ts'
import { Tables } from '../file/database.ts'
import { sql } from '../sql.generated.ts'
import { InFlightTable, parseFetch, ticketOf } from './in-flight.ts'
import { MorgueTable } from './morgue.ts'
import type { OpenQueue } from './open-queue.ts'
import { WaitingTable } from './waiting.ts'

type SettleAnswer = OrderedSettleAndFetchAnswer['settled'][number]
type FetchAnswer = OrderedSettleAndFetchAnswer['fetched'][number]

/** id, performIn, size, bytes, score, text if it is short, and the state of an id that has failed or crashed. */
type Due = [string, string, number, number | null, string, string | null, FailedState | null]
type FailedState = [retryCount: number, crashes: number, suspect: number, error: string | null]

/** The bytes that the call may still fetch; undefined: nothing was fetched yet. */
interface ByteBudget {
  left: number | undefined
}

/** A bulk settlement changed only some of its ids, and it is not known which. The call must run again one by one. */
export class UnclearBulkSettlement extends Error {}

export class SettleAndFetchStep extends Tables {
  readonly #waiting = this.db.get(WaitingTable)
  readonly #flights = this.db.get(InFlightTable)
  readonly #morgue = this.db.get(MorgueTable)

  /** `owner` is the id of an owner with a lease. With `oneByOne` no settlements are applied in bulk. */
  run(open: OpenQueue, owner: number, request: OrderedSettleAndFetch, oneByOne: boolean): OrderedSettleAndFetchAnswer {
    const settled = this.#settle(open, owner, request, oneByOne)
    const budget: ByteBudget = { left: undefined }
    const fetched = request.fetch.map(({ shard, token, n }): FetchAnswer => {
      const mine = owned(open, shard, owner, token)
      return mine
        ? this.#fetch(open, mine, open.queue.paused ? 0 : n, request, budget)
        : { lost: true, ids: [], next: null }
    })
    const cancelled = this.db.list<[string, number, number]>(sql.inFlight.cancelled, open.id, owner)
    return {
      settled,
      fetched,
      paused: open.queue.paused === 1,
      shards: open.queue.shards,
      cancelled: cancelled.map(([id, shard, fetchNumber]) => ({ id, ticket: ticketOf(shard, fetchNumber, id) })),
    }
  }

  #settle(
    open: OpenQueue,
    owner: number,
    { settlements, now }: OrderedSettleAndFetch,
    oneByOne: boolean,
  ): SettleAnswer[] {
    const rest = oneByOne ? settlements : this.#settleInBulk(open, owner, settlements)
    if (rest.length === 0) return settlements.map(() => 'ok')
    const whole = new Set(rest.filter(({ end }) => needsPayloads(end.kind)).map(({ id }) => id))
    const others = new Set(rest.map(({ id }) => id).filter((id) => !whole.has(id)))
    const flights = this.#flights.find(open.id, [...whole], [...others])
    const ended: InFlight[] = []
    const answers = new Map<OrderedSettlement, SettleAnswer>()
    for (const settlement of rest) {
      const { id, ticket, shard: number, token, end } = settlement
      const flight = flights.get(id)
      const shard = owned(open, number, owner, token)
      if (!flight || !shard || flight.shard !== number || ticketOf(number, flight.fetchNumber, id) !== ticket) {
        answers.set(settlement, 'fenced')
        continue
      }
      // An id that is named twice in a call is settled once.
      flights.delete(id)
      ended.push(flight)
      count(open, number, end.kind, flight.cancelled, 1)
      const goesBack = end.kind !== 'done' && !flight.cancelled && this.#applyEnd(open, flight, end, now)
      if (!goesBack) flight.fetched = null
    }
    const ids = ended.map(({ id }) => id)
    this.#flights.remove(open.id, ids)
    this.#flights.requeue(open, ended)
    return settlements.map((settlement) => answers.get(settlement) ?? 'ok')
  }

  /**
   * Settles ids that are done and have no other changes, with one statement for each fetch. Returns the other settlements.
   * @throws UnclearBulkSettlement if only some of the ids of a fetch could be settled
   */
  #settleInBulk(open: OpenQueue, owner: number, settlements: readonly OrderedSettlement[]): OrderedSettlement[] {
    const rest: OrderedSettlement[] = []
    const groups = new Map<string, OrderedSettlement[]>()
    for (const settlement of settlements) {
      const { id, ticket, shard, token, end } = settlement
      const fetch = ticket.slice(0, ticket.length - id.length)
      if (end.kind !== 'done' || !owned(open, shard, owner, token) || ticket !== fetch + id) {
        rest.push(settlement)
        continue
      }
      const group = groups.get(fetch)
      if (group) group.push(settlement)
      else groups.set(fetch, [settlement])
    }
    for (const [fetch, group] of groups) {
      const { shard, number } = parseFetch(fetch)
      const ids = group.map(({ id }) => id)
      const ended = this.db.run(sql.inFlight.done, open.id, shard, number, JSON.stringify(ids))
      count(open, shard, 'done', false, ended)
      if (ended === group.length) continue
      const left = this.#flights.find(open.id, [], ids)
      if (left.size !== group.length - ended) throw new UnclearBulkSettlement()
      rest.push(...group.filter(({ id }) => left.has(id)))
    }
    return rest
  }

  /** Changes the fetched state as the end says. Returns whether payloads wait again. */
  #applyEnd(open: OpenQueue, { id, fetched }: InFlight, end: OrderedEnd, now: number): boolean {
    if (!fetched) return false
    const fresh = { crashes: 0, suspect: 0 }
    if ('state' in end) {
      const { performIn, retryCount, error } = end.state
      Object.assign(fetched, fresh, { performIn, retryCount, error: error?.toWellFormed() ?? null })
    }
    if (end.kind === 'dead') {
      const error = end.error.toWellFormed()
      this.#morgue.enter(open, id, fetched.payloads.slice(0, 1), error, now)
      const payloads = fetched.payloads.slice(1)
      Object.assign(fetched, fresh, { payloads, performIn: now / 1000, retryCount: -1, error })
    }
    return fetched.payloads.length > 0
  }

  #fetch(open: OpenQueue, shard: ShardRow, n: number, request: OrderedSettleAndFetch, budget: ByteBudget): FetchAnswer {
    const rows = this.db.list<Due>(sql.waiting.due, open.id, shard.shard, n + 1)
    const now = request.now / 1000
    const ids: FetchedBatch[] = []
    /** The last id with one payload. All such ids up to it are moved with one statement. */
    let last: FetchedBatch | undefined
    for (const row of shard.alone ? [] : rows.slice(0, n)) {
      const batch = batchOf(row)
      const [id, , size, bytes, , text] = row
      if (batch.performIn > now) break
      if (batch.suspect && shard.busy + ids.length > 0) break
      if (bytes !== null && budget.left !== undefined && bytes > budget.left) break
      if (bytes === null) {
        const { n, sum, isCut } = this.#fitting(open, id, request.maxPayloads, budget)
        if (isCut && budget.left !== undefined) break
        batch.payloads = this.#waiting.lowestPayloads(open.id, id, n)
        spend(budget, sum)
      } else {
        batch.payloads = [[text ?? this.#text(open, id), Number(row[4])]]
        spend(budget, bytes)
        last = batch
      }
      if (ids.length === 0) open.changeShard(shard.shard).fetchNumber++
      batch.ticket = ticketOf(shard.shard, shard.fetchNumber, id)
      ids.push(batch)
      open.removeWaiting({ shard: shard.shard, inFlight: 0, performIn: batch.performIn, retryCount: batch.retryCount })
      if (bytes === null) this.#moveSeveral(open, shard, batch, size, request.now)
      if (batch.suspect) {
        shard.alone = 1
        break
      }
    }
    if (last) {
      const upTo = [open.id, shard.shard, last.performIn, last.id] as const
      this.db.run(sql.waiting.fetch, ...upTo, shard.fetchNumber, request.now)
      this.db.run(sql.waiting.deleteFetched, ...upTo)
    }
    shard.busy += ids.length
    const left = rows[ids.length]
    const next = left ? Number(left[1]) : null
    open.setNextDue(shard, next)
    return { lost: false, ids, next }
  }

  #text(open: OpenQueue, id: string): string {
    return this.db.first<{ text: string }>(sql.waiting.text, open.id, id)?.text ?? ''
  }

  /** Returns the number of the lowest payloads that fit, at least one, and their bytes. */
  #fitting(open: OpenQueue, id: string, most: number, { left: room = ORDERED_BYTES }: ByteBudget) {
    const sizes = this.db.list<number>(sql.payload.sizes, open.id, id, most)
    let n = 0
    let sum = 0
    for (const size of sizes) {
      if (n > 0 && sum + size > room) break
      n++
      sum += size
    }
    return { n, sum, isCut: n < sizes.length || sum > room }
  }

  /** Puts an id with several payloads in flight with the lowest ones. The others wait without failures. */
  #moveSeveral(
    open: OpenQueue,
    { shard, fetchNumber }: ShardRow,
    batch: FetchedBatch,
    size: number,
    now: number,
  ): void {
    const { id, performIn, retryCount, error, crashes, suspect, payloads } = batch
    const more = Number(payloads.length < size)
    const state = [performIn, retryCount, crashes, Number(suspect), error] as const
    this.db.run(sql.inFlight.add, open.id, id, shard, fetchNumber, now, more, ...state, JSON.stringify(payloads))
    const row = { id, shard, inFlight: 1, performIn, retryCount: -1, crashes: 0, suspect: 0, error: null }
    const waiting = { ...row, size, score: null, text: null }
    if (payloads.length === size) {
      this.#waiting.remove(open.id, [waiting])
    } else {
      this.#waiting.dropTo(open.id, waiting, payloads.length, payloads.at(-1) as ScoredPayload)
      this.#waiting.change(open.id, waiting)
    }
  }
}

/** Returns a shard if the owner has it with this token. */
function owned(open: OpenQueue, number: number, owner: number, token: number): ShardRow | undefined {
  const shard = open.readShard(number)
  return shard?.owner === owner && shard.token === token ? shard : undefined
}

/** Counts ids that ended. A cancelled id counts only if it is done. */
function count(open: OpenQueue, number: number, kind: OrderedEnd['kind'], cancelled: boolean, n: number): void {
  if (n === 0) return
  const shard = open.changeShard(number)
  shard.busy -= n
  if (shard.busy === 0) shard.alone = 0
  if (kind === 'done') shard.processed += n
  if ((kind === 'failed' || kind === 'dead') && !cancelled) shard.failed += n
}

function needsPayloads(kind: OrderedSettlement['end']['kind']): boolean {
  return kind !== 'done' && kind !== 'cancelled'
}

function batchOf([id, performIn, , , , , special]: Due): FetchedBatch {
  const [retryCount, crashes, suspect, error] = special ?? [-1, 0, 0, null]
  const state = { performIn: Number(performIn), retryCount, error, crashes, suspect: suspect === 1 }
  return { id, ticket: '', payloads: [], ...state }
}

/** Reduces the budget. The first payload may exceed it. */
function spend(budget: ByteBudget, bytes: number): void {
  budget.left = Math.max(0, (budget.left ?? ORDERED_BYTES) - bytes)
}
