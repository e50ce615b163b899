/** Settles and fetches ids of an ordered queue, in one script for each owner's step. */

import { doneInPart } from '../../../job/errors.ts'
import {
  type FetchedBatch,
  ORDERED_BYTES,
  type OrderedEnd,
  type OrderedSettleAndFetch,
  type OrderedSettleAndFetchAnswer,
  type OrderedSettlement,
  type OrderedStore,
  type ScoredPayload,
} from '../../contract.ts'
import { lua } from '../lua.generated.ts'
import { pairs } from '../server/chunks.ts'
import type { Argument, Connection, Reply } from '../server/connection.ts'
import { OrderedPart, readError, type Shards, shardsOf, writeError } from './queues.ts'

/** The most ids that one script settles, and that it fetches of a shard. */
const MAX_IDS = 500

/** The length of a stored flight; see ordered-fetch.lua. */
const LONG = 65

const LETTERS: Record<string, OrderedSettleAndFetchAnswer['settled'][number]> = { o: 'ok', f: 'fenced', e: 'error' }

/** The answer of ordered-settle-and-fetch.lua. */
type Answer = [done: string, ended: string, problem: string, isPaused: number, cancelled: string[], ...Reply[][]]

/** Ids of one flight that are simply done, with the indexes of their settlements. */
interface DoneGroup {
  flight: string
  shard: number
  token: number
  indexes: number[]
  ids: string[]
}

export class OrderedSettleAndFetchScript extends OrderedPart implements Partial<OrderedStore> {
  #connection: Connection | undefined

  async settleAndFetch(
    queue: string,
    owner: string,
    step: OrderedSettleAndFetch,
  ): Promise<OrderedSettleAndFetchAnswer> {
    const settled: OrderedSettleAndFetchAnswer['settled'] = []
    const problems = new Set<string>()
    for (let from = 0; ; from += MAX_IDS) {
      const some = step.settlements.slice(from, from + MAX_IDS)
      const isLast = from + MAX_IDS >= step.settlements.length
      const called = this.#call(queue, owner, { ...step, settlements: some, fetch: isLast ? step.fetch : [] })
      const answer = await called.catch((thrown) => {
        throw from === 0 ? thrown : doneInPart(thrown)
      })
      settled.push(...answer.settled)
      if (answer.problem) problems.add(answer.problem)
      if (!isLast) continue
      const problem = problems.size > 0 ? { problem: [...problems].join('; ') } : {}
      return { ...answer, settled, ...problem }
    }
  }

  async #call(queue: string, owner: string, step: OrderedSettleAndFetch): Promise<OrderedSettleAndFetchAnswer> {
    const { now, settlements, fetch, maxPayloads } = step
    const { groups, others, fenced } = groupsOf(settlements)
    const ids = settlements.map(({ id }) => id)
    const own = [...fetch, ...settlements].map(({ shard }) => shard)
    const shardsNeeded = (known: Shards) => shardsOf(ids, known, own)
    let shards = 0
    const argsOf = (known: Shards): Argument[] => {
      shards = known.shards
      const args: Argument[] = [owner, now, now / 1000, maxPayloads, ORDERED_BYTES, groups.length]
      for (const { flight, shard, token, ids } of groups) {
        args.push(shard, token, flight.padEnd(LONG), ids.length, ...ids)
      }
      args.push(others.length)
      for (const i of others) args.push(...argumentsOf(settlements[i] as OrderedSettlement))
      args.push(fetch.length)
      for (const { shard, token, n } of fetch) args.push(shard, token, Math.min(n, MAX_IDS))
      return args
    }
    const answer = await this.shared.run(queue, lua.orderedSettleAndFetch, shardsNeeded, argsOf, await this.#ready())
    if (answer === undefined) return noQueue(step)
    const [done, ended, problem, isPaused, cancelled, ...batches] = answer as Answer
    return {
      settled: settledOf(settlements.length, groups, others, fenced, done + ended),
      fetched: batches.map((flat) => fetchedOf(flat as string[])),
      paused: isPaused === 1,
      shards,
      cancelled: pairs(cancelled).map(([id, flight]) => ({ id, ticket: ticketOf(id, flight) })),
      ...(problem === '' ? {} : { problem }),
    }
  }

  /** All steps of this process go over one connection, in order. */
  async #ready(): Promise<Connection> {
    await this.shared.server.ready()
    this.#connection ??= this.shared.server.connect()
    if (!this.#connection.isReady) await this.#connection.ready()
    return this.#connection
  }
}

/**
 * Groups the settlements of ids that are simply done by flight. `others` are the indexes of the other settlements, and
 * `fenced` of those whose ticket belongs to another shard or id.
 *
 * This runs for every id: index loops are much faster than iterators before the code is optimized.
 */
function groupsOf(settlements: readonly OrderedSettlement[]) {
  const byFlight = new Map<string, DoneGroup>()
  const groups: DoneGroup[] = []
  const others: number[] = []
  const fenced: number[] = []
  let last: DoneGroup | undefined
  for (let i = 0; i < settlements.length; i++) {
    const { id, ticket, shard, token, end } = settlements[i] as OrderedSettlement
    // Ids that were fetched together mostly end together.
    if (end.kind === 'done' && last?.shard === shard && last.token === token && isOfFlight(last.flight, id, ticket)) {
      last.indexes.push(i)
      last.ids.push(id)
      continue
    }
    const flight = flightOf(id, ticket)
    if (!flight?.includes(` ${shard} ${token} `)) fenced.push(i)
    else if (end.kind !== 'done') others.push(i)
    else {
      last = byFlight.get(flight)
      if (!last) {
        last = { flight, shard, token, indexes: [], ids: [] }
        byFlight.set(flight, last)
        groups.push(last)
      }
      last.indexes.push(i)
      last.ids.push(id)
    }
  }
  return { groups, others, fenced }
}

/** Returns what became of each settlement; `letters` has one for each id of the groups and then of the others. */
function settledOf(
  length: number,
  groups: readonly DoneGroup[],
  others: readonly number[],
  fenced: readonly number[],
  letters: string,
): OrderedSettleAndFetchAnswer['settled'] {
  const settled = new Array<OrderedSettleAndFetchAnswer['settled'][number]>(length).fill('error')
  for (const i of fenced) settled[i] = 'fenced'
  let at = 0
  for (const { indexes } of groups) for (const i of indexes) settled[i] = LETTERS[letters[at++] ?? ''] ?? 'error'
  for (const i of others) settled[i] = LETTERS[letters[at++] ?? ''] ?? 'error'
  return settled
}

function argumentsOf({ id, ticket, shard, token, end }: OrderedSettlement): Argument[] {
  return [shard, token, id, flightOf(id, ticket)?.padEnd(LONG) ?? '', end.kind, ...endOf(end)]
}

function endOf(end: OrderedEnd): Argument[] {
  if ('state' in end) return [end.state.performIn, end.state.retryCount, writeError(end.state.error)]
  return end.kind === 'dead' ? [writeError(end.error)] : []
}

/** @param flat what `next` is, the flight, and then each fetched id and its record */
function fetchedOf(flat: string[]): OrderedSettleAndFetchAnswer['fetched'][number] {
  const [next, flight = ''] = flat
  if (next === 'lost') return { lost: true, ids: [], next: null }
  const trimmed = flight.trimEnd()
  const ids: FetchedBatch[] = []
  for (let i = 2; i < flat.length; i += 2) {
    const id = flat[i] as string
    ids.push(readBatch(id, `${trimmed} ${id}`, flat[i + 1] as string))
  }
  return { lost: false, ids, next: next === '' || next === undefined ? null : Number(next) }
}

/** Returns the ticket of an id in a flight. Ids that were fetched together share a flight; see ordered-open.lua. */
export function ticketOf(id: string, flight: string): string {
  return `${flight.trimEnd()} ${id}`
}

function flightOf(id: string, ticket: string): string | undefined {
  return ticket.endsWith(` ${id}`) ? ticket.slice(0, -id.length - 1) : undefined
}

/** Returns whether `flightOf` would return this flight. */
function isOfFlight(flight: string, id: string, ticket: string): boolean {
  const space = flight.length
  return (
    ticket.length === space + 1 + id.length && ticket[space] === ' ' && ticket.startsWith(flight) && ticket.endsWith(id)
  )
}

/** Reads a fetched id as ordered-state.lua writes it. */
function readBatch(id: string, ticket: string, record: string): FetchedBatch {
  const first = record.indexOf('\n')
  const second = record.indexOf('\n', first + 1)
  const performIn = Number(record.slice(0, first))
  const about = readState(record.slice(first + 1, second))
  return { id, ticket, performIn, ...about, payloads: readPayloads(record, second + 1) }
}

export function readState(line: string): Omit<FetchedBatch, 'id' | 'ticket' | 'performIn' | 'payloads'> {
  if (line === '') return { retryCount: -1, error: null, crashes: 0, suspect: false }
  const [, retryCount, crashes, suspect, error = ''] = /^(-?\d+) (\d+) (\d) (.*)$/s.exec(line) ?? []
  return { retryCount: Number(retryCount), error: readError(error), crashes: Number(crashes), suspect: suspect === '1' }
}

function readPayloads(record: string, from: number): ScoredPayload[] {
  if (record[from] !== '*') {
    const space = record.indexOf(' ', from)
    return [[record.slice(space + 1), Number(record.slice(from, space))]]
  }
  // The lengths count bytes.
  const bytes = Buffer.from(record.slice(from + 1))
  const payloads: ScoredPayload[] = []
  for (let at = 0; at < bytes.length; ) {
    const space = bytes.indexOf(' ', at)
    const begins = bytes.indexOf(' ', space + 1) + 1
    const ends = begins + Number(bytes.toString('latin1', space + 1, begins - 1))
    payloads.push([bytes.toString('utf8', begins, ends), Number(bytes.toString('latin1', at, space))])
    at = ends
  }
  return payloads
}

/** Returns the answer for a queue that does not exist. */
function noQueue({ settlements, fetch }: OrderedSettleAndFetch): OrderedSettleAndFetchAnswer {
  return {
    settled: settlements.map(() => 'fenced'),
    fetched: fetch.map(() => ({ lost: true, ids: [], next: null })),
    paused: false,
    shards: 0,
    cancelled: [],
  }
}
