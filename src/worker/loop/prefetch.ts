/**
 * The jobs that a capsule has fetched before a slot is free for them. While its jobs end quickly, a worker fetches ahead, so
 * that each call carries many jobs and the next ones are there when slots become free. With slow jobs it leaves the others
 * to other workers.
 */

import type { FetchedJob } from '../../store/contract.ts'

/** At most this many jobs lie ahead. More gain nothing. */
const MAX_AHEAD = 150
/** Jobs are fetched ahead that will start within this time at the measured rate. */
const START_WITHIN_MS = 20
/** The rate is measured over at least this time. */
const WINDOW_MS = 5
/** Jobs that have not started after this time go back to their queue. */
const RETURN_MS = 100

export class Prefetch {
  readonly #concurrency: number
  readonly #onLate: () => void
  #jobs: FetchedJob[] = []
  #first = 0
  #limit = 0
  /** The number of jobs that ended since the window began. */
  #ended = 0
  #windowAt = performance.now()
  /** The number of jobs that were ever added, and that ever started. */
  #added = 0
  #started = 0
  #timer: NodeJS.Timeout | undefined

  /** `onLate` runs when jobs have not started in time: the caller then drains them. */
  constructor(concurrency: number, onLate: () => void) {
    this.#concurrency = concurrency
    this.#onLate = onLate
  }

  /** How many jobs may lie ahead, according to the last measurement. */
  get limit(): number {
    return this.#limit
  }

  get size(): number {
    return this.#jobs.length - this.#first
  }

  /** Counts a job that ended. */
  ended(): void {
    this.#ended++
  }

  /**
   * Measures how fast jobs end. Fetching ahead begins when every slot gets a new job within START_WITHIN_MS, and ends as soon
   * as one measurement is slower.
   */
  measure(): void {
    const now = performance.now()
    const ms = now - this.#windowAt
    if (ms < WINDOW_MS) return
    const n = Math.floor((this.#ended * START_WITHIN_MS) / ms)
    this.#limit = n < this.#concurrency ? 0 : Math.min(n, MAX_AHEAD)
    this.#ended = 0
    this.#windowAt = now
  }

  add(job: FetchedJob): void {
    this.#jobs.push(job)
    this.#added++
    if (!this.#timer) this.#watch()
  }

  /** Removes and returns the oldest job. */
  shift(): FetchedJob | undefined {
    if (this.size === 0) return undefined
    const job = this.#jobs[this.#first++] as FetchedJob
    this.#started++
    if (this.size === 0) {
      this.#jobs = []
      this.#first = 0
    }
    return job
  }

  /** Removes and returns all jobs, in their order. Fetching ahead begins again after a further measurement. */
  drain(): FetchedJob[] {
    const jobs = this.#jobs.slice(this.#first)
    this.#jobs = []
    this.#first = 0
    this.#started += jobs.length
    this.#limit = 0
    clearTimeout(this.#timer)
    this.#timer = undefined
    return jobs
  }

  /** Looks after RETURN_MS whether all jobs that lie ahead now have started. */
  #watch(): void {
    const added = this.#added
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      if (this.#started < added) this.#onLate()
      else if (this.size > 0) this.#watch()
    }, RETURN_MS)
  }
}
