/** Withdraws the cancellations of jobs that ended before the worker knew of their cancellations. */

import type { Engine } from '../engine.ts'

export class LateCancellations {
  readonly #engine: Engine
  /** Jobs that have ended. Their cancellations, if any, are to be withdrawn. */
  readonly #ended = new Set<string>()

  constructor(engine: Engine) {
    this.#engine = engine
  }

  get isEmpty(): boolean {
    return this.#ended.size === 0
  }

  addEnded(jids: readonly string[]): void {
    for (const jid of jids) this.#ended.add(jid)
  }

  /** Withdraws what the worker knows by now. A cancellation that the store does not withdraw is withdrawn by the next call. */
  async withdraw(): Promise<void> {
    const { store, cancellations, control, now, report } = this.#engine
    for (const jid of this.#ended) {
      // The call that added it reads the new cancellations, and comes back here.
      if (control.isBehind) return
      try {
        if (cancellations.has(jid)) await store.cancellations.withdraw(jid, now())
        this.#ended.delete(jid)
      } catch (thrown) {
        report(thrown, { during: 'withdrawing a cancellation' })
        return
      }
    }
  }
}
