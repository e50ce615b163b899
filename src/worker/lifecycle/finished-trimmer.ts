/**
 * Removes the oldest finished jobs. Of the workers that keep finished jobs one at a time does it: every two seconds,
 * and when it has kept many. So the set stays small, and the store uses the same memory again.
 */

import type { FinishedRules } from '../../job/keep-finished.ts'
import { LeaderLock, Periodic } from '../background-service.ts'
import type { Engine } from '../engine.ts'

const LOCK_SECONDS = 10
const EVERY_MS = 2000

export class FinishedTrimmer extends Periodic {
  readonly #engine: Pick<Engine, 'store' | 'now'>
  readonly #rules: FinishedRules
  readonly #lock: LeaderLock

  constructor({ store, now, report }: Pick<Engine, 'store' | 'now' | 'report'>, rules: FinishedRules) {
    const lock = new LeaderLock(() => store, 'finished-jobs', { seconds: LOCK_SECONDS, renewMs: EVERY_MS / 2 })
    super(report, { during: 'removing old finished jobs', everyMs: EVERY_MS, lock, runsWhenQuiet: true })
    this.#engine = { store, now }
    this.#rules = rules
    this.#lock = lock
    rules.onManyKept = () => {
      if (!this.isStopping) void this.runNow()
    }
  }

  protected override async run(): Promise<void> {
    if (!(await this.#lock.acquire())) return
    const { store, now } = this.#engine
    const { max, seconds } = this.#rules
    await store.jobSets.prune('finished', max, now() / 1000 - seconds)
  }
}
