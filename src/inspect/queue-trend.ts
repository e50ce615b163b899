/** Whether queues grow, and when they will be empty, from their sizes of the last minute. */

const KEPT_MS = 60_000

export interface QueueTrend {
  /** The jobs by which the queue grows in a minute; below 0 when it shrinks. */
  perMinute: number
  /** Seconds until it is empty if it goes on like this; null when it does not shrink. */
  emptyIn: number | null
}

export class QueueTrends {
  #samples: { at: number; sizes: Map<string, number> }[] = []

  /** Adds the sizes at a time in milliseconds. */
  add(at: number, queues: readonly { name: string; size: number }[]): void {
    this.#samples = this.#samples.filter((sample) => sample.at < at && sample.at >= at - KEPT_MS)
    this.#samples.push({ at, sizes: new Map(queues.map(({ name, size }) => [name, size])) })
  }

  /** Returns the trend of a queue; null before there are two samples. */
  of(queue: string): QueueTrend | null {
    const [first, last] = [this.#samples[0], this.#samples.at(-1)]
    if (!first || !last || first === last) return null
    const size = last.sizes.get(queue) ?? 0
    const perMinute = ((size - (first.sizes.get(queue) ?? 0)) * 60_000) / (last.at - first.at)
    const emptyIn = perMinute < 0 ? Math.round((size * 60) / -perMinute) : null
    return { perMinute: Math.round(perMinute), emptyIn }
  }
}
