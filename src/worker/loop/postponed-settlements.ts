/** Sends settlements again while their shard can't be reached. Other settlements do not wait for them. */

import type { SettlementBuffer } from './settlement-buffer.ts'

/** The shortest and the longest time until postponed settlements are sent again. */
const FIRST_MS = 50
const MAX_MS = 1000

export class PostponedSettlements {
  readonly #buffer: SettlementBuffer
  readonly #wake: () => void
  /** How often the settlements were sent again. */
  #times = 0
  #timer: NodeJS.Timeout | undefined

  /** `wake` starts a call. */
  constructor(buffer: SettlementBuffer, wake: () => void) {
    this.#buffer = buffer
    this.#wake = wake
  }

  /** Plans when to send them again. Call it after each answer. */
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
