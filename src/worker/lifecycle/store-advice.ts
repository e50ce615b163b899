/** Logs the settings of the store that endanger jobs, when a worker starts. */

import type { BackgroundService } from '../background-service.ts'
import type { Engine } from '../engine.ts'

export class StoreAdvice implements BackgroundService {
  readonly #engine: Pick<Engine, 'store' | 'log' | 'report'>

  constructor(engine: Pick<Engine, 'store' | 'log' | 'report'>) {
    this.#engine = engine
  }

  /** Never rejects: the worker starts without the advice, too. */
  async start(): Promise<void> {
    const { store, log, report } = this.#engine
    try {
      for (const advice of await store.workers.advice()) log.warn({}, advice)
    } catch (thrown) {
      report(thrown, { during: 'checking the settings of the store' })
    }
  }

  quiet(): void {}

  stop(): void {}
}
