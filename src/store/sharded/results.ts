/** Results of jobs, and small values by name. A result is on the shard of its job. */

import type { ResultStore } from '../contract.ts'
import type { Shards } from './shards.ts'

export class ShardedResultStore implements ResultStore {
  readonly #shards: Shards

  constructor(shards: Shards) {
    this.#shards = shards
  }

  readonly remember: ResultStore['remember'] = (key, ...rest) =>
    this.#shards.of(key).store.results.remember(key, ...rest)
  readonly keep: ResultStore['keep'] = (jid, ...rest) => this.#shards.ofJob(jid).store.results.keep(jid, ...rest)

  readonly find: ResultStore['find'] = async (jid, ms = 0, signal = new AbortController().signal) => {
    const isFound = (result: string | null) => result !== null
    const found = await this.#shards.race(signal, isFound, ({ results }, any) => results.find(jid, ms, any))
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
