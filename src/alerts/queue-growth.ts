/** Tracks which queues grow, minute by minute. */

const MINUTE = 60_000
const KEPT_MINUTES = 60
/** The largest distance of a sample from the end of a minute that it stands for. */
const NEAR_MS = 20_000
/** The number of queues that are tracked, the largest ones. */
const MOST_QUEUES = 500

export interface Growth {
  /** Growth in jobs a minute. */
  perMinute: number
  /** The number of consecutive minutes in which the queue grew. */
  minutes: number
}

export class QueueGrowth {
  #samples: { at: number; sizes: Map<string, number> }[] = []

  add(at: number, queues: readonly { name: string; size: number }[]): void {
    const largest = [...queues].sort((a, b) => b.size - a.size).slice(0, MOST_QUEUES)
    const since = at - (KEPT_MINUTES + 1) * MINUTE
    // When the clock was set back, samples of the time ahead say nothing.
    this.#samples = this.#samples.filter((sample) => sample.at >= since && sample.at < at)
    this.#samples.push({ at, sizes: new Map(largest.map(({ name, size }) => [name, size])) })
  }

  /** Whether there are samples of `now` and of `minutes` before it. */
  isKnown(now: number, minutes: number): boolean {
    return this.#near(now) !== undefined && this.#near(now - minutes * MINUTE) !== undefined
  }

  /** Returns the growth of a queue over consecutive minutes up to the last sample. */
  of(queue: string): Growth {
    const last = this.#samples.at(-1)
    const size = last?.sizes.get(queue) ?? 0
    let earliest = size
    let minutes = 0
    for (; last && minutes < KEPT_MINUTES; minutes++) {
      const before = this.#near(last.at - (minutes + 1) * MINUTE)
      if (!before) break
      const then = before.sizes.get(queue) ?? 0
      if (then >= earliest) break
      earliest = then
    }
    return { perMinute: minutes > 0 ? (size - earliest) / minutes : 0, minutes }
  }

  #near(time: number): { sizes: Map<string, number> } | undefined {
    let nearest: { at: number; sizes: Map<string, number> } | undefined
    for (const sample of this.#samples) {
      if (Math.abs(sample.at - time) > NEAR_MS) continue
      if (!nearest || Math.abs(sample.at - time) < Math.abs(nearest.at - time)) nearest = sample
    }
    return nearest
  }
}
