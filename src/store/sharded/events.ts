/** The record of events: each shard has a recording of its own, and readers read all of them. */

import type { JobEventStore } from '../contract.ts'
import type { Shards } from './shards.ts'

export class ShardedJobEventStore implements JobEventStore {
  readonly #shards: Shards

  constructor(shards: Shards) {
    this.#shards = shards
  }

  get shards(): readonly JobEventStore[] {
    return this.#shards.all.map(({ store }) => store.events)
  }

  readonly record: JobEventStore['record'] = async (keep, now) => {
    const all = await this.#shards.inTime((store) => store.events.record(keep, now))
    return { newest: 0, isConfirmed: all.every(({ answer }) => answer.isConfirmed) }
  }

  readonly confirm: JobEventStore['confirm'] = async (now) => {
    const all = await this.#shards.reachable((store) => store.events.confirm(now))
    return all.some(({ answer }) => answer === null) ? null : 0
  }

  readonly isRecording: JobEventStore['isRecording'] = async (now) => {
    const all = await this.#shards.inTime((store) => store.events.isRecording(now))
    return all.some(({ answer }) => answer)
  }

  readonly append: JobEventStore['append'] = async (records, now) => {
    const groups = [...this.#shards.group(records, ({ jid }) => this.#shards.ofJob(jid))]
    await Promise.all(groups.map(([{ store }, some]) => store.events.append(some, now)))
  }

  /** Always throws: each recording has its own numbers. Call `read` of each of the `shards`. */
  readonly read: JobEventStore['read'] = () => {
    throw new Error('a sharded store has several recordings: call read of each of its shards')
  }
}
