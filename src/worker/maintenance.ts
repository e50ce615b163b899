/** Work on the whole store that one worker at a time does for all. */

import { codeOf } from '../job/errors.ts'
import type { Store } from '../store/contract.ts'
import { LeaderLock, Periodic, type PeriodicOptions, type Report } from './background-service.ts'

/** The longest time for which the leader lock is held. */
const LOCK_SECONDS = 15
/** The largest part of the time that walks may take. */
const WALKING_PART = 0.01
const LONGEST_PAUSE_MS = 3_600_000
/**
 * A time of progress that is further in the future was written by a process with a wrong clock. As the real time is unknown,
 * maintenance sets it to now.
 */
export const FAR_AHEAD_MS = 3_600_000
/** The pause of an item that failed. */
const RETRY_MS = 30_000

export abstract class Maintenance extends Periodic {
  readonly #lock: LeaderLock

  /** All maintenance of a worker shares `lock`. */
  constructor(app: { store: Store; report: Report }, { lock = maintenanceLock(app), ...options }: PeriodicOptions) {
    super(app.report, { ...options, lock })
    this.#lock = lock
  }

  /** Runs one round, unless another process holds the lock. */
  public abstract override run(): Promise<void>

  /** Returns whether this process holds the lock and is not stopping. */
  protected async isLeader(): Promise<boolean> {
    return !this.isStopping && (await this.#lock.acquire())
  }
}

/**
 * Returns the leader lock of one worker's maintenance. If its holder dies, another worker has it after one lease and a half.
 * Its services share one lock, so that a short lease costs an idle worker no further calls.
 *
 * The lock avoids double work; correctness does not depend on it. For a moment there may be two leaders, for instance one that
 * was frozen, or one of a version in which the lock has another name. Each step is one atomic call of the store, which does
 * nothing a second time.
 */
export function maintenanceLock({ store }: { store: Store }, leaseSeconds = LOCK_SECONDS): LeaderLock {
  const seconds = Math.min(leaseSeconds, LOCK_SECONDS)
  return new LeaderLock(() => store, 'maintenance', { seconds, renewMs: seconds * 500, retryMs: seconds * 500 })
}

/**
 * Works on items, such as tasks, one after the other. An item that fails is reported, pauses and is tried again. An error of
 * the store (`STORE_…`) ends the round, and the others run in the next one.
 */
export class ItemRunner {
  readonly #report: Report
  readonly #about: (id: string) => Record<string, unknown>
  /** By id, in this order: when a failed item is tried again, on the monotonic clock. */
  readonly #retryAt = new Map<string, number>()

  /** `about` returns what error reports say about an item. */
  constructor(report: Report, about: (id: string) => Record<string, unknown>) {
    this.#report = report
    this.#about = about
  }

  /** The number of items that pause. A caller adds it to the limit of its query, so that others are found, too. */
  get pausing(): number {
    this.#endPauses()
    return this.#retryAt.size
  }

  /** Works on an item that does not pause. @throws a `STORE_…` error, except STORE_UNUSABLE */
  async run(id: string, work: () => Promise<unknown>): Promise<void> {
    this.#endPauses()
    if (this.#retryAt.has(id)) return
    try {
      await work()
    } catch (thrown) {
      this.#retryAt.set(id, performance.now() + RETRY_MS)
      const code = codeOf(thrown)
      if (code?.startsWith('STORE_') && code !== 'STORE_UNUSABLE') throw thrown
      this.#report(thrown, this.#about(id))
    }
  }

  #endPauses(): void {
    for (const [id, at] of this.#retryAt) {
      if (at > performance.now()) return
      this.#retryAt.delete(id)
    }
  }
}

/**
 * Spaces walks through the store. By default the pause is a hundred times as long as the walk; it is at most an hour. After
 * an `unconfirmed` walk it is as short as after the shortest walk, but not twice in a row.
 */
export class WalkPace {
  readonly #part: number
  readonly #shortestMs: number
  /** When the next walk may begin, on the monotonic clock. */
  #againAt = 0
  /** Whether the next walk comes soon, to confirm what the last one found. */
  #isConfirming = false

  /** `part` is the largest part of the time for walks. A walk counts as `shortestMs` at least. */
  constructor(part: number = WALKING_PART, shortestMs = 0) {
    this.#part = part
    this.#shortestMs = shortestMs
  }

  get isDue(): boolean {
    return performance.now() >= this.#againAt
  }

  /** Runs a walk. After one that was not completed the next one may begin at once. */
  async run(walk: () => Promise<'done' | 'unconfirmed' | 'stopped'>): Promise<void> {
    const began = performance.now()
    const outcome = await walk()
    if (outcome === 'stopped') return
    this.#isConfirming = outcome === 'unconfirmed' && !this.#isConfirming
    const tookMs = this.#isConfirming ? this.#shortestMs : Math.max(performance.now() - began, this.#shortestMs)
    this.#againAt = performance.now() + Math.min(tookMs / this.#part, LONGEST_PAUSE_MS)
  }
}
