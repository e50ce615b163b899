/** The owners of this process, and the shards on which they have a lease. */

import type { JoinOptions } from '../contract.ts'
import type { Shard, Shards } from './shards.ts'

/** A join that failed is repeated after this time at the earliest. */
const RETRY_MS = 1000

interface Owner {
  options: JoinOptions
  joined: Set<Shard>
  joining: Map<Shard, Promise<boolean>>
  /** Its join has ended; some shards may not have been reached. */
  isReady: boolean
}

export class Joins {
  readonly #shards: Shards
  readonly #owners = new Map<string, Owner>()

  constructor(shards: Shards) {
    this.#shards = shards
    shards.onReached((shard) => {
      for (const owner of this.#owners.keys()) this.ensureJoined(owner, shard)
    })
  }

  /** Joins the shards that can be reached; the others are joined when they can be reached. */
  async join(name: string, options: JoinOptions): Promise<boolean> {
    const owner: Owner = { options, joined: new Set(), joining: new Map(), isReady: false }
    this.#owners.set(name, owner)
    try {
      const answers = await this.#shards.inTime((_, shard) => this.#joinOn(name, owner, shard))
      owner.isReady = true
      return answers.every(({ answer }) => answer)
    } catch (thrown) {
      this.#owners.delete(name)
      throw thrown
    }
  }

  /**
   * Whether an owner of this process has joined a shard; if not, it joins now. Also true for owners of other processes,
   * and during `join`: then the shard itself checks the lease.
   */
  ensureJoined(name: string, shard: Shard): boolean {
    const owner = this.#owners.get(name)
    if (!owner?.isReady || owner.joined.has(shard)) return true
    if (shard.reachability.isReachable) this.#joinOn(name, owner, shard).catch(() => {})
    return false
  }

  /** Whether an owner of this process has joined a shard. */
  isJoined(name: string, shard: Shard): boolean {
    return this.#owners.get(name)?.joined.has(shard) ?? false
  }

  /** Forgets an owner that has lost its lease, or has released it. */
  forget(name: string): void {
    this.#owners.delete(name)
  }

  #joinOn(name: string, { options, joined, joining }: Owner, shard: Shard): Promise<boolean> {
    const known = joining.get(shard)
    if (known) return known
    const call = shard.store.workers.join(name, options)
    joining.set(shard, call)
    call.then(
      () => {
        // Also if the answer is false: the shard knows the owner, because the answer to an earlier join was lost.
        joined.add(shard)
        joining.delete(shard)
      },
      () => void setTimeout(() => joining.delete(shard), RETRY_MS).unref(),
    )
    return call
  }
}
