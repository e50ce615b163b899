/**
 * The jobs that a capsule has fetched before a slot is free for them. While its jobs end quickly, a worker fetches ahead, so
 * that each call carries many jobs and the next jobs can start at once. While jobs are slow it fetches none ahead, so that
 * other workers can.
 */

import type { FetchedJob } from '../../store/contract.ts'

/** A capsule fetches at most this many jobs ahead: more make it no faster. */
const MAX_AHEAD = 150
/** A capsule fetches as many jobs ahead as start within this time at the measured rate. */
const START_WITHIN_MS = 20
/** The rate is measured over at least this time. */
const WINDOW_MS = 5
/** A capsule that has fetched a job which crashed its process fetches no job ahead for this long. */
const PAUSE_MS = 1000
/** When a job has not started after this time, the jobs that were fetched ahead are requeued. */
const REQUEUE_AFTER_MS = 100

export class Prefetch {
  #concurrency: number
  readonly #onOverdue: () => void
  #jobs: FetchedJob[] = []
  /** The index of the oldest job in `#jobs`. */
  #first = 0
  #limit = 0
  /** The number of quick jobs that ended since the window began. */
  #ended = 0
  #windowAt = performance.now()
  #pausedUntil = 0
  #answeredAt = 0
  #timer: NodeJS.Timeout | undefined
  /** The number of jobs that had been added when the timer was set, and that have not started yet. */
  #watched = 0

  /** `onOverdue` is called when a job has not started in time. It must see to it that the jobs are drained. */
  constructor(concurrency: number, onOverdue: () => void) {
    this.#concurrency = concurrency
    this.#onOverdue = onOverdue
  }

  /** The number of jobs that the capsule may fetch ahead, according to the last measurement. */
  get limit(): number {
    return this.#limit
  }

  get size(): number {
    return this.#jobs.length - this.#first
  }

  /**
   * Whether the store has not answered for so long that the jobs must not start: their queue may have been paused since, or
   * they may have been cancelled.
   */
  get isStale(): boolean {
    return this.size > 0 && performance.now() - this.#answeredAt > START_WITHIN_MS
  }

  /** Notes that the store has answered: the worker knows all earlier cancellations. */
  answered(): void {
    this.#answeredAt = performance.now()
  }

  /**
   * Counts a job that ended `ms` after its handler was called. Slow jobs do not count: when many of them end together, the
   * next jobs are slow, too.
   */
  ended(ms: number): void {
    if (ms <= START_WITHIN_MS) this.#ended++
  }

  /**
   * Measures how fast jobs end. The capsule fetches ahead when every slot gets a new job within START_WITHIN_MS, and stops as
   * soon as one measurement is slower.
   */
  measure(): void {
    const now = performance.now()
    const ms = now - this.#windowAt
    if (ms < WINDOW_MS) return
    const n = now < this.#pausedUntil ? 0 : Math.floor((this.#ended * START_WITHIN_MS) / ms)
    this.#limit = n < this.#concurrency ? 0 : Math.min(n, MAX_AHEAD)
    this.#ended = 0
    this.#windowAt = now
  }

  resize(concurrency: number): void {
    this.#concurrency = concurrency
  }

  pause(): void {
    this.#pausedUntil = performance.now() + PAUSE_MS
    this.#limit = 0
  }

  add(job: FetchedJob): void {
    this.#jobs.push(job)
    if (!this.#timer) this.#watch()
  }

  /** Removes and returns the oldest job. */
  shift(): FetchedJob | undefined {
    if (this.size === 0) return undefined
    const job = this.#jobs[this.#first++] as FetchedJob
    this.#watched--
    if (this.size === 0) this.#clear()
    // The list may not become empty for hours, and must not keep the jobs that have started.
    else if (this.#first === MAX_AHEAD) this.#replace(this.jobs)
    return job
  }

  /** The jobs, the oldest first. */
  get jobs(): FetchedJob[] {
    return this.#jobs.slice(this.#first)
  }

  /** Removes the jobs for which a function returns true. */
  remove(isRemoved: (job: FetchedJob) => boolean): void {
    const { jobs } = this
    this.#clear()
    const watched = Math.max(this.#watched, 0)
    for (const [i, job] of jobs.entries()) {
      if (!isRemoved(job)) this.#jobs.push(job)
      else if (i < watched) this.#watched--
    }
  }

  /** Removes and returns all jobs, in their order. The capsule fetches ahead again after a further measurement. */
  drain(): FetchedJob[] {
    const { jobs } = this
    this.#clear()
    this.#limit = 0
    this.#ended = 0
    this.#windowAt = performance.now()
    clearTimeout(this.#timer)
    this.#timer = undefined
    return jobs
  }

  #clear(): void {
    this.#replace([])
  }

  #replace(jobs: FetchedJob[]): void {
    this.#jobs = jobs
    this.#first = 0
  }

  /** Checks after REQUEUE_AFTER_MS whether all jobs that wait now have started. */
  #watch(): void {
    this.#watched = this.size
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      if (this.#watched > 0) this.#onOverdue()
      // An earlier requeue may be under way, and then these jobs stay for now.
      if (this.size > 0 && !this.#timer) this.#watch()
    }, REQUEUE_AFTER_MS)
  }
}
