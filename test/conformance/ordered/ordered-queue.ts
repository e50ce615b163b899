import { expect } from 'vitest'
import type {
  FetchedBatch,
  OrderedEnd,
  OrderedPush,
  OrderedSettleAndFetch,
  OrderedSettleAndFetchAnswer,
  OrderedSettlement,
  OrderedWaiting,
  ScoredPayload,
  Store,
} from '#dist/store/contract.js'
import { type Bench, type Several, sure } from '../bench.ts'

/** The caller's clock, in seconds, where a case does not set it. */
export const T = 1000

/** A taken id, and under what it was taken. */
export interface HeldBatch extends FetchedBatch {
  shard: number
  token: number
}

/** A push of a JSON string, due now. */
export function item(id: string, payload: unknown = '', score = T, more: Partial<OrderedPush> = {}): OrderedPush {
  return { id, payload: JSON.stringify(payload), score, performIn: T, ...more }
}

export const done: OrderedEnd = { kind: 'done' }
export const requeue: OrderedEnd = { kind: 'requeue' }
export const cancelled: OrderedEnd = { kind: 'cancelled' }

export function failed(performIn: number, retryCount = 0, error: string | null = 'x'): OrderedEnd {
  return { kind: 'failed', state: { performIn, retryCount, error } }
}

export function later(performIn: number, retryCount = 0, error: string | null = null): OrderedEnd {
  return { kind: 'snoozed', state: { performIn, retryCount, error } }
}

export function dead(error = 'x'): OrderedEnd {
  return { kind: 'dead', error }
}

/** `{v1:1,v2:2}`: payloads with their scores, in order. */
export function textOf(payloads: readonly ScoredPayload[]): string {
  const plain = (text: string) => (/^"\w+"$/.test(text) ? text.slice(1, -1) : text)
  return `{${payloads.map(([text, score]) => `${plain(text)}:${score}`).join()}}`
}

/** `1{900,-1,{v1:1},"x"}`: performIn, retryCount, payloads, and the error if there is one. */
export function textOfWaiting(
  one: Pick<OrderedWaiting, 'id' | 'performIn' | 'retryCount' | 'payloads' | 'error'>,
): string {
  const error = one.error === null ? '' : `,${JSON.stringify(one.error)}`
  return `${one.id}{${one.performIn},${one.retryCount},${textOf(one.payloads)}${error}}`
}

/** An ordered queue, what was counted on it, and who works on it. */
export class OrderedQueue {
  readonly t: Bench
  readonly name: string
  readonly shards: number
  /** Seconds. */
  now = T
  processed = 0
  failed = 0

  constructor(t: Bench, name = 'o', shards = 1) {
    this.t = t
    this.name = name
    this.shards = shards
  }

  get store(): Store {
    return this.t.store
  }

  get ms(): number {
    return this.now * 1000
  }

  push(...items: OrderedPush[]): Promise<void> {
    return this.store.ordered.push(this.name, this.shards, items, this.ms)
  }

  /** Any number of them. */
  async pushAll(items: OrderedPush[]): Promise<void> {
    for (let i = 0; i < items.length; i += 100) await this.push(...items.slice(i, i + 100))
  }

  /** A member that owns nothing yet. */
  async member(store = this.store, ...others: string[]): Promise<Owner> {
    await this.store.ordered.define(this.name, this.shards)
    const owner = new Owner(this, await this.t.owner({ store, queues: [this.name, ...others] }), store)
    expect(await store.ordered.join(this.name, owner.name)).toBe(true)
    return owner
  }

  /** A member that owns all shards there are. */
  async owner(store = this.store): Promise<Owner> {
    const owner = await this.member(store)
    await owner.ownAll()
    return owner
  }

  /** All that waits, by id, in words. */
  async waiting(): Promise<Several<string>> {
    return (await this.all('id')).map(textOfWaiting) as Several<string>
  }

  /** What waits of one id, in words. */
  async of(id: string): Promise<string | null> {
    const { waiting } = await this.store.ordered.find(this.name, id)
    return waiting && textOfWaiting(waiting)
  }

  /** Page by page. */
  async all(by: 'id' | 'performIn' | 'retryCount', desc = false, limit = 100): Promise<OrderedWaiting[]> {
    const all: OrderedWaiting[] = []
    for (;;) {
      const last = all.at(-1)
      const after = last && { value: by === 'id' ? 0 : last[by], id: last.id }
      const page = await this.store.ordered.waiting(this.name, by, { desc, after, limit, payloads: 1000 })
      all.push(...page)
      if (page.length < limit) return all
    }
  }

  /** The morgue by id: `1{1000,{v1:1},"x"}`. */
  async dead(): Promise<string[]> {
    const entries = await this.store.ordered.morgue(this.name, 'id', { limit: 1000 })
    return entries.map(({ id, updatedAt, payloads, error }) => {
      return `${id}{${updatedAt},${textOf(payloads)}${error === null ? '' : `,${JSON.stringify(error)}`}}`
    })
  }

  async busy(): Promise<string[]> {
    return (await this.store.ordered.inFlight(this.name)).map(({ id }) => id).sort()
  }

  /** Over all shards. */
  async sums(): Promise<Record<'length' | 'fresh' | 'retries' | 'busy' | 'processed' | 'failed', number>> {
    const { shards } = sure(await this.store.ordered.counts(this.name, this.ms))
    const sum = { length: 0, fresh: 0, retries: 0, busy: 0, processed: 0, failed: 0 }
    for (const shard of shards) for (const key of Object.keys(sum) as (keyof typeof sum)[]) sum[key] += shard[key]
    return sum
  }
}

/** A member of a queue, and what it owns. */
export class Owner {
  readonly queue: OrderedQueue
  readonly name: string
  readonly store: Store
  /** By shard. */
  readonly tokens = new Map<number, number>()

  constructor(queue: OrderedQueue, name: string, store: Store) {
    this.queue = queue
    this.name = name
    this.store = store
  }

  /** Asks for a shard. */
  async ask(shard = 0, maxCrashes = 3): ReturnType<Store['ordered']['acquireShard']> {
    const owned = await this.store.ordered.acquireShard(this.queue.name, shard, this.name, maxCrashes, this.queue.ms)
    if (owned) this.tokens.set(shard, owned.token)
    return owned
  }

  /** Gets it. */
  async own(shard = 0, maxCrashes = 3): Promise<NonNullable<Awaited<ReturnType<Store['ordered']['acquireShard']>>>> {
    return sure(await this.ask(shard, maxCrashes))
  }

  async ownAll(maxCrashes = 3): Promise<void> {
    const { owners } = sure(await this.store.ordered.assignments(this.queue.name))
    for (const { shard } of owners) if (!this.tokens.has(shard)) await this.own(shard, maxCrashes)
  }

  async settleAndFetch(part: Partial<OrderedSettleAndFetch>): Promise<OrderedSettleAndFetchAnswer> {
    const turn = { now: this.queue.ms, settlements: [], fetch: [], maxPayloads: 1000, ...part }
    const answer = await this.store.ordered.settleAndFetch(this.queue.name, this.name, turn)
    expect(answer.settled).toHaveLength(turn.settlements.length)
    expect(answer.fetched).toHaveLength(turn.fetch.length)
    for (const [i, { end }] of turn.settlements.entries()) {
      if (answer.settled[i] !== 'ok') continue
      if (end.kind === 'done') this.queue.processed++
      if (end.kind === 'failed' || end.kind === 'dead') this.queue.failed++
    }
    return answer
  }

  request(n: number, shard = 0): OrderedSettleAndFetch['fetch'][number] {
    return { shard, token: this.tokens.get(shard) ?? 0, n }
  }

  /** What comes of one shard that is ours. */
  async fetch(n = 10, shard = 0, more: Partial<OrderedSettleAndFetch> = {}): Promise<Several<HeldBatch>> {
    const asked = this.request(n, shard)
    const answer = await this.settleAndFetch({ fetch: [asked], ...more })
    const [taken] = answer.fetched
    expect(taken?.lost).toBe(false)
    return sure(taken).ids.map((one) => ({ ...one, shard, token: asked.token })) as Several<HeldBatch>
  }

  /** Of all shards that are ours, each by itself. */
  async fetchAll(n = 10): Promise<Several<HeldBatch>> {
    const all: HeldBatch[] = []
    for (const shard of this.tokens.keys()) all.push(...(await this.fetch(n, shard)))
    return all as Several<HeldBatch>
  }

  /** The same where a shard may be gone. */
  async fetchAvailable(n = 10): Promise<HeldBatch[]> {
    const takes = [...this.tokens.keys()].map((shard) => this.request(n, shard))
    const { fetched: taken } = await this.settleAndFetch({ fetch: takes })
    return taken.flatMap(({ ids }, i) => ids.map((one) => ({ ...one, ...sure(takes[i]) })))
  }

  async answers(end: OrderedEnd, ...held: HeldBatch[]): Promise<('ok' | 'fenced' | 'error')[]> {
    return (await this.settleAndFetch({ settlements: held.map((one) => settlement(one, end)) })).settled
  }

  async settle(end: OrderedEnd, ...held: HeldBatch[]): Promise<void> {
    expect(await this.answers(end, ...held)).toEqual(held.map(() => 'ok'))
  }

  /** Its lease is taken away, as that of a process that is known to be dead. */
  async die(): Promise<void> {
    expect(await this.queue.store.workers.claim(this.name)).toBe(true)
  }
}

export function settlement({ id, ticket, shard, token }: HeldBatch, end: OrderedEnd): OrderedSettlement {
  return { id, ticket, shard, token, end }
}
