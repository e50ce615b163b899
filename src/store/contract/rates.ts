/**
 * The arithmetic of rates. Times are microseconds on one monotonic clock. The state of a smooth rate is one number: the time
 * from which on it has its whole burst again. That of a window are pairs: the first start of a bucket, and the number of its
 * starts. A state from ahead of the clock, which was set back, or of a slower rate than now, is moved to the latest time that it
 * can mean.
 */

import { type Limit, SLIDING_BUCKETS, START_AHEAD_MS } from './limits.ts'

const AHEAD = START_AHEAD_MS * 1000

export interface Rate {
  /** Whether the state was ahead of what it can mean. Save it as it is now, or it is moved on with the clock for ever. */
  readonly wasAhead: boolean
  /** The number of attempts that may start by now + START_AHEAD_MS. */
  readonly room: number
  /** When one more has room. */
  readonly next: number
  /** After this time the state has no use. */
  readonly until: number
  /** The earliest time of the next start. */
  readonly start: number
  /** Gives out one start at a time, which is not before `start` and at most START_AHEAD_MS ahead. */
  reserve(at: number): void
  toString(): string
}

/** Reads the state of a limit with a rate; '' is that of a limit that was not used. */
export function openRate(limit: Limit, state: string, now: number): Rate {
  const numbers = (state.match(/\d+/g) ?? []).map(Number)
  return limit.window === 'smooth' ? new SmoothRate(limit, numbers, now) : new WindowRate(limit, numbers, now)
}

/** The generic cell rate algorithm. */
class SmoothRate implements Rate {
  readonly #now: number
  readonly #interval: number
  /** How far the position of a start in the sequence may be ahead of the start itself. */
  readonly #tolerance: number
  /** The position of the next start in the sequence of evenly spaced starts. */
  #position: number
  readonly wasAhead: boolean

  constructor({ count, per, burst }: Limit, [place = 0]: number[], now: number) {
    this.#now = now
    this.#interval = (per * 1000) / count
    this.#tolerance = (burst - 1) * this.#interval
    const last = now + AHEAD + burst * this.#interval
    this.#position = Math.max(Math.min(place, last), now)
    // The state is a whole number.
    this.wasAhead = place > Math.ceil(last)
  }

  get room(): number {
    const ahead = this.#now + AHEAD + this.#tolerance - this.#position
    return ahead < 0 ? 0 : Math.floor(ahead / this.#interval) + 1
  }

  get next(): number {
    return this.#position + this.room * this.#interval - this.#tolerance - AHEAD
  }

  get until(): number {
    return Math.ceil(this.#position)
  }

  get start(): number {
    return Math.max(this.#position - this.#tolerance, this.#now)
  }

  reserve(at: number): void {
    this.#position = Math.max(this.#position, at) + this.#interval
  }

  toString(): string {
    return String(this.until)
  }
}

class WindowRate implements Rate {
  readonly #count: number
  readonly #now: number
  /** The time from the first start of a bucket to its last one. */
  readonly #width: number
  /** The time from the first start of a bucket until its starts do not count any more. */
  readonly #span: number
  readonly #buckets: [first: number, starts: number][] = []
  #used = 0
  wasAhead = false

  constructor({ count, per, window }: Limit, numbers: number[], now: number) {
    this.#count = count
    this.#now = now
    this.#width = window === 'fixed' ? per * 1000 : Math.ceil((per * 1000) / SLIDING_BUCKETS)
    this.#span = window === 'fixed' ? this.#width : per * 1000 + this.#width
    for (let i = 0; i + 1 < numbers.length; i += 2) {
      const [first, starts] = [Math.min(numbers[i] as number, now + AHEAD), numbers[i + 1] as number]
      if (first + this.#span <= now) continue
      if (first !== numbers[i]) this.wasAhead = true
      this.#buckets.push([first, starts])
      this.#used += starts
    }
  }

  get room(): number {
    return Math.max(this.#count - this.#used, 0)
  }

  get next(): number {
    return (this.#buckets[0]?.[0] ?? this.#now) + this.#span
  }

  get until(): number {
    return (this.#buckets.at(-1)?.[0] ?? this.#now) + this.#span
  }

  get start(): number {
    return this.#now
  }

  reserve(at: number): void {
    const last = this.#buckets.at(-1)
    if (last && at < last[0] + this.#width) last[1]++
    else this.#buckets.push([at, 1])
    this.#used++
  }

  toString(): string {
    return this.#buckets.flat().join(' ')
  }
}
