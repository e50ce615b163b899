/** Cron entries. An entry is on the shard of its name, and its jobs are, too. */

import { invalidOption } from '../../job/errors.ts'
import type { CronStore } from '../contract.ts'
import type { Shards } from './shards.ts'

export class ShardedCronStore implements CronStore {
  readonly #shards: Shards

  constructor(shards: Shards) {
    this.#shards = shards
  }

  #of(name: string): CronStore {
    return this.#shards.of(name).store.crons
  }

  readonly list: CronStore['list'] = async (names) => {
    const all = await this.#shards.reachable((store) => store.crons.list(names))
    return all.flatMap(({ answer }) => answer).sort((a, b) => (a.name < b.name ? -1 : 1))
  }

  readonly define: CronStore['define'] = (name, ...rest) => this.#of(name).define(name, ...rest)

  readonly tick: CronStore['tick'] = async (name, tick, now) => {
    const locked = tick.push?.item.unique?.claims.some(({ key }) => this.#shards.of(key) !== this.#shards.of(name))
    if (!locked) return this.#of(name).tick(name, tick, now)
    throw invalidOption(
      `cron entry ${name}: with shards, its job must not be unique, because its lock may be on another shard; use the entry's option \`overlap\` instead`,
    )
  }

  readonly pause: CronStore['pause'] = (name, ...rest) => this.#of(name).pause(name, ...rest)
  readonly remove: CronStore['remove'] = (name) => this.#of(name).remove(name)

  readonly releaseLock: CronStore['releaseLock'] = async (lock, holder) => {
    await this.#shards.each((store) => store.crons.releaseLock(lock, holder))
  }
}
