/** Calls that are made again and again, such as those for due jobs. */

import type { Store } from '../contract.ts'
import type { Answered, Shards } from './shards.ts'

/** An answer that comes too late is that of the next call, so that the jobs of a slow shard are found, too. */
export class RepeatedCalls<T> {
  readonly #pending = new Map<string, Promise<T>>()

  /** Calls all shards, and resolves with the answers that come in time. Calls with the same name are the same. */
  async inTime(shards: Shards, name: string, call: (store: Store) => Promise<T>): Promise<Answered<T>[]> {
    const keyOf = (index: number) => `${index} ${name}`
    const answers = await shards.inTime((store, { index }) => {
      const key = keyOf(index)
      const pending = this.#pending.get(key) ?? call(store)
      this.#pending.set(key, pending)
      pending.catch(() => this.#pending.delete(key))
      return pending
    })
    for (const { shard } of answers) this.#pending.delete(keyOf(shard.index))
    return answers
  }
}
