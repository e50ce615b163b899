/** Locks of unique jobs. A lock is on the shard of its job, which for most jobs is that of its key. */

import type { UniqueStore } from '../contract.ts'
import { pageThrough } from './pages.ts'
import type { Shards } from './shards.ts'

export class ShardedUniqueStore implements UniqueStore {
  readonly #shards: Shards

  constructor(shards: Shards) {
    this.#shards = shards
  }

  readonly list: UniqueStore['list'] = async ({ after, limit }, now) => {
    const { items, next } = await pageThrough(this.#shards, after, limit, async ({ unique }, page) => {
      const { locks, next } = await unique.list(page, now)
      return { items: locks, next }
    })
    return { locks: items, next }
  }

  readonly find: UniqueStore['find'] = async (keys, now) => {
    const all = await this.#shards.each((store) => store.unique.find(keys, now))
    return keys.map((_, i) => all.find((locks) => locks[i])?.[i] ?? null)
  }

  readonly suspect: UniqueStore['suspect'] = async (locks, suspicion) => {
    await this.#shards.reachable((store) => store.unique.suspect(locks, suspicion))
  }

  readonly release: UniqueStore['release'] = async (locks) => {
    const all = await this.#shards.each((store) => store.unique.release(locks))
    return locks.map((_, i) => all.some((released) => released[i]))
  }
}
