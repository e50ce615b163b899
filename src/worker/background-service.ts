/** The loops that run beside a worker's jobs, for as long as the worker does. */

import { randomBytes } from 'node:crypto'
import { within } from '../job/wait.ts'
import type { Store } from '../store/contract.ts'

export interface BackgroundService {
  start(): Promise<void> | void
  /** Starts nothing new; work under way may end. */
  quiet?(): Promise<void> | void
  stop?(): Promise<void> | void
}

/** Reports an error to the app's error handlers. Never throws. */
export type Report = (error: unknown, about: Record<string, unknown>) => void

export interface PeriodicOptions {
  /** What the service does, as error reports name it. */
  during: string
  /** Milliseconds from the end of a run to the next one. */
  everyMs: number
  /** Whether `everyMs` counts from the start of a run; default false. */
  fixedRate?: boolean
  /** Spreads the waits by a quarter, so that many workers do not run at the same time. */
  random?: () => number
  /** Milliseconds to the next run after one that failed; default `everyMs`. */
  retryMs?: number
  /**
   * When the first run begins: `now` (default); `awaited`, now, and `start` resolves after it; or `later`, after
   * `everyMs`.
   */
  first?: 'now' | 'awaited' | 'later'
  /** Whether the service goes on while the worker is quiet; default false. */
  runsWhenQuiet?: boolean
  /** A lock that is released when the service has ended, and all others with this lock. */
  lock?: LeaderLock
}

/** `stop` waits at most this long for a run under way. */
const STOP_MS = 3000

/** Does its work again and again: one run at a time, and a wait between two runs. Of failures in a row it reports the first. */
export abstract class Periodic implements BackgroundService {
  readonly #report: Report
  readonly #options: PeriodicOptions
  #loop: Promise<void> | undefined
  /** The run under way, and the one that follows it. */
  #running: Promise<void> = Promise.resolve()
  #next: Promise<void> | undefined
  #waiting: AbortController | undefined
  /** When the next run begins at the latest, on the monotonic clock. */
  #latest = Number.POSITIVE_INFINITY
  #hasFailed = false
  protected isStopping = false

  constructor(report: Report, options: PeriodicOptions) {
    this.#report = report
    this.#options = options
  }

  protected abstract run(): Promise<void>

  protected failed(_thrown: unknown): void {}

  async start(): Promise<void> {
    const { first = 'now', lock } = this.#options
    lock?.join()
    if (first === 'now') this.runWithin(0)
    if (first === 'awaited') await this.runNow()
    this.#loop = this.#repeat()
  }

  quiet(): Promise<void> | void {
    if (!this.#options.runsWhenQuiet) this.#end()
  }

  async stop(): Promise<void> {
    this.#end()
    await within(STOP_MS, Promise.all([this.#loop, this.#next ?? this.#running]))
  }

  /**
   * Starts a run at once, or when the one under way has ended; the runs that wait for that are one. Resolves when it has
   * ended, and never rejects.
   */
  protected runNow(): Promise<void> {
    this.#next ??= this.#running.then(() => {
      this.#next = undefined
      this.#running = this.#runOnce()
      return this.#running
    })
    return this.#next
  }

  /** Starts the next run after `ms` at the latest, or, when one is under way, that long after now. */
  protected runWithin(ms: number): void {
    this.#latest = Math.min(this.#latest, performance.now() + ms)
    this.#waiting?.abort()
  }

  /** Waits between two runs; may end earlier. */
  protected async wait(ms: number, signal: AbortSignal): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms)
      signal.addEventListener('abort', () => {
        clearTimeout(timer)
        resolve()
      })
    })
  }

  #end(): void {
    this.isStopping = true
    this.#waiting?.abort()
  }

  async #repeat(): Promise<void> {
    for (;;) {
      await this.#waitForNext()
      if (this.isStopping) break
      const running = this.runNow()
      if (!this.#options.fixedRate) await running
    }
    await this.#options.lock?.leave().catch((thrown) => this.#report(thrown, { during: 'releasing a leader lock' }))
  }

  async #waitForNext(): Promise<void> {
    const { everyMs, retryMs = everyMs, random } = this.#options
    const usual = (this.#hasFailed ? retryMs : everyMs) * (random ? 0.75 + random() / 2 : 1)
    const end = performance.now() + usual
    while (!this.isStopping) {
      const ms = Math.min(end, this.#latest) - performance.now()
      if (ms <= 0) break
      this.#waiting = new AbortController()
      const { signal } = this.#waiting
      await this.wait(ms, signal)
      if (!signal.aborted) break
    }
    this.#waiting = undefined
    this.#latest = Number.POSITIVE_INFINITY
  }

  async #runOnce(): Promise<void> {
    try {
      await this.run()
      this.#hasFailed = false
    } catch (thrown) {
      this.failed(thrown)
      if (!this.#hasFailed && !this.isStopping) this.#report(thrown, { during: this.#options.during })
      this.#hasFailed = true
    }
  }
}

export interface LeaderLockOptions {
  /** Seconds after which the lock is free when its holder does not acquire it again. */
  seconds: number
  /** Milliseconds for which the holder relies on the lock without a call; default 0. */
  renewMs?: number
  /** Milliseconds before it asks again for a lock that another process holds; default 0. */
  retryMs?: number
}

/** A lock that one process at a time holds, so that it does some work for all. */
export class LeaderLock {
  readonly #store: () => Store
  readonly #name: string
  readonly #options: LeaderLockOptions
  readonly #holder = randomBytes(8).toString('hex')
  /** The number of running services that share the lock. */
  #members = 0
  #isHeld = false
  /** When the store is asked again, on the monotonic clock. */
  #askAt = 0

  constructor(store: () => Store, name: string, options: LeaderLockOptions) {
    this.#store = store
    this.#name = name
    this.#options = options
  }

  /** Whether this process surely holds the lock. */
  get isHeld(): boolean {
    return this.#isHeld && performance.now() < this.#askAt
  }

  /** Acquires or renews the lock. Resolves with whether this process holds it; mostly it knows without a call. */
  async acquire(): Promise<boolean> {
    const now = performance.now()
    if (now < this.#askAt) return this.#isHeld
    const { seconds, renewMs = 0, retryMs = 0 } = this.#options
    this.#isHeld = await this.#store().workers.acquireLock(this.#name, this.#holder, seconds)
    this.#askAt = now + (this.#isHeld ? renewMs : retryMs)
    return this.#isHeld
  }

  /** Registers a service that uses the lock. */
  join(): void {
    this.#members++
  }

  /** Removes a service. The last one releases the lock, so that other processes need not wait until it runs out. */
  async leave(): Promise<void> {
    this.#members--
    if (this.#members > 0 || !this.#isHeld) return
    this.#askAt = 0
    this.#isHeld = false
    await this.#store().workers.releaseLock(this.#name, this.#holder)
  }
}
