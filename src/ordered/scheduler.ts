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
  readonly #wanted: ShardScheduler
  readonly #report: (error: unknown) => void
  #round = 1
  /** Behind whom it goes on in turn. */
  #last = -1
  #broke = false

  constructor(wanted: ShardScheduler, report: (error: unknown) => void) {
    this.#wanted = wanted
    this.#report = report
  }

  /** undefined: none is ready. */
  pick<Shard extends Candidate>(shards: readonly Shard[]): Shard | undefined {
    if (this.#wanted === 'seq') return this.#inTurn(shards)
    if (this.#wanted !== 'lag') {
      const chosen = this.#ask(this.#wanted, shards)
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

  #inTurn<Shard extends Candidate>(shards: readonly Shard[]): Shard | undefined {
    for (let i = 1; i <= shards.length; i++) {
      const at = (this.#last + i) % shards.length
      if (!shards[at]?.isReady) continue
      this.#last = at
      return shards[at]
    }
    return undefined
  }

  /** A function that breaks, or chooses nothing, must not hold up what is due. */
  #ask<Shard extends Candidate>(choose: Exclude<ShardScheduler, string>, shards: readonly Shard[]): Shard | undefined {
    const ready = shards.filter(({ isReady }) => isReady)
    if (ready.length === 0) return undefined
    try {
      const chosen = choose(ready)
      this.#broke = false
      return ready.find((shard) => shard === chosen)
    } catch (thrown) {
      if (!this.#broke) this.#report(thrown)
      this.#broke = true
      return undefined
    }
  }
}
