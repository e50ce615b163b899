/** Queries of ordered queues: waiting ids, ids in flight, the morgue, and counts. */

import type {
  MorgueEntry,
  OrderedCounts,
  OrderedInFlight,
  OrderedPage,
  OrderedStore,
  OrderedWaiting,
  ScoredPayload,
} from '../../contract.ts'
import { lua } from '../lua.generated.ts'
import { pairs } from '../server/chunks.ts'
import type { Reply } from '../server/connection.ts'
import { allShards, type OrderedQueues, readError } from './queues.ts'
import { readState, ticketOf } from './settle-and-fetch.ts'
import type { OrderedShards } from './shards.ts'

/** The most payloads of an id that `find` returns. */
const MAX_PAYLOADS = 1000
/** The most ids that one script reads. */
const MAX_IDS = 100

/** What the store knows of one id, as ordered-read-ids.lua answers it. */
type StoredId = [string, number | '', string, string, number, string[], string?, string?, string[]?]
/** An id, and the value by which its page is sorted. */
interface PageEntry {
  id: string
  value: number
}

export class OrderedQueries implements Partial<OrderedStore> {
  readonly #queues: OrderedQueues
  readonly #shards: OrderedShards

  constructor(queues: OrderedQueues, shards: OrderedShards) {
    this.#queues = queues
    this.#shards = shards
  }

  async queues(): Promise<string[]> {
    const { server } = this.#queues
    return (await server.call((client) => client.smembers(server.keys.orderedQueues))).sort()
  }

  async counts(queue: string, now: number): Promise<OrderedCounts | null> {
    const read = await this.#shards.readQueue(queue)
    if (!read) return null
    const ofShards = [...allShards(read)].flatMap((shard) => this.#queues.shardKeys(queue, shard))
    const keys = [this.#key(queue, 'morgue'), ...ofShards]
    const [morgueLength, ...answers] = (await this.#queues.server.run(lua.orderedCounts, keys, [])) as [
      number,
      ...[length: number, retries: number, busy: number, first: string][],
    ]
    const shards = read.owners.map(({ shard, owner }, i) => {
      const [length, retries, busy, first] = answers[i] as (typeof answers)[number]
      const count = (field: string) => Number(read.about.get(`${field}:${shard}`) ?? 0)
      const lag = first === '' ? 0 : Math.max(now / 1000 - Number(first), 0)
      const sums = { processed: count('processed'), failed: count('failed') }
      return { shard, owner, length, fresh: length - retries, retries, busy, ...sums, lag }
    })
    return { name: queue, paused: read.paused, shards, morgueLength }
  }

  async inFlight(queue: string, owner?: string): Promise<OrderedInFlight[]> {
    const keys = [this.#key(queue, 'queue'), this.#key(queue, 'flights')]
    // One script and no transaction: a server without memory refuses each command of a transaction, and workers ask this before
    // they settle.
    const [about = {}, flights = {}] = await this.#queues.server.hashes(keys, 'error')
    const fields = new Map(Object.entries(about))
    return Object.entries(flights)
      .map(([id, flight]) => readFlight(id, flight, fields))
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
      const wanted = { ...page, ...(after ? { after } : {}), limit: Math.min(page.limit - found.length, MAX_IDS) }
      const { entries, isLast } = await this.#idsOf(queue, by, wanted)
      const stored = await this.#readIds(queue, entries, page.payloads, false)
      for (const [i, one] of stored.entries()) {
        const waiting = waitingOf((entries[i] as PageEntry).id, one)
        if (waiting) found.push(waiting)
      }
      after = entries.at(-1) ?? after
      if (isLast) break
    }
    return found
  }

  async find(
    queue: string,
    id: string,
  ): Promise<{ waiting: OrderedWaiting | null; inFlight: OrderedInFlight | null; dead: MorgueEntry | null }> {
    const [one] = await this.#readIds(queue, [{ id, value: 0 }], MAX_PAYLOADS, true)
    if (!one) return { waiting: null, inFlight: null, dead: null }
    const read = one[0] === '' ? null : await this.#shards.readQueue(queue)
    return { waiting: waitingOf(id, one), inFlight: read && readFlight(id, one[0], read.about), dead: deadOf(id, one) }
  }

  async morgue(queue: string, by: 'id' | 'updatedAt', page: OrderedPage): Promise<MorgueEntry[]> {
    const entries =
      by === 'id'
        ? await this.#byName(queue, 'morgue:names', page)
        : await this.#byScore([this.#key(queue, 'morgue')], page)
    const found: MorgueEntry[] = []
    for (let from = 0; from < entries.length; from += MAX_IDS) {
      const some = entries.slice(from, from + MAX_IDS)
      for (const [i, one] of (await this.#readIds(queue, some, 0, true)).entries()) {
        const dead = deadOf((some[i] as PageEntry).id, one)
        if (dead) found.push(dead)
      }
    }
    return found
  }

  /** Returns the ids of a page, and whether it is the last one. */
  async #idsOf(
    queue: string,
    by: 'id' | 'performIn' | 'retryCount',
    page: OrderedPage,
  ): Promise<{ entries: PageEntry[]; isLast: boolean }> {
    if (by === 'retryCount') return this.#byRetryCount(queue, page)
    let entries: PageEntry[]
    if (by === 'id') {
      entries = await this.#byName(queue, 'names', page)
    } else {
      const read = await this.#shards.readQueue(queue)
      const due = read ? [...allShards(read)].map((shard) => this.#queues.shardKeys(queue, shard)[0] as string) : []
      entries = await this.#byScore([...due, this.#key(queue, 'behind')], page)
    }
    return { entries, isLast: entries.length < page.limit }
  }

  /** Fresh ids come first, by name; then those that have failed, in the order of an index. */
  async #byRetryCount(queue: string, page: OrderedPage): Promise<{ entries: PageEntry[]; isLast: boolean }> {
    const { desc = false, after, limit } = page
    const read = await this.#shards.readQueue(queue)
    if (!read) return { entries: [], isLast: true }
    const keys = [...allShards(read)].map((shard) => this.#queues.shardKeys(queue, shard)[1] as string)
    const fresh = (limit: number, behind?: OrderedPage['after']) =>
      this.#fresh(queue, { desc, limit, ...(behind ? { after: behind } : {}) })
    if (after ? after.value >= 0 : desc) {
      const entries = await this.#byScore(keys, page)
      if (!desc || entries.length === limit) return { entries, isLast: entries.length < limit }
      const more = await fresh(limit - entries.length)
      return { entries: [...entries, ...more.entries], isLast: more.isLast }
    }
    const beginsBefore = after !== undefined && after.value < -1
    if (beginsBefore && desc) return { entries: [], isLast: true }
    const { entries, isLast } = await fresh(limit, beginsBefore ? undefined : after)
    if (desc || !isLast) return { entries, isLast }
    const failed = await this.#byScore(keys, { limit: limit - entries.length })
    return { entries: [...entries, ...failed], isLast: failed.length < limit - entries.length }
  }

  /** Returns ids that have not failed, by name. */
  async #fresh(queue: string, page: OrderedPage): Promise<{ entries: PageEntry[]; isLast: boolean }> {
    const fresh: PageEntry[] = []
    let { after } = page
    for (;;) {
      const some = await this.#byName(queue, 'names', { ...page, ...(after ? { after } : {}), limit: MAX_IDS })
      for (const [i, one] of (await this.#readIds(queue, some, 0, false)).entries()) {
        if (one[3] !== '' && readState(one[3].slice(0, -1)).retryCount < 0) {
          fresh.push({ id: (some[i] as PageEntry).id, value: -1 })
          if (fresh.length === page.limit) return { entries: fresh, isLast: false }
        }
      }
      after = some.at(-1) ?? after
      if (some.length < MAX_IDS) return { entries: fresh, isLast: true }
    }
  }

  async #byName(queue: string, index: 'names' | 'morgue:names', page: OrderedPage): Promise<PageEntry[]> {
    const { desc, after, limit } = page
    if (limit <= 0) return []
    const key = this.#key(queue, index)
    if (index === 'names') await this.#queues.indexNames(queue)
    const ids = await this.#queues.server.call((client) =>
      desc
        ? client.zrevrangebylex(key, after ? `(${after.id}` : '+', '-', 'LIMIT', 0, limit)
        : client.zrangebylex(key, after ? `(${after.id}` : '-', '+', 'LIMIT', 0, limit),
    )
    return ids.map((id) => ({ id, value: after?.value ?? 0 }))
  }

  /** Returns a page of several sorted sets as if they were one. */
  async #byScore(keys: readonly string[], { desc, after, limit }: OrderedPage): Promise<PageEntry[]> {
    if (limit <= 0) return []
    const behind = after ? [after.value, after.id] : []
    const pages = (await this.#queues.server.run(lua.page, keys, [desc ? 'desc' : '', limit, ...behind])) as string[][]
    const all = pages.flatMap((flat) => pairs(flat).map(([id, score]) => ({ id, value: Number(score) })))
    all.sort((a, b) => (desc ? -1 : 1) * (a.value - b.value || Buffer.compare(Buffer.from(a.id), Buffer.from(b.id))))
    return all.slice(0, limit)
  }

  async #readIds(queue: string, entries: readonly PageEntry[], payloads: number, dead: boolean): Promise<StoredId[]> {
    if (entries.length === 0) return []
    const args = [payloads, dead ? 'dead' : '', ...entries.map(({ id }) => id)]
    const answer = await this.#queues.run(queue, lua.orderedReadIds, allShards, args)
    return ((answer ?? ['none']) as Reply[]).slice(1) as unknown as StoredId[]
  }

  #key(queue: string, name: 'queue' | 'flights' | 'behind' | 'names' | 'morgue' | 'morgue:names'): string {
    const entries = { queue: 0, flights: 2, behind: 3, names: 4, morgue: 10, 'morgue:names': 11 }
    return this.#queues.keys(queue)[entries[name]] as string
  }
}

function readFlight(id: string, flight: string, about: ReadonlyMap<string, string>): OrderedInFlight {
  const [, shard = '', token, fetchedAt] = flight.split(' ')
  const by = { shard: Number(shard), token: Number(token), owner: about.get(`owner:${shard}`) ?? '' }
  return { id, ticket: ticketOf(id, flight), ...by, fetchedAt: Number(fetchedAt) }
}

function waitingOf(id: string, [, shard, performIn, line, size, flat]: StoredId): OrderedWaiting | null {
  if (line === '') return null
  const { retryCount, error } = readState(line.slice(0, -1))
  return { id, shard: Number(shard), performIn: Number(performIn), retryCount, error, payloads: scored(flat), size }
}

function deadOf(id: string, [, , , , , , updatedAt = '', about = '', flat = []]: StoredId): MorgueEntry | null {
  if (updatedAt === '') return null
  const [, deaths, error = ''] = /^(\d+) (.*)$/s.exec(about) ?? []
  const entry = { id, payloads: scored(flat), updatedAt: Number(updatedAt), error: readError(error) }
  return { ...entry, deaths: Number(deaths ?? 1) }
}

function scored(flat: readonly string[]): ScoredPayload[] {
  return pairs(flat).map(([payload, score]) => [payload, Number(score)])
}
