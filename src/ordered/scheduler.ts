/** Chooses which ready shard runs its next batch. */

import type { ReadyShard, ShardScheduler } from '../worker/options.ts'

/** A shard as the scheduler sees it. */
export interface Candidate extends ReadyShard {
  /** Whether the shard has an id that can start now. */
  readonly isReady: boolean
  /** When its first id was due, in seconds since the epoch. */
  readonly due: number
  /** The last round in which the shard was chosen. */
  round: number
}

export class Scheduler {
  readonly #strategy: ShardScheduler
  readonly #report: (error: unknown) => void
  #round = 1
  /** The index of the shard that round robin chose last. */
  #lastIndex = -1
  #hasFailed = false

  constructor(wanted: ShardScheduler, report: (error: unknown) => void) {
    this.#strategy = wanted
    this.#report = report
  }

  /** Returns undefined when no shard is ready. */
  pick<Shard extends Candidate>(shards: readonly Shard[]): Shard | undefined {
    if (this.#strategy === 'seq') return this.#roundRobin(shards)
    if (this.#strategy !== 'lag') {
      const chosen = this.#choose(this.#strategy, shards)
      if (chosen) return chosen
    }
    return this.#byLag(shards)
  }

  /** Chooses the shard that has waited longest, and none twice before every ready shard was chosen once. */
  #byLag<Shard extends Candidate>(shards: readonly Shard[]): Shard | undefined {
    let best: Shard | undefined
    let first: Shard | undefined
    for (const shard of shards) {
      if (!shard.isReady) continue
      if (!first || shard.due < first.due) first = shard
      if (shard.round < this.#round && (!best || shard.due < best.due)) best = shard
    }
    if (!best && first) {
      this.#round++
      best = first
    }
    if (best) best.round = this.#round
    return best
  }

  #roundRobin<Shard extends Candidate>(shards: readonly Shard[]): Shard | undefined {
    for (let i = 1; i <= shards.length; i++) {
      const at = (this.#lastIndex + i) % shards.length
      if (!shards[at]?.isReady) continue
      this.#lastIndex = at
      return shards[at]
    }
    return undefined
  }

  /** Calls the user's function. When it throws or chooses nothing, the shard that has waited longest is next. */
  #choose<Shard extends Candidate>(
    choose: Exclude<ShardScheduler, string>,
    shards: readonly Shard[],
  ): Shard | undefined {
    const ready = shards.filter(({ isReady }) => isReady)
    if (ready.length === 0) return undefined
    try {
      const chosen = choose(ready)
      this.#hasFailed = false
      return ready.find((shard) => shard === chosen)
    } catch (thrown) {
      if (!this.#hasFailed) this.#report(thrown)
      this.#hasFailed = true
      return undefined
    }
  }
}
