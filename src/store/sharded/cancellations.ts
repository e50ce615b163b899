/** Cancellations. A job may be on any shard, so each has all of them. */

import type { CancellationState, CancellationStore } from '../contract.ts'
import type { Shards } from './shards.ts'
import { Versions } from './versions.ts'

const STRENGTH: readonly CancellationState[] = ['none', 'requested', 'dropped', 'aborted']

export class ShardedCancellationStore implements CancellationStore {
  readonly #shards: Shards
  readonly versions: Versions

  constructor(shards: Shards) {
    this.#shards = shards
    this.versions = new Versions(shards.all.length)
  }

  readonly request: CancellationStore['request'] = async (jids, now, brief) => {
    const all = await this.#shards.each((store) => store.cancellations.request(jids, now, brief))
    return (all[0] as number[]).map((_, i) => this.versions.numberOf(all.map((versions) => versions[i] as number)))
  }

  readonly withdraw: CancellationStore['withdraw'] = async (jid, now, version) => {
    const versions = version === undefined ? undefined : this.versions.of(version)
    const states = await this.#shards.each((store, { index }) =>
      store.cancellations.withdraw(jid, now, version === undefined ? undefined : (versions?.[index] ?? -1)),
    )
    return states.reduce((a, b) => (STRENGTH.indexOf(b) > STRENGTH.indexOf(a) ? b : a))
  }

  readonly among: CancellationStore['among'] = async (jids) => {
    const all = await this.#shards.inTime((store) => store.cancellations.among(jids))
    const some = new Set(all.flatMap(({ answer }) => answer))
    return jids.filter((jid) => some.has(jid))
  }

  readonly since: CancellationStore['since'] = async (since) => {
    const known = this.versions.of(since)
    const all = await this.#shards.inTime((store, { index }) => store.cancellations.since(known?.[index] ?? 0))
    const numbers = new Map(all.map(({ shard, answer }) => [shard.index, answer.version]))
    return { version: this.versions.numberWith(numbers), jids: [...new Set(all.flatMap(({ answer }) => answer.jids))] }
  }
}
