/** Reports when the store stops answering and when it answers again, and says how long to wait between calls. */

import { hasCode } from '../../job/errors.ts'
import type { Engine } from '../engine.ts'

/** The longest wait between two calls. */
const MAX_PAUSE_MS = 1000

export class Outage {
  readonly #engine: Engine
  #since = 0
  /** The number of calls that failed in a row. */
  failures = 0
  /** True when the store was closed while the worker runs: no call can succeed any more. */
  isFinal = false

  constructor(engine: Engine) {
    this.#engine = engine
  }

  /** Milliseconds to wait before the next call. */
  get pauseMs(): number {
    return Math.min(50 * 2 ** this.failures, MAX_PAUSE_MS) * (0.5 + this.#engine.random() / 2)
  }

  /** A call failed. Only the first one is reported. */
  failed(thrown: unknown, during: string): void {
    this.isFinal ||= hasCode(thrown, 'STORE_CLOSED')
    if (this.failures++ > 0) return
    this.#since = performance.now()
    this.#engine.report(thrown, { during })
  }

  /** The store has answered a call. */
  over(): void {
    if (this.failures === 0) return
    this.failures = 0
    const seconds = Math.round((performance.now() - this.#since) / 1000)
    this.#engine.log.info({ seconds }, `the store answers again, after ${seconds} s`)
  }
}
