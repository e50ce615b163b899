/** Looking at ordered queues: what waits, what is in flight, what is dead, and the numbers. */

import type {
  MorgueEntry,
  OrderedCounts,
  OrderedInFlight,
  OrderedPage,
  OrderedWaiting,
  ScoredPayload,
} from '../../contract.ts'
import type { Reply } from '../connection.ts'
import { lua } from '../lua.generated.ts'
import { allShards, type OrderedQueues, readError } from './queue.ts'
import type { OrderedShards } from './shards.ts'
import { pairs, readState, ticketOf } from './turns.ts'

/** Payloads that are shown of an id where nobody says how many. */
const MOST_PAYLOADS = 1000
/** Shown in one call. */
const MOST_SHOWN = 100

/** What one id has: see lua/ordered-show.lua. */
type Shown = [string, number | '', string, string, number, string[], string?, string?, string[]?]
interface Place {
  id: string
  value: number
}

export class OrderedLook {
  readonly #queues: OrderedQueues
  readonly #shards: OrderedShards

  constructor(queues: OrderedQueues, shards: OrderedShards) {
    this.#queues = queues
    this.#shards = shards
  }

  async names(): Promise<string[]> {
    const { server } = this.#queues
    const main = await server.ready()
    return (await main.call((client) => client.smembers(server.keys.orderedQueues))).sort()
  }

  async numbers(queue: string, now: number): Promise<OrderedCounts | null> {
    const board = await this.#shards.board(queue)
    if (!board) return null
    const main = await this.#queues.server.ready()
    const answers = await main.transaction((transaction) => {
      transaction.zcard(this.#key(queue, 'morgue'))
      for (const shard of allShards(board)) {
        const [due, retries, taken] = this.#queues.shardKeys(queue, shard) as [string, string, string]
        transaction.zcard(due).zcard(retries).hlen(taken).zrange(due, '0', '0', 'WITHSCORES')
      }
    })
    const shards = board.owners.map(({ shard, owner }, i) => {
      const [length, retries, busy, first] = answers.slice(1 + i * 4, 5 + i * 4) as [number, number, number, string[]]
      const count = (field: string) => Number(board.about.get(`${field}:${shard}`) ?? 0)
      const lag = first.length === 0 ? 0 : Math.max(now / 1000 - Number(first[1]), 0)
      const sums = { processed: count('processed'), failed: count('failed') }
      return { shard, owner, length, fresh: length - retries, retries, busy, ...sums, lag }
    })
    return { name: queue, paused: board.paused, shards, morgueLength: answers[0] as number }
  }

  async inFlight(queue: string, owner?: string): Promise<OrderedInFlight[]> {
    const main = await this.#queues.server.ready()
    const [about, flights] = (await main.transaction((transaction) =>
      transaction.hgetall(this.#key(queue, 'queue')).hgetall(this.#key(queue, 'flights')),
    )) as unknown as [Record<string, string>, Record<string, string>]
    return Object.entries(flights)
      .map(([id, flight]) => readFlight(id, flight, new Map(Object.entries(about))))
      .filter((one) => owner === undefined || one.owner === owner)
  }

  async waiting(
    queue: string,
    by: 'id' | 'performIn' | 'retryCount',
    page: OrderedPage & { payloads: number },
  ): Promise<OrderedWaiting[]> {
    const found: OrderedWaiting[] = []
    let after = page.after
    while (found.length < page.limit) {
      const wanted = { ...page, ...(after ? { after } : {}), limit: Math.min(page.limit - found.length, MOST_SHOWN) }
      const { places, isLast } = await this.#places(queue, by, wanted)
      const shown = await this.#show(queue, places, page.payloads, false)
      for (const [i, one] of shown.entries()) {
        const waiting = waitingOf((places[i] as Place).id, one)
        if (waiting) found.push(waiting)
      }
      after = places.at(-1) ?? after
      if (isLast) break
    }
    return found
  }

  async find(
    queue: string,
    id: string,
  ): Promise<{ waiting: OrderedWaiting | null; inFlight: OrderedInFlight | null; dead: MorgueEntry | null }> {
    const [one] = await this.#show(queue, [{ id, value: 0 }], MOST_PAYLOADS, true)
    if (!one) return { waiting: null, inFlight: null, dead: null }
    const board = one[0] === '' ? null : await this.#shards.board(queue)
    return {
      waiting: waitingOf(id, one),
      inFlight: board && readFlight(id, one[0], board.about),
      dead: deadOf(id, one),
    }
  }

  async morgue(queue: string, by: 'id' | 'updatedAt', page: OrderedPage): Promise<MorgueEntry[]> {
    const places =
      by === 'id'
        ? await this.#byName(queue, 'morgue:names', page)
        : await this.#byScore([this.#key(queue, 'morgue')], page)
    const found: MorgueEntry[] = []
    for (let from = 0; from < places.length; from += MOST_SHOWN) {
      const some = places.slice(from, from + MOST_SHOWN)
      for (const [i, one] of (await this.#show(queue, some, 0, true)).entries()) {
        const dead = deadOf((some[i] as Place).id, one)
        if (dead) found.push(dead)
      }
    }
    return found
  }

  /** Ids of a page, and whether there are none behind them. */
  async #places(
    queue: string,
    by: 'id' | 'performIn' | 'retryCount',
    page: OrderedPage,
  ): Promise<{ places: Place[]; isLast: boolean }> {
    if (by === 'retryCount') return this.#byRetryCount(queue, page)
    let places: Place[]
    if (by === 'id') {
      places = await this.#byName(queue, 'names', page)
    } else {
      const board = await this.#shards.board(queue)
      const due = board ? [...allShards(board)].map((shard) => this.#queues.shardKeys(queue, shard)[0] as string) : []
      places = await this.#byScore([...due, this.#key(queue, 'behind')], page)
    }
    return { places, isLast: places.length < page.limit }
  }

  /** What has failed is in the order of an index; before it come the fresh ones, by their names. */
  async #byRetryCount(queue: string, page: OrderedPage): Promise<{ places: Place[]; isLast: boolean }> {
    const { desc = false, after, limit } = page
    const board = await this.#shards.board(queue)
    if (!board) return { places: [], isLast: true }
    const keys = [...allShards(board)].map((shard) => this.#queues.shardKeys(queue, shard)[1] as string)
    const fresh = (limit: number, behind?: OrderedPage['after']) =>
      this.#fresh(queue, { desc, limit, ...(behind ? { after: behind } : {}) })
    if (after ? after.value >= 0 : desc) {
      const places = await this.#byScore(keys, page)
      if (!desc || places.length === limit) return { places, isLast: places.length < limit }
      const more = await fresh(limit - places.length)
      return { places: [...places, ...more.places], isLast: more.isLast }
    }
    const isBefore = after !== undefined && after.value < -1
    if (isBefore && desc) return { places: [], isLast: true }
    const { places, isLast } = await fresh(limit, isBefore ? undefined : after)
    if (desc || !isLast) return { places, isLast }
    const failed = await this.#byScore(keys, { limit: limit - places.length })
    return { places: [...places, ...failed], isLast: failed.length < limit - places.length }
  }

  /** Those that have not failed, by name. */
  async #fresh(queue: string, page: OrderedPage): Promise<{ places: Place[]; isLast: boolean }> {
    const fresh: Place[] = []
    let { after } = page
    for (;;) {
      const some = await this.#byName(queue, 'names', { ...page, ...(after ? { after } : {}), limit: MOST_SHOWN })
      for (const [i, one] of (await this.#show(queue, some, 0, false)).entries()) {
        if (one[3] !== '' && readState(one[3].slice(0, -1)).retryCount < 0) {
          fresh.push({ id: (some[i] as Place).id, value: -1 })
          if (fresh.length === page.limit) return { places: fresh, isLast: false }
        }
      }
      after = some.at(-1) ?? after
      if (some.length < MOST_SHOWN) return { places: fresh, isLast: true }
    }
  }

  async #byName(queue: string, index: 'names' | 'morgue:names', page: OrderedPage): Promise<Place[]> {
    const { desc, after, limit } = page
    if (limit <= 0) return []
    const key = this.#key(queue, index)
    if (index === 'names') await this.#queues.name(queue)
    const main = await this.#queues.server.ready()
    const ids = await main.call((client) =>
      desc
        ? client.zrevrangebylex(key, after ? `(${after.id}` : '+', '-', 'LIMIT', 0, limit)
        : client.zrangebylex(key, after ? `(${after.id}` : '-', '+', 'LIMIT', 0, limit),
    )
    return ids.map((id) => ({ id, value: after?.value ?? 0 }))
  }

  /** Of several sorted sets as if they were one. */
  async #byScore(keys: readonly string[], { desc, after, limit }: OrderedPage): Promise<Place[]> {
    if (limit <= 0) return []
    const main = await this.#queues.server.ready()
    const behind = after ? [after.value, after.id] : []
    const pages = (await main.run(lua.orderedPage, keys, [desc ? 'desc' : '', limit, ...behind])) as string[][]
    const all = pages.flatMap((flat) => pairs(flat).map(([id, score]) => ({ id, value: Number(score) })))
    all.sort((a, b) => (desc ? -1 : 1) * (a.value - b.value || Buffer.compare(Buffer.from(a.id), Buffer.from(b.id))))
    return all.slice(0, limit)
  }

  async #show(queue: string, places: readonly Place[], payloads: number, dead: boolean): Promise<Shown[]> {
    if (places.length === 0) return []
    const args = [payloads, dead ? 'dead' : '', ...places.map(({ id }) => id)]
    const answer = await this.#queues.run(queue, lua.orderedShow, allShards, () => args)
    return ((answer ?? ['none']) as Reply[]).slice(1) as unknown as Shown[]
  }

  #key(queue: string, name: 'queue' | 'flights' | 'behind' | 'names' | 'morgue' | 'morgue:names'): string {
    const places = { queue: 0, flights: 2, behind: 3, names: 4, morgue: 10, 'morgue:names': 11 }
    return this.#queues.keys(queue)[places[name]] as string
  }
}

function readFlight(id: string, flight: string, about: ReadonlyMap<string, string>): OrderedInFlight {
  const [, shard = '', token, takenAt] = flight.split(' ')
  const owner = about.get(`owner:${shard}`) ?? ''
  return {
    id,
    ticket: ticketOf(id, flight),
    shard: Number(shard),
    token: Number(token),
    owner,
    fetchedAt: Number(takenAt),
  }
}

function waitingOf(id: string, [, shard, performIn, line, size, flat]: Shown): OrderedWaiting | null {
  if (line === '') return null
  const { retryCount, error } = readState(line.slice(0, -1))
  return { id, shard: Number(shard), performIn: Number(performIn), retryCount, error, payloads: scored(flat), size }
}

function deadOf(id: string, [, , , , , , updatedAt = '', about = '', flat = []]: Shown): MorgueEntry | null {
  if (updatedAt === '') return null
  const [, deaths, error = ''] = /^(\d+) (.*)$/s.exec(about) ?? []
  const entry = { id, payloads: scored(flat), updatedAt: Number(updatedAt), error: readError(error) }
  return { ...entry, deaths: Number(deaths ?? 1) }
}

function scored(flat: readonly string[]): ScoredPayload[] {
  return pairs(flat).map(([payload, score]) => [payload, Number(score)])
}
