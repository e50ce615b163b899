/** Which of the shards that are ready runs its next batch when a place is free. */

import type { ReadyShard, ShardScheduler } from '../worker/options.ts'

/** A shard as the scheduler sees it. */
export interface Candidate extends ReadyShard {
  /** Something of it is at hand, and may run now. */
  readonly isReady: boolean
  /** When the first of that was due, in seconds since the epoch. */
  readonly due: number
  /** The round in which it was chosen last. */
  round: number
}

export class Scheduler {
  readonly #strategy: ShardScheduler
  readonly #report: (error: unknown) => void
  #round = 1
  /** Behind whom it goes on in turn. */
  #lastIndex = -1
  #hasFailed = false

  constructor(wanted: ShardScheduler, report: (error: unknown) => void) {
    this.#strategy = wanted
    this.#report = report
  }

  /** undefined: none is ready. */
  pick<Shard extends Candidate>(shards: readonly Shard[]): Shard | undefined {
    if (this.#strategy === 'seq') return this.#roundRobin(shards)
    if (this.#strategy !== 'lag') {
      const chosen = this.#choose(this.#strategy, shards)
      if (chosen) return chosen
    }
    return this.#byLag(shards)
  }

  /** Who has waited longest, but nobody twice before everybody who is ready had a turn. */
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

  /** A function that breaks, or chooses nothing, must not hold up what is due. */
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
