/** Which queues grow, minute by minute. */

const MINUTE = 60_000
const KEPT_MINUTES = 60
/** A sample that is taken for that of a minute's end is at most so far from it. */
const NEAR_MS = 20_000
/** The largest queues are watched. */
const MOST_QUEUES = 500

export interface Growth {
  /** Jobs more in a minute. */
  perMinute: number
  /** For which it has grown in each one. */
  minutes: number
}

export class QueueGrowth {
  #samples: { at: number; sizes: Map<string, number> }[] = []

  add(at: number, queues: readonly { name: string; size: number }[]): void {
    const largest = [...queues].sort((a, b) => b.size - a.size).slice(0, MOST_QUEUES)
    this.#samples.push({ at, sizes: new Map(largest.map(({ name, size }) => [name, size])) })
    const first = this.#samples.findIndex((sample) => sample.at >= at - (KEPT_MINUTES + 1) * MINUTE)
    if (first > 0) this.#samples = this.#samples.slice(first)
  }

  /** How it has grown up to the last sample, in minutes that follow each other. */
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
