/** Sends the settlements of a part of the store that can't be reached again and again, without holding up the others. */

import type { SettlementBuffer } from './settlement-buffer.ts'

/** The shortest and the longest time until they are sent again. */
const FIRST_MS = 50
const MAX_MS = 1000
/** A stopping worker gives up after this many times: other workers rescue the jobs once its lease ends. */
const MAX_TIMES = 5

export class PostponedSettlements {
  readonly #buffer: SettlementBuffer
  readonly #wake: () => void
  /** How often they were sent again. */
  #times = 0
  #timer: NodeJS.Timeout | undefined

  /** `wake` starts a call. */
  constructor(buffer: SettlementBuffer, wake: () => void) {
    this.#buffer = buffer
    this.#wake = wake
  }

  /** Whether a stopping worker has to wait for them. */
  get isWaiting(): boolean {
    return this.#buffer.hasPostponed && this.#times <= MAX_TIMES
  }

  /** Plans the next time, after an answer. */
  plan(): void {
    if (this.#timer) return
    if (!this.#buffer.hasPostponed) {
      this.#times = 0
      return
    }
    const ms = Math.min(FIRST_MS * 2 ** this.#times, MAX_MS)
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      this.#times++
      this.#buffer.resume()
      this.#wake()
    }, ms).unref()
  }
}
