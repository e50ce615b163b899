/** The shard to which a job is pushed. */

import { messageOf } from '../../job/errors.ts'
import type { PushItem } from '../contract.ts'
import { jidIn, type Shard, type Shards, slotOf } from './shards.ts'

/** Milliseconds for which plain jobs avoid a shard after it has refused one. Then one job is pushed to it as a test. */
const AVOIDED_MS = 1000
/** Milliseconds between two warnings about the same shard. */
const LOG_MS = 60_000

/**
 * Returns the key whose shard must store a job: that of its batch, its task, its lock or its limit, so that the store
 * changes both in one step. Undefined for a plain job.
 */
function ownKeyOf(item: PushItem): string | undefined {
  for (const effect of item.effects ?? []) {
    if (effect.kind === 'batch') return effect.bid
    if (effect.kind === 'event') return effect.jid
  }
  const { unique } = item
  // A job may have a lock of its jid besides.
  if (unique) return unique.claims.find(({ key }) => !key.endsWith(unique.jid))?.key ?? unique.jid
  return item.limit ?? item.once
}

export class PushShards {
  readonly #shards: Shards
  readonly #warn: ((message: string) => void) | undefined
  /** Until when plain jobs are not pushed to a shard that refuses them, on the monotonic clock. */
  readonly #avoidedUntil = new Map<Shard, number>()
  readonly #loggedAt = new Map<Shard, number>()

  constructor(shards: Shards, warn?: (message: string) => void) {
    this.#shards = shards
    this.#warn = warn
  }

  /**
   * Returns the shard to which a job is pushed: that of its key (`ownKeyOf`), else that of its jid. While the shard of
   * its jid can't be reached or refuses jobs, it is one of the others.
   */
  of(item: PushItem): Shard {
    const home = ownKeyOf(item)
    if (home !== undefined) return this.#shards.of(home)
    const jid = jidIn(item.text)
    const own = this.#shards.of(jid)
    if (own.reachability.isReachable && !this.#avoids(own)) return own
    return this.#pick(jid, this.#acceptingShards()) ?? this.#pick(jid, this.#shards.reachableNow) ?? own
  }

  /** Returns the shard to which a plain job is pushed after others have refused it; undefined if no shard is left, or the job has a key. */
  after(refusals: ReadonlyMap<Shard, unknown>, item: PushItem): Shard | undefined {
    if (ownKeyOf(item) !== undefined) return undefined
    const isLeft = (shard: Shard) => !refusals.has(shard)
    const jid = jidIn(item.text)
    return this.#pick(jid, this.#acceptingShards().filter(isLeft)) ?? this.#pick(jid, this.#shards.all.filter(isLeft))
  }

  /**
   * Notes that a shard has stored jobs, one of which others have refused. So the jobs are valid, and for a while plain jobs
   * are not pushed to those others.
   */
  stored(items: readonly PushItem[], shard: Shard, refusals: ReadonlyMap<Shard, unknown>): void {
    if (this.#avoidedUntil.has(shard) && items.some((item) => ownKeyOf(item) === undefined))
      this.#avoidedUntil.delete(shard)
    for (const [other, thrown] of refusals) this.#avoid(other, thrown)
  }

  #avoid(shard: Shard, thrown: unknown): void {
    const now = performance.now()
    this.#avoidedUntil.set(shard, now + AVOIDED_MS)
    if (now < (this.#loggedAt.get(shard) ?? Number.NEGATIVE_INFINITY) + LOG_MS) return
    this.#loggedAt.set(shard, now)
    const name = `shard ${shard.index + 1} of ${this.#shards.all.length}`
    this.#warn?.(
      `${name} refuses jobs (${messageOf(thrown)}): plain jobs are pushed to the other shards until it accepts jobs`,
    )
  }

  /** Whether a plain job should go to another shard. After AVOIDED_MS it returns false once, so that one job is pushed there. */
  #avoids(shard: Shard): boolean {
    const until = this.#avoidedUntil.get(shard)
    if (until === undefined) return false
    const now = performance.now()
    if (now < until) return true
    this.#avoidedUntil.set(shard, now + AVOIDED_MS)
    return false
  }

  #acceptingShards(): Shard[] {
    return this.#shards.reachableNow.filter((shard) => !this.#avoidedUntil.has(shard))
  }

  #pick(jid: string, shards: readonly Shard[]): Shard | undefined {
    return shards[slotOf(jid) % shards.length]
  }
}
