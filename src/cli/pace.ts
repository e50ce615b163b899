/** How fast a task goes now: not over its life, and not from one look to the next. */

const WINDOW_MS = 5000
const ENOUGH_ROWS = 5
const OLDEST_MS = 60_000

interface Sample {
  at: number
  ended: number
}

/**
 * Ended rows per second over the last 5 s; further back (up to a minute) while fewer than 5 rows have ended in them, so
 * that a slow task has a rate too.
 */
export class Pace {
  readonly #samples: Sample[] = []
  #lastEnd: number | undefined

  see(ended: number, at: number): void {
    const last = this.#samples.at(-1)
    if (!last || ended > last.ended) this.#lastEnd = at
    // Rows that were begun again: what was seen before is another count.
    if (last && ended < last.ended) this.#samples.length = 0
    if (last?.at === at) this.#samples.pop()
    this.#samples.push({ at, ended })
    for (;;) {
      const [oldest, second] = this.#samples
      if (!oldest || !second) return
      const enough = at - second.at >= WINDOW_MS && ended - second.ended >= ENOUGH_ROWS
      if (!enough && at - oldest.at <= OLDEST_MS) return
      this.#samples.shift()
    }
  }

  /** Undefined until there is something to compare with. */
  get perSecond(): number | undefined {
    const [first, last] = [this.#samples[0], this.#samples.at(-1)]
    if (!first || !last || last.at - first.at < 150) return undefined
    return ((last.ended - first.ended) / (last.at - first.at)) * 1000
  }

  /** Seconds since a row ended, or since the first look. */
  idleSeconds(now: number): number {
    return this.#lastEnd === undefined ? 0 : (now - this.#lastEnd) / 1000
  }
}
