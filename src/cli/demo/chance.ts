/** Numbers that look random and are the same at each run: mulberry32. */

export class Chance {
  #state: number

  constructor(seed: number) {
    this.#state = seed >>> 0
  }

  /** From 0 up to but not including 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let mixed = this.#state
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  /** A whole number from `from` to `to`, both included. */
  whole(from: number, to: number): number {
    return from + Math.floor(this.next() * (to - from + 1))
  }

  pick<T>(from: readonly T[]): T {
    return from[Math.floor(this.next() * from.length)] as T
  }

  /** `count` different numbers from 0 up to but not including `below`, in ascending order. */
  distinct(count: number, below: number): number[] {
    const drawn = new Set<number>()
    while (drawn.size < Math.min(count, below)) drawn.add(this.whole(0, below - 1))
    return [...drawn].sort((a, b) => a - b)
  }
}
