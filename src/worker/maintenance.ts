/** Work on the whole store that one worker at a time does for all. */

import type { Store } from '../store/contract.ts'
import { LeaderLock, Periodic, type PeriodicOptions, type Report } from './background-service.ts'

const LOCK_SECONDS = 60
/** Milliseconds between two attempts to acquire or renew the lock. */
const LOCK_RENEWAL_MS = 20_000
/** The largest part of the time that walks may take. */
const WALKING_PART = 0.01
const LONGEST_PAUSE_MS = 3_600_000

export abstract class Maintenance extends Periodic {
  readonly #lock: LeaderLock

  /** `name` is the name of the leader lock. */
  constructor(app: { store: Store; report: Report }, name: string, options: Omit<PeriodicOptions, 'lock'>) {
    const times = { seconds: LOCK_SECONDS, renewMs: LOCK_RENEWAL_MS, retryMs: LOCK_RENEWAL_MS }
    const lock = new LeaderLock(() => app.store, name, times)
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
