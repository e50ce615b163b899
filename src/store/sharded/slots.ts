/** Releases slots of limits on their shards, until each shard has done it. */

import type { LimitStore } from '../contract.ts'
import { isShardFailure } from './shard-failure.ts'
import type { Shard, Shards } from './shards.ts'

type Slot = Parameters<LimitStore['release']>[0]

export class Slots {
  readonly #shards: Shards
  /** The slots whose shard has failed to release them. Their owner lives on, so the end of its lease does not release them. */
  readonly #unreleased = new Map<Shard, Set<Slot>>()

  constructor(shards: Shards) {
    this.#shards = shards
    shards.onReached((shard) => this.#releaseRest(shard))
  }

  /** Releases a slot; later if its shard fails now. Releasing it twice is harmless. */
  async release(slot: Slot): Promise<void> {
    const shard = this.#shards.of(slot.limit)
    try {
      await shard.store.limits.release(slot)
    } catch (thrown) {
      if (!isShardFailure(thrown)) throw thrown
      const rest = this.#unreleased.get(shard) ?? new Set()
      this.#unreleased.set(shard, rest.add(slot))
      return
    }
    // The shard answers, also if it only was late and never down.
    this.#releaseRest(shard)
  }

  /**
   * Makes a shard check its jobs that wait for a limit of another shard, after a job of it has released a slot there. If this
   * fails, they are checked within a second.
   */
  notify(slot: Slot, shard: Shard): void {
    // The shard has no such slot, so it only checks the limit, if jobs wait.
    shard.store.limits.release(slot).catch(() => {})
  }

  #releaseRest(shard: Shard): void {
    const rest = this.#unreleased.get(shard)
    this.#unreleased.delete(shard)
    for (const slot of rest ?? []) this.release(slot).catch(() => {})
  }
}
