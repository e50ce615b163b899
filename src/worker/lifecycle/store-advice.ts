/** Tells, when a worker starts, what in the settings of its store endangers jobs. */

import type { BackgroundService } from '../background-service.ts'
import type { Engine } from '../engine.ts'

export class StoreAdvice implements BackgroundService {
  readonly #engine: Pick<Engine, 'store' | 'log' | 'report'>

  constructor(engine: Pick<Engine, 'store' | 'log' | 'report'>) {
    this.#engine = engine
  }

  /** A hint is not worth a worker that does not start. */
  async start(): Promise<void> {
    const { store, log, report } = this.#engine
    try {
      for (const advice of await store.workers.advice()) log.warn({}, advice)
    } catch (thrown) {
      report(thrown, { during: 'looking at the settings of the store' })
    }
  }

  quiet(): void {}

  stop(): void {}
}
