/**
 * The arithmetic of rates. Times are microseconds on one monotonic clock. The state of a smooth rate is one number: the time
 * from which on it has its whole burst again. That of a window are pairs: the first start of a bucket, and the number of its
 * starts. A state from ahead of the clock, which was set back, or of a slower rate than now, is moved to the latest time that it
 * can mean.
 *
 * When a rate has room, waiting jobs move to their queues. These moved jobs keep their room until they start, at most
 * for five seconds. A check at another time than planned ends this, too, because a moved job may have ended without a
 * start. After the starts, a state has the word `called` and three numbers for the moved jobs: how many have not
 * started, until when they count, and the time of the next check.
 */

import { type Limit, SLIDING_BUCKETS, SLOT_CHECK_MS, START_AHEAD_MS } from './limits.ts'

const AHEAD = START_AHEAD_MS * 1000
/** The word before the numbers of the moved jobs in a state. Version 0.1 writes it, too. */
const MOVED = 'called'
/** How long moved jobs count, in microseconds. */
const MOVED_FOR = SLOT_CHECK_MS * 1000

export interface Rate {
  /** Whether the state was ahead of what it can mean. Save it as it is now, or it is moved on with the clock for ever. */
  readonly wasAhead: boolean
  /** The number of attempts that may start by now + START_AHEAD_MS. */
  readonly room: number
  /** Returns the time from which on `n` attempts have room. */
  nextFor(n: number): number
  /** After this time the state has no use. */
  readonly until: number
  /** The earliest time of the next start. */
  readonly start: number
  /** Gives out one start at a time, which is not before `start` and at most START_AHEAD_MS ahead. */
  reserve(at: number): void
  /** Returns how many waiting jobs have room beside the moved ones. `checkAt`: the time planned for this check. */
  roomOfWaiting(checkAt: number | null): number
  /** Counts `n` more waiting jobs as moved. Returns the time at which another one may have room. */
  addMoved(n: number): number
  /** Stores the time of the next check in the state. */
  planCheck(at: number): void
  toString(): string
}

/** Reads the state of a limit with a rate; '' is that of a limit that was not used. */
export function openRate(limit: Limit, state: string, now: number): Rate {
  const [starts = '', moved = ''] = state.split(MOVED)
  const rate =
    limit.window === 'smooth'
      ? new SmoothRate(limit, numbersIn(starts), now)
      : new WindowRate(limit, numbersIn(starts), now)
  rate.readMoved(numbersIn(moved))
  return rate
}

function numbersIn(text: string): number[] {
  return (text.match(/\d+/g) ?? []).map(Number)
}

/** A rate that counts the moved jobs. */
abstract class RateWithMoved implements Rate {
  protected readonly now: number
  #moved = 0
  #countUntil = 0
  #checkAt = 0

  constructor(now: number) {
    this.now = now
  }

  abstract readonly wasAhead: boolean
  abstract readonly room: number
  abstract readonly start: number
  abstract nextFor(n: number): number
  protected abstract readonly startsUntil: number
  protected abstract readonly starts: string
  protected abstract addStart(at: number): void

  readMoved([moved = 0, until = 0, checkAt = 0]: number[]): void {
    // A time that is too far ahead is from before the clock was set back.
    if (until <= this.now || until > this.now + MOVED_FOR) return
    this.#moved = moved
    this.#countUntil = until
    this.#checkAt = checkAt
  }

  get until(): number {
    return this.#moved > 0 ? Math.max(this.startsUntil, this.#countUntil) : this.startsUntil
  }

  reserve(at: number): void {
    this.addStart(at)
    if (this.#moved > 0) this.#moved--
  }

  roomOfWaiting(checkAt: number | null): number {
    if (checkAt !== this.#checkAt) this.#moved = 0
    return Math.max(this.room - this.#moved, 0)
  }

  addMoved(n: number): number {
    this.#moved += n
    if (n > 0) this.#countUntil = Math.ceil(this.now + MOVED_FOR)
    const next = this.nextFor(this.#moved + 1)
    return this.#moved > 0 ? Math.min(next, this.#countUntil) : next
  }

  planCheck(at: number): void {
    this.#checkAt = at
  }

  toString(): string {
    if (this.#moved === 0) return this.starts
    return `${this.starts} ${MOVED} ${this.#moved} ${this.#countUntil} ${this.#checkAt}`
  }
}

/** The generic cell rate algorithm. */
class SmoothRate extends RateWithMoved {
  readonly #interval: number
  /** How far the position of a start in the sequence may be ahead of the start itself. */
  readonly #tolerance: number
  /** The position of the next start in the sequence of evenly spaced starts. */
  #position: number
  readonly wasAhead: boolean

  constructor({ count, per, burst }: Limit, [place = 0]: number[], now: number) {
    super(now)
    this.#interval = (per * 1000) / count
    this.#tolerance = (burst - 1) * this.#interval
    const last = now + AHEAD + burst * this.#interval
    this.#position = Math.max(Math.min(place, last), now)
    // The state is a whole number.
    this.wasAhead = place > Math.ceil(last)
  }

  get room(): number {
    const ahead = this.now + AHEAD + this.#tolerance - this.#position
    return ahead < 0 ? 0 : Math.floor(ahead / this.#interval) + 1
  }

  nextFor(n: number): number {
    return this.#position + (n - 1) * this.#interval - this.#tolerance - AHEAD
  }

  protected get startsUntil(): number {
    return Math.ceil(this.#position)
  }

  get start(): number {
    return Math.max(this.#position - this.#tolerance, this.now)
  }

  protected addStart(at: number): void {
    this.#position = Math.max(this.#position, at) + this.#interval
  }

  protected get starts(): string {
    return String(this.startsUntil)
  }
}

class WindowRate extends RateWithMoved {
  readonly #count: number
  /** The time from the first start of a bucket to its last one. */
  readonly #width: number
  /** The time from the first start of a bucket until its starts do not count any more. */
  readonly #span: number
  readonly #buckets: [first: number, starts: number][] = []
  #used = 0
  wasAhead = false

  constructor({ count, per, window }: Limit, numbers: number[], now: number) {
    super(now)
    this.#count = count
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

  nextFor(n: number): number {
    let room = this.room
    if (room >= n) return this.now
    for (const [first, starts] of this.#buckets) {
      room += starts
      if (room >= n) return first + this.#span
    }
    // The jobs that start now have used their room until then.
    return this.now + this.#span
  }

  protected get startsUntil(): number {
    return (this.#buckets.at(-1)?.[0] ?? this.now) + this.#span
  }

  get start(): number {
    return this.now
  }

  protected addStart(at: number): void {
    const last = this.#buckets.at(-1)
    if (last && at < last[0] + this.#width) last[1]++
    else this.#buckets.push([at, 1])
    this.#used++
  }

  protected get starts(): string {
    return this.#buckets.flat().join(' ')
  }
}
