/** An owner's steps: what ended is settled, what is due is taken, in one call. */

import { doneInPart } from '../../../job/errors.ts'
import {
  type FetchedBatch,
  ORDERED_BYTES,
  type OrderedEnd,
  type OrderedSettleAndFetch,
  type OrderedSettleAndFetchAnswer,
  type OrderedSettlement,
  type ScoredPayload,
} from '../../contract.ts'
import type { Argument, Connection, Reply } from '../connection.ts'
import { lua } from '../lua.generated.ts'
import { homesOf, type OrderedQueues, readError, type Shards, writeError } from './queue.ts'

/** One script settles no more, and takes no more of a shard. */
const MOST_SETTLED = 200
const MOST_TAKEN = 500

/** As lua/ordered-take.lua has it. */
const LONG = 65

const LETTERS: Record<string, OrderedSettleAndFetchAnswer['settled'][number]> = { o: 'ok', f: 'fenced', e: 'error' }

export class OrderedTurns {
  readonly #queues: OrderedQueues
  #line: Connection | undefined

  constructor(queues: OrderedQueues) {
    this.#queues = queues
  }

  async run(queue: string, owner: string, turn: OrderedSettleAndFetch): Promise<OrderedSettleAndFetchAnswer> {
    const settled: OrderedSettleAndFetchAnswer['settled'] = []
    const problems = new Set<string>()
    for (let from = 0; ; from += MOST_SETTLED) {
      const some = turn.settlements.slice(from, from + MOST_SETTLED)
      const isLast = from + MOST_SETTLED >= turn.settlements.length
      const step = this.#step(queue, owner, { ...turn, settlements: some, fetch: isLast ? turn.fetch : [] })
      const answer = await step.catch((thrown) => {
        throw from === 0 ? thrown : doneInPart(thrown)
      })
      settled.push(...answer.settled)
      if (answer.problem) problems.add(answer.problem)
      if (!isLast) continue
      const problem = problems.size > 0 ? { problem: [...problems].join('; ') } : {}
      return { ...answer, settled, ...problem }
    }
  }

  async #step(queue: string, owner: string, turn: OrderedSettleAndFetch): Promise<OrderedSettleAndFetchAnswer> {
    const { now, settlements, fetch: takes, maxPayloads } = turn
    // By flight, with the places where their answers go.
    const groups = new Map<string, { shard: number; token: number; places: number[]; ids: string[] }>()
    const others: number[] = []
    const settled: OrderedSettleAndFetchAnswer['settled'] = []
    for (const [i, { id, ticket, shard, token, end }] of settlements.entries()) {
      const flight = flightOf(id, ticket)
      // A ticket of another shard or id is none of this one's, whatever it is.
      if (!flight?.includes(` ${shard} ${token} `)) {
        settled[i] = 'fenced'
        continue
      }
      if (end.kind !== 'done') {
        others.push(i)
        continue
      }
      let group = groups.get(flight)
      if (!group) {
        group = { shard, token, places: [], ids: [] }
        groups.set(flight, group)
      }
      group.places.push(i)
      group.ids.push(id)
    }
    const shardsOf = (known: Shards) => {
      const most = Math.max(known.shards, known.from ?? 0)
      const named = new Set<number>()
      for (const { shard } of takes) if (shard < most) named.add(shard)
      for (const { id, shard } of settlements) {
        if (shard < most) named.add(shard)
        for (const home of homesOf(id, known)) if (home !== undefined) named.add(home)
      }
      return named
    }
    let shards = 0
    const argsOf = (known: Shards): Argument[] => {
      shards = known.shards
      const args: Argument[] = [owner, now, now / 1000, maxPayloads, ORDERED_BYTES, groups.size]
      for (const [flight, { shard, token, ids }] of groups) {
        args.push(shard, token, flight.padEnd(LONG), ids.length, ...ids)
      }
      args.push(others.length)
      for (const i of others) args.push(...argumentsOf(settlements[i] as OrderedSettlement))
      args.push(takes.length)
      for (const { shard, token, n } of takes) args.push(shard, token, Math.min(n, MOST_TAKEN))
      return args
    }
    const answer = await this.#queues.run(queue, lua.orderedTurn, shardsOf, argsOf, await this.#ready())
    if (answer === undefined) return nothing(turn)
    const [done, ended, wrongs, isPaused, cancelled, ...taken] = answer as [
      string,
      string,
      string,
      number,
      string[],
      ...Reply[][],
    ]
    const places = [...[...groups.values()].flatMap((group) => group.places), ...others]
    for (const [i, place] of places.entries()) settled[place] = LETTERS[(done + ended)[i] ?? ''] ?? 'error'
    return {
      settled,
      fetched: taken.map((flat) => takenOf(flat as string[])),
      paused: isPaused === 1,
      shards,
      cancelled: pairs(cancelled).map(([id, flight]) => ({ id, ticket: ticketOf(id, flight) })),
      ...(wrongs === '' ? {} : { problem: wrongs }),
    }
  }

  /** All steps of an owner go over one connection, in order. */
  async #ready(): Promise<Connection> {
    await this.#queues.server.ready()
    this.#line ??= this.#queues.server.connect()
    if (!this.#line.isReady) await this.#line.ready()
    return this.#line
  }
}

function argumentsOf({ id, ticket, shard, token, end }: OrderedSettlement): Argument[] {
  return [shard, token, id, flightOf(id, ticket)?.padEnd(LONG) ?? '', end.kind, ...endOf(end)]
}

function endOf(end: OrderedEnd): Argument[] {
  if ('state' in end) return [end.state.performIn, end.state.retryCount, writeError(end.state.error)]
  return end.kind === 'dead' ? [writeError(end.error)] : []
}

function takenOf([next, flight = '', ...flat]: string[]): OrderedSettleAndFetchAnswer['fetched'][number] {
  if (next === 'lost') return { lost: true, ids: [], next: null }
  const ids = pairs(flat).map(([id, record]) => readTaken(id, ticketOf(id, flight), record))
  return { lost: false, ids, next: next === '' || next === undefined ? null : Number(next) }
}

/** As lua/ordered-open.lua has it: what was taken together shares a flight. */
export function ticketOf(id: string, flight: string): string {
  return `${flight.trimEnd()} ${id}`
}

function flightOf(id: string, ticket: string): string | undefined {
  return ticket.endsWith(` ${id}`) ? ticket.slice(0, -id.length - 1) : undefined
}

/** As lua/ordered-book.lua writes it. */
function readTaken(id: string, ticket: string, record: string): FetchedBatch {
  const first = record.indexOf('\n')
  const second = record.indexOf('\n', first + 1)
  const performIn = Number(record.slice(0, first))
  const about = readState(record.slice(first + 1, second))
  return { id, ticket, performIn, ...about, payloads: readPayloads(record, second + 1) }
}

export function readState(line: string): Omit<FetchedBatch, 'id' | 'ticket' | 'performIn' | 'payloads'> {
  if (line === '') return { retryCount: -1, error: null, crashes: 0, suspect: false }
  const [, retryCount, crashes, suspect, error = ''] = /^(-?\d+) (\d+) (\d) (.*)$/s.exec(line) ?? []
  return {
    retryCount: Number(retryCount),
    error: readError(error),
    crashes: Number(crashes),
    suspect: suspect === '1',
  }
}

function readPayloads(record: string, from: number): ScoredPayload[] {
  if (record[from] !== '*') {
    const space = record.indexOf(' ', from)
    return [[record.slice(space + 1), Number(record.slice(from, space))]]
  }
  // Lengths are of bytes.
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

export function pairs(flat: readonly string[]): [string, string][] {
  const found: [string, string][] = []
  for (let i = 0; i + 1 < flat.length; i += 2) found.push([flat[i] as string, flat[i + 1] as string])
  return found
}

/** There is no such queue. */
function nothing({ settlements, fetch: takes }: OrderedSettleAndFetch): OrderedSettleAndFetchAnswer {
  return {
    settled: settlements.map(() => 'fenced'),
    fetched: takes.map(() => ({ lost: true, ids: [], next: null })),
    paused: false,
    shards: 0,
    cancelled: [],
  }
}
