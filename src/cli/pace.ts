/** Measures the current rate of a task, over the last seconds. */

const WINDOW_MS = 5000
const ENOUGH_ROWS = 5
const OLDEST_MS = 60_000

interface Sample {
  at: number
  ended: number
}

/**
 * Ended rows per second over the last 5 s. While fewer than 5 rows ended in them, it looks further back, up to a minute,
 * so that a slow task has a rate too.
 */
export class Pace {
  readonly #samples: Sample[] = []
  #lastEnd: number | undefined

  addSample(ended: number, at: number): void {
    const last = this.#samples.at(-1)
    if (!last || ended > last.ended) this.#lastEnd = at
    // Rows were retried, so earlier samples do not compare.
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

  /** Undefined until two samples are 150 ms apart. */
  get perSecond(): number | undefined {
    const [first, last] = [this.#samples[0], this.#samples.at(-1)]
    if (!first || !last || last.at - first.at < 150) return undefined
    return ((last.ended - first.ended) / (last.at - first.at)) * 1000
  }

  /** Seconds since a row ended, or since the first sample. */
  idleSeconds(now: number): number {
    return this.#lastEnd === undefined ? 0 : (now - this.#lastEnd) / 1000
  }
}
