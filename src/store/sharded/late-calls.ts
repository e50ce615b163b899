/** Calls for the steps of workers, which do not wait long for a shard. */

import { LATE_MS } from './in-time.ts'
import { answeredWithin } from './reachability.ts'
import type { Shard } from './shards.ts'

/** How long a step waits for a shard whose last answer was late. */
const SLOW_MS = 25

export class LateCalls {
  /** The number of late calls that have no answer yet, by shard and owner. */
  readonly #waiting = new Map<string, number>()
  /** The shards and owners whose last call was late. */
  readonly #slow = new Set<string>()

  /** Whether a call of this owner is late and has no answer yet. */
  has(owner: string, shard: Shard): boolean {
    return this.#waiting.has(keyOf(owner, shard))
  }

  /** Resolves with the outcome of a call; undefined if it is late. Of a late call `onLate` gets the outcome. */
  async run<T>(
    owner: string,
    shard: Shard,
    call: Promise<T>,
    onLate: (outcome: PromiseSettledResult<T>) => void,
  ): Promise<PromiseSettledResult<T> | undefined> {
    const key = keyOf(owner, shard)
    const began = performance.now()
    let outcome: PromiseSettledResult<T> | undefined
    const ended = Promise.allSettled([call]).then(([one]) => {
      outcome = one
    })
    if (await answeredWithin(this.#slow.has(key) ? SLOW_MS : LATE_MS, ended)) {
      this.#slow.delete(key)
      return outcome
    }
    this.#slow.add(key)
    this.#waiting.set(key, (this.#waiting.get(key) ?? 0) + 1)
    shard.reachability.checkLate()
    void ended.then(() => {
      const left = (this.#waiting.get(key) ?? 1) - 1
      if (left > 0) this.#waiting.set(key, left)
      else this.#waiting.delete(key)
      if (performance.now() - began < LATE_MS) this.#slow.delete(key)
      onLate(outcome as PromiseSettledResult<T>)
    })
    return undefined
  }

  /** Forgets an owner that has no lease any more. */
  forget(owner: string, shards: readonly Shard[]): void {
    for (const shard of shards) this.#slow.delete(keyOf(owner, shard))
  }
}

function keyOf(owner: string, { index }: Shard): string {
  return `${index} ${owner}`
}
