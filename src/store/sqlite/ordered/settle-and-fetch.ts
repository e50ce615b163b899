/** One step of an owner of shards: what ended is settled, what is due is taken. */

import {
  type FetchedBatch,
  ORDERED_BYTES,
  type OrderedEnd,
  type OrderedSettleAndFetch,
  type OrderedSettleAndFetchAnswer,
  type OrderedSettlement,
  type ScoredPayload,
} from '../../contract.ts'
import type { Database } from '../file/database.ts'
import { sql } from '../sql.generated.ts'
import { type InFlight, type InFlightTable, parseFetch, ticketOf } from './in-flight.ts'
import type { MorgueTable } from './morgue.ts'
import type { OpenQueue, Shard } from './open-queue.ts'
import type { WaitingTable } from './waiting.ts'

type SettleAnswer = OrderedSettleAndFetchAnswer['settled'][number]
type TakeAnswer = OrderedSettleAndFetchAnswer['fetched'][number]

/** id, performIn, size, bytes, score, text if it is short, and what is special about it. */
type Due = [
  string,
  string,
  number,
  number | null,
  string,
  string | null,
  [number, number, number, string | null] | null,
]

/** Bytes that the call may still hand out; undefined: nothing was handed out yet. */
interface ByteBudget {
  left: number | undefined
}

/** The call must be done again, settlement by settlement. */
export class UnclearBulkSettlement extends Error {}

export class SettleAndFetchStep {
  readonly #db: Database
  readonly #waiting: WaitingTable
  readonly #flights: InFlightTable
  readonly #morgue: MorgueTable

  constructor(db: Database, waiting: WaitingTable, flights: InFlightTable, morgue: MorgueTable) {
    this.#db = db
    this.#waiting = waiting
    this.#flights = flights
    this.#morgue = morgue
  }

  /** `owner`: its id; its lease holds. `careful`: once it was muddled. */
  run(open: OpenQueue, owner: number, turn: OrderedSettleAndFetch, careful: boolean): OrderedSettleAndFetchAnswer {
    const settled = this.#settle(open, owner, turn, careful)
    const purse: ByteBudget = { left: undefined }
    const taken = turn.fetch.map(({ shard, token, n }): TakeAnswer => {
      const mine = owned(open, shard, owner, token)
      return mine ? this.#take(open, mine, open.queue.paused ? 0 : n, turn, purse) : { lost: true, ids: [], next: null }
    })
    const marked = this.#db.list<[string, number, number]>(sql.inFlight.cancelled, open.id, owner)
    return {
      settled,
      fetched: taken,
      paused: open.queue.paused === 1,
      shards: open.queue.shards,
      cancelled: marked.map(([id, shard, take]) => ({ id, ticket: ticketOf(shard, take, id) })),
    }
  }

  #settle(
    open: OpenQueue,
    owner: number,
    { settlements, now }: OrderedSettleAndFetch,
    careful: boolean,
  ): SettleAnswer[] {
    const rest = careful ? settlements : this.#endDone(open, owner, settlements)
    if (rest.length === 0) return settlements.map(() => 'ok')
    const whole = new Set(rest.filter(({ end }) => needsContent(end.kind)).map(({ id }) => id))
    const others = new Set(rest.map(({ id }) => id).filter((id) => !whole.has(id)))
    const flights = this.#flights.find(open.id, [...whole], [...others])
    const ended: InFlight[] = []
    const gone: InFlight[] = []
    const back: InFlight[] = []
    const answers = new Map<OrderedSettlement, SettleAnswer>()
    for (const settlement of rest) {
      const { id, ticket, shard: number, token, end } = settlement
      const flight = flights.get(id)
      const shard = owned(open, number, owner, token)
      if (!flight || !shard || flight.shard !== number || ticketOf(number, flight.take, id) !== ticket) {
        answers.set(settlement, 'fenced')
        continue
      }
      // One that is named twice in a call is settled once.
      flights.delete(id)
      ended.push(flight)
      count(open, number, end.kind, flight.cancelled, 1)
      const goesBack = end.kind !== 'done' && !flight.cancelled && this.#turn(open, flight, end, now)
      if (goesBack) back.push(flight)
      else gone.push(flight)
    }
    this.#flights.remove(
      open.id,
      ended.map(({ id }) => id),
    )
    this.#flights.releaseHeld(open, gone)
    this.#flights.requeue(open, back)
    return settlements.map((settlement) => answers.get(settlement) ?? 'ok')
  }

  /**
   * Most are done, and nothing else is known of them: one statement for all of a take. Answers the others.
   * @throws Muddled when it can't be told any more which were there
   */
  #endDone(open: OpenQueue, owner: number, settlements: readonly OrderedSettlement[]): OrderedSettlement[] {
    const rest: OrderedSettlement[] = []
    const groups = new Map<string, OrderedSettlement[]>()
    for (const settlement of settlements) {
      const { id, ticket, shard, token, end } = settlement
      const take = ticket.slice(0, ticket.length - id.length)
      if (end.kind !== 'done' || !owned(open, shard, owner, token) || ticket !== take + id) {
        rest.push(settlement)
        continue
      }
      const group = groups.get(take)
      if (group) group.push(settlement)
      else groups.set(take, [settlement])
    }
    for (const [take, group] of groups) {
      const { shard, number } = parseFetch(take)
      const ids = group.map(({ id }) => id)
      const ended = this.#db.run(sql.inFlight.done, open.id, shard, number, JSON.stringify(ids))
      count(open, shard, 'done', false, ended)
      if (ended === group.length) continue
      const left = this.#flights.find(open.id, [], ids)
      if (left.size !== group.length - ended) throw new UnclearBulkSettlement()
      rest.push(...group.filter(({ id }) => left.has(id)))
    }
    return rest
  }

  /** What becomes of what was taken; false: nothing of it goes back. */
  #turn(open: OpenQueue, { id, fetched: taken }: InFlight, end: OrderedEnd, now: number): boolean {
    if (!taken) return false
    const anew = { stalls: 0, suspect: 0 }
    if ('state' in end) {
      const { performIn, retryCount, error } = end.state
      Object.assign(taken, anew, { performIn, retryCount, error: error?.toWellFormed() ?? null })
    }
    if (end.kind === 'dead') {
      const error = end.error.toWellFormed()
      this.#morgue.enter(open, id, taken.payloads.slice(0, 1), error, now)
      const payloads = taken.payloads.slice(1)
      Object.assign(taken, anew, { payloads, performIn: now / 1000, retryCount: -1, error })
    }
    return taken.payloads.length > 0
  }

  #take(open: OpenQueue, shard: Shard, n: number, turn: OrderedSettleAndFetch, purse: ByteBudget): TakeAnswer {
    const rows = this.#db.list<Due>(sql.waiting.due, open.id, shard.shard, n + 1)
    const now = turn.now / 1000
    const ids: FetchedBatch[] = []
    /** The last one that goes whole, by which all before it are moved at once. */
    let last: FetchedBatch | undefined
    for (const row of shard.alone ? [] : rows.slice(0, n)) {
      const taken = takenOf(row)
      const [id, , size, bytes, , text] = row
      if (taken.performIn > now) break
      if (taken.suspect && shard.busy + ids.length > 0) break
      if (bytes !== null && purse.left !== undefined && bytes > purse.left) break
      if (bytes === null) {
        const { n, sum, isCut } = this.#fitting(open, id, turn.maxPayloads, purse)
        if (isCut && purse.left !== undefined) break
        taken.payloads = this.#several(open, id, n)
        spend(purse, sum)
      } else {
        taken.payloads = [[text ?? this.#text(open, id), Number(row[4])]]
        spend(purse, bytes)
        last = taken
      }
      if (ids.length === 0) open.changeShard(shard.shard).take++
      taken.ticket = ticketOf(shard.shard, shard.take, id)
      ids.push(taken)
      open.removeWaiting({ shard: shard.shard, held: 0, performIn: taken.performIn, retryCount: taken.retryCount })
      if (bytes === null) this.#moveSeveral(open, shard, taken, size, turn.now)
      if (taken.suspect) {
        shard.alone = 1
        break
      }
    }
    if (last) {
      const upTo = [open.id, shard.shard, last.performIn, last.id] as const
      this.#db.run(sql.waiting.take, ...upTo, shard.take, turn.now)
      this.#db.run(sql.waiting.taken, ...upTo)
    }
    shard.busy += ids.length
    const left = rows[ids.length]
    const next = left ? Number(left[1]) : null
    open.setNextDue(shard, next)
    return { lost: false, ids, next }
  }

  #text(open: OpenQueue, id: string): string {
    return this.#db.first<{ text: string }>(sql.waiting.text, open.id, id)?.text ?? ''
  }

  /** How many of the lowest payloads of an id, and how many bytes: at least one, and no more than fit. */
  #fitting(open: OpenQueue, id: string, most: number, { left: room = ORDERED_BYTES }: ByteBudget) {
    const sizes = this.#db.list<number>(sql.payload.sizes, open.id, id, most)
    let n = 0
    let sum = 0
    for (const size of sizes) {
      if (n > 0 && sum + size > room) break
      n++
      sum += size
    }
    return { n, sum, isCut: n < sizes.length || sum > room }
  }

  #several(open: OpenQueue, id: string, most: number): ScoredPayload[] {
    const rows = this.#db.list<[string, string]>(sql.payload.lowest, open.id, id, 0, most)
    return rows.map(([text, score]) => [text, Number(score)])
  }

  /** An id with several payloads goes in flight with the lowest ones; the others wait, fresh. */
  #moveSeveral(open: OpenQueue, { shard, take }: Shard, taken: FetchedBatch, size: number, now: number): void {
    const { id, performIn, retryCount, error, crashes, suspect, payloads } = taken
    const more = Number(payloads.length < size)
    const state = [performIn, retryCount, crashes, Number(suspect), error] as const
    this.#db.run(sql.inFlight.enter, open.id, id, shard, take, now, more, ...state, JSON.stringify(payloads))
    const row = { id, shard, held: 1, performIn, retryCount: -1, stalls: 0, suspect: 0, error: null }
    const waiting = { ...row, size, score: null, text: null }
    if (payloads.length === size) {
      this.#waiting.remove(open.id, [waiting])
    } else {
      this.#waiting.dropTo(open.id, waiting, payloads.length, payloads.at(-1) as ScoredPayload)
      this.#waiting.change(open.id, waiting)
    }
  }
}

/** A shard, if it is the owner's under this token. */
function owned(open: OpenQueue, number: number, owner: number, token: number): Shard | undefined {
  const shard = open.readShard(number)
  return shard?.owner === owner && shard.token === token ? shard : undefined
}

/** What ended under a shard. What was cancelled counts if it is done. */
function count(open: OpenQueue, number: number, kind: OrderedEnd['kind'], cancelled: boolean, n: number): void {
  if (n === 0) return
  const shard = open.changeShard(number)
  shard.busy -= n
  if (shard.busy === 0) shard.alone = 0
  if (kind === 'done') shard.processed += n
  if ((kind === 'failed' || kind === 'dead') && !cancelled) shard.failed += n
}

function needsContent(kind: OrderedSettlement['end']['kind']): boolean {
  return kind !== 'done' && kind !== 'cancelled'
}

function takenOf([id, performIn, , , , , special]: Due): FetchedBatch {
  const [retryCount, crashes, suspect, error] = special ?? [-1, 0, 0, null]
  const state = { performIn: Number(performIn), retryCount, error, crashes, suspect: suspect === 1 }
  return { id, ticket: '', payloads: [], ...state }
}

/** The first payload comes in any case, and spends what it spends. */
function spend(purse: ByteBudget, bytes: number): void {
  purse.left = Math.max(0, (purse.left ?? ORDERED_BYTES) - bytes)
}
