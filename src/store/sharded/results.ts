/** Results of jobs, and small values by name. A result is on the shard of its job, or on any other one. */

import type { ResultStore } from '../contract.ts'
import type { Shards } from './shards.ts'

export class ShardedResultStore implements ResultStore {
  readonly #shards: Shards

  constructor(shards: Shards) {
    this.#shards = shards
  }

  readonly remember: ResultStore['remember'] = (key, ...rest) =>
    this.#shards.of(key).store.results.remember(key, ...rest)

  /** While the shard of the job can't be reached, another one keeps the result, so that the worker need not wait. */
  readonly keep: ResultStore['keep'] = (jid, ...rest) => {
    const own = this.#shards.ofJob(jid)
    const shard = own.reachability.isReachable ? own : (this.#shards.reachableNow[0] ?? own)
    return shard.store.results.keep(jid, ...rest)
  }

  readonly find: ResultStore['find'] = async (jid, ms = 0, signal = new AbortController().signal) => {
    const isFound = (result: string | null) => result !== null
    const found =
      ms > 0
        ? await this.#shards.race(signal, ms, isFound, ({ results }, wait) => results.find(jid, wait.ms, wait.signal))
        : (await this.#shards.reachable(({ results }) => results.find(jid))).map(({ answer }) => answer)
    return found.find(isFound) ?? null
  }

  // The first shard has the data that exist once.

  readonly secret: ResultStore['secret'] = (...args) => this.#results.secret(...args)
  readonly linkVersion: ResultStore['linkVersion'] = (list) => this.#results.linkVersion(list)
  readonly raiseLinkVersion: ResultStore['raiseLinkVersion'] = (...args) => this.#results.raiseLinkVersion(...args)
  readonly linkVersions: ResultStore['linkVersions'] = () => this.#results.linkVersions()

  get #results(): ResultStore {
    return this.#shards.first.store.results
  }
}
