/** Work on the whole store that one worker at a time does for all. */

import type { Store } from '../store/contract.ts'
import { LeaderLock, Periodic, type PeriodicOptions, type Report } from './background-service.ts'

/** The longest time for which the leader lock is held. */
const LOCK_SECONDS = 15
/** The largest part of the time that walks may take. */
const WALKING_PART = 0.01
const LONGEST_PAUSE_MS = 3_600_000

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

/** Spaces walks through the store: the pause after a walk is a hundred times as long as the walk, and at most an hour. */
export class WalkPace {
  readonly #part: number
  readonly #shortestMs: number
  /** When the next walk may begin, on the monotonic clock. */
  #againAt = 0

  /** `part` is the largest part of the time for walks. A walk counts as `shortestMs` at least. */
  constructor(part: number = WALKING_PART, shortestMs = 0) {
    this.#part = part
    this.#shortestMs = shortestMs
  }

  get isDue(): boolean {
    return performance.now() >= this.#againAt
  }

  /** Runs a walk. After one that was not completed the next one may begin at once. */
  async run(walk: () => Promise<'done' | 'stopped'>): Promise<void> {
    const began = performance.now()
    if ((await walk()) === 'stopped') return
    const tookMs = Math.max(performance.now() - began, this.#shortestMs)
    this.#againAt = performance.now() + Math.min(tookMs / this.#part, LONGEST_PAUSE_MS)
  }
}
