/** Limits. The shard of a limit's name has its slots and its rate. A job that waits for room stays on its own shard. */

import { type HighkiqError, isUnreachable } from '../../job/errors.ts'
import {
  type DueLimits,
  type Limit,
  type LimitAnswer,
  type LimitRequest,
  type LimitState,
  type LimitStore,
  type SetLimit,
  SHORTEST_CHECK_MS,
  type Store,
  withoutKey,
} from '../contract.ts'
import { LATE_MS } from './in-time.ts'
import { answeredWithin } from './reachability.ts'
import { RepeatedCalls } from './repeated-calls.ts'
import { isShardFailure } from './shard-failure.ts'
import type { Shard, Shards } from './shards.ts'
import type { Slots } from './slots.ts'

/** How often the shard of a limit is asked for room for jobs that wait on other shards. `Slots.notify` also makes it happen. */
const ELSEWHERE_MS = 1000
/** A limit whose shard can't be reached has no room; its jobs are checked again after this time. */
const UNREACHABLE_MS = 1000

export class ShardedLimitStore implements LimitStore {
  readonly #shards: Shards
  readonly #slots: Slots
  readonly #due = new RepeatedCalls<DueLimits>()

  constructor(shards: Shards, slots: Slots) {
    this.#shards = shards
    this.#slots = slots
  }

  // The keys of a limit are on different shards, so each shard stores the numbers that were set.

  readonly change: LimitStore['change'] = async (name, change) =>
    (await this.#onEach((limits) => limits.change(name, change))).every(Boolean)
  readonly reset: LimitStore['reset'] = async (name) =>
    (await this.#onEach((limits) => limits.reset(name))).some(Boolean)
  readonly add: LimitStore['add'] = async (limit) => (await this.#onEach((limits) => limits.add(limit))).every(Boolean)

  readonly allSet: LimitStore['allSet'] = async () => {
    const all = await this.#shards.inTime((store) => store.limits.allSet())
    const byName = new Map<string, SetLimit>()
    for (const one of all.flatMap(({ answer }) => answer)) if (!byName.has(one.name)) byName.set(one.name, one)
    return [...byName.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
  }

  /** The attempts whose limits are on one shard go to it in one call. */
  readonly acquire: LimitStore['acquire'] = async (owner, requests) => {
    const shardsOf = ({ limits }: LimitRequest) => new Set(limits.map(({ name }) => this.#shards.of(name)))
    const together = requests.filter((request) => shardsOf(request).size === 1)
    const answers = new Map<LimitRequest, LimitAnswer>()
    const found = await this.#shards.spread(
      together,
      (request) => [...shardsOf(request)][0] as Shard,
      (store, some) => this.#acquireOn(store, owner, some),
    )
    for (const [i, request] of together.entries()) answers.set(request, found[i] as LimitAnswer)
    for (const request of requests) {
      if (!answers.has(request)) answers.set(request, await this.#acquire(owner, request))
    }
    return requests.map((request) => answers.get(request) as LimitAnswer)
  }

  /** Acquires slots on one shard. While it can't be reached, they have no room: only the jobs that need them wait. */
  async #acquireOn(store: Store, owner: string, requests: readonly LimitRequest[]): Promise<LimitAnswer[]> {
    try {
      return await store.limits.acquire(owner, requests)
    } catch (thrown) {
      // A call that was sent may have acquired slots, so its outcome is unknown.
      if (!isUnreachable(thrown) || (thrown as HighkiqError).details?.sent === true) throw thrown
      return requests.map(() => ({ over: 0, ms: UNREACHABLE_MS }))
    }
  }

  /**
   * Acquires the slots of an attempt shard by shard. When one shard has no room, it releases the slots on the shards
   * before. A start of a rate can't be released, so limits without a rate come first.
   */
  async #acquire(owner: string, { ticket, limits }: LimitRequest): Promise<LimitAnswer> {
    const ofSlots = limits.filter(({ count }) => count === 0)
    const ofRates = limits.filter(({ count }) => count > 0)
    const groups = [...this.#shards.group([...ofSlots, ...ofRates], ({ name }) => this.#shards.of(name))]
    const slots = new Map(limits.map((limit) => [limit, limit.max]))
    const slotsOf = () => {
      const areOwn = limits.every((limit) => slots.get(limit) === limit.max)
      return areOwn ? {} : { slots: [...slots.values()] }
    }
    let ms = 0
    for (const [n, [{ store }, some]] of groups.entries()) {
      const [answer] = (await this.#acquireOn(store, owner, [{ ticket, limits: some }])) as [LimitAnswer]
      for (const [i, limit] of some.entries()) slots.set(limit, answer.slots?.[i] ?? limit.max)
      if (answer.over !== null) {
        const acquired = groups.slice(0, n).flatMap(([, before]) => before)
        await Promise.all(acquired.map(({ name }) => this.release({ limit: name, owner, ticket })))
        return { over: limits.indexOf(some[answer.over] as Limit), ms: answer.ms, ...slotsOf() }
      }
      ms = Math.max(ms, answer.ms)
    }
    return { over: null, ms, ...slotsOf() }
  }

  readonly release: LimitStore['release'] = (slot) => this.#slots.release(slot)

  readonly due: LimitStore['due'] = async (n) => {
    const all = await this.#due.inTime(this.#shards, '', ({ limits }) => limits.due(n))
    const nexts = all.flatMap(({ answer }) => answer.nextMs ?? [])
    const rooms = new Map<string, number>()
    const elsewhere = new Map<string, number>()
    const postponing = all.flatMap(({ shard, answer }) => {
      const others = answer.limits.filter(({ name }) => this.#shards.of(name) !== shard)
      for (const one of answer.limits) addRoom(others.includes(one) ? elsewhere : rooms, one)
      return others.length > 0 ? this.#postponeElsewhere(shard, others) : []
    })
    // This comes before the shard of the limit is asked: a slot that is released later moves the check forward.
    nexts.push(...(await Promise.all(postponing)))
    const free = await this.#freeSlots([...elsewhere.keys()])
    for (const [name, room] of elsewhere) {
      // The shard of the jobs does not know which slots are used.
      const total = Math.min((rooms.get(name) ?? 0) + room, free.get(name) ?? room)
      if (total > 0) rooms.set(name, total)
    }
    const limits = [...rooms].slice(0, n).map(([name, room]) => ({ name, room }))
    // Limits beyond `n` are due at once.
    return { limits, nextMs: rooms.size > n ? 0 : nexts.length > 0 ? Math.min(...nexts) : null }
  }

  /** Postpones the next check of limits whose jobs wait on a shard that does not know their starts. Resolves with the shortest time. */
  async #postponeElsewhere(shard: Shard, limits: DueLimits['limits']): Promise<number> {
    const listed = await this.#listOn(
      shard,
      limits.map(({ name }) => name),
    )
    const states = new Map(listed?.map((one) => [one.name, one]))
    const byTime = new Map<number, string[]>()
    for (const { name, room } of limits) {
      const ms = msUntilCheck(states.get(name), room)
      byTime.set(ms, [...(byTime.get(ms) ?? []), name])
    }
    for (const [ms, names] of byTime) {
      await shard.store.limits.postpone(names, ms).catch((thrown) => {
        if (!isShardFailure(thrown)) throw thrown
      })
    }
    return Math.min(...byTime.keys())
  }

  /** Lists limits of a shard; undefined if it does not answer. */
  async #listOn(shard: Shard, names: readonly string[]): Promise<LimitState[] | undefined> {
    const outcome = Promise.allSettled([shard.store.limits.list(names)])
    const [listed] = (await answeredWithin(LATE_MS, outcome)) ? await outcome : []
    if (!listed) shard.reachability.checkLate()
    if (listed?.status === 'rejected' && !isShardFailure(listed.reason)) throw listed.reason
    return listed?.status === 'fulfilled' ? listed.value : undefined
  }

  /** Returns how many slots of limits are free; none of those whose shard does not answer. A limit that is not in the map has no used slots. */
  async #freeSlots(names: readonly string[]): Promise<Map<string, number>> {
    const free = new Map<string, number>()
    const groups = [...this.#shards.group(names, (name) => this.#shards.of(name))]
    await Promise.all(
      groups.map(async ([shard, own]) => {
        const listed = await this.#listOn(shard, own)
        if (!listed) for (const name of own) free.set(name, 0)
        else for (const one of listed) free.set(one.name, freeOf(one))
      }),
    )
    return free
  }

  readonly postpone: LimitStore['postpone'] = async (names, ms) => {
    await this.#shards.reachable(async ({ limits }, shard) => {
      const isOwn = (name: string) => this.#shards.of(name) === shard
      const own = names.filter(isOwn)
      const others = names.filter((name) => !isOwn(name))
      if (own.length > 0) await limits.postpone(own, ms)
      if (others.length > 0) await limits.postpone(others, Math.max(ms, ELSEWHERE_MS))
    })
  }

  readonly releaseOrphanedSlots: LimitStore['releaseOrphanedSlots'] = async () => {
    await this.#shards.reachable((store) => store.limits.releaseOrphanedSlots())
  }

  readonly list: LimitStore['list'] = async (names) => {
    const byName = new Map<string, LimitState>()
    for (const one of (await this.#onEach((limits) => limits.list(names))).flat()) {
      const before = byName.get(one.name)
      byName.set(one.name, before ? sumOf(before, one) : one)
    }
    const inUse = new Set([...byName.values()].filter(isInUse).map(({ name }) => withoutKey(name)))
    return [...byName.values()]
      .filter((one) => isInUse(one) || !inUse.has(one.name))
      .sort((a, b) => (a.name < b.name ? -1 : 1))
  }

  #onEach<T>(call: (limits: LimitStore) => Promise<T>): Promise<T[]> {
    return this.#shards.each((store) => call(store.limits))
  }
}

function addRoom(rooms: Map<string, number>, { name, room }: DueLimits['limits'][number]): void {
  rooms.set(name, (rooms.get(name) ?? 0) + room)
}

/**
 * Returns the milliseconds until the rate of a limit has room again after so many starts. A limit with slots is checked every
 * second, and when a slot is released.
 */
function msUntilCheck(limit: LimitState | undefined, starts: number): number {
  if (!limit || limit.count === 0 || limit.max > 0) return ELSEWHERE_MS
  const ms = limit.window === 'smooth' ? (limit.per / limit.count) * starts : limit.per
  return Math.min(Math.max(ms, SHORTEST_CHECK_MS), ELSEWHERE_MS)
}

/** Returns how many slots of a limit are free, as far as it has slots. */
function freeOf({ max, used, roomMs }: LimitState): number {
  if (roomMs !== null && roomMs > 0) return 0
  return max > 0 ? Math.max(max - used, 0) : Number.POSITIVE_INFINITY
}

function isInUse({ used, waiting, code }: LimitState): boolean {
  return used > 0 || waiting > 0 || code !== undefined
}

function sumOf(a: LimitState, b: LimitState): LimitState {
  const known = isInUse(a) ? a : b
  const times = [a.roomMs, b.roomMs].flatMap((ms) => ms ?? [])
  return {
    ...known,
    used: a.used + b.used,
    waiting: a.waiting + b.waiting,
    roomMs: times.length > 0 ? Math.max(...times) : null,
  }
}
