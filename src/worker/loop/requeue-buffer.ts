/** Jobs that hold no slot any more and go back to their queue later. */

import type { Settlement } from '../../store/contract.ts'
import type { Attempt } from '../run/attempt.ts'

/** An attempt and the settlement that requeues its job. */
export interface Requeued {
  attempt: Attempt
  settlement: Settlement
}

/** A released job waits this long before it goes back: else the worker would fetch it again at once. */
const RELEASE_MS = 1000

export class RequeueBuffer {
  readonly #send: (requeued: Requeued) => void
  readonly #released = new Map<string, Requeued & { timer: NodeJS.Timeout }>()
  /** Jobs that a stop interrupted. They go back all together, so that their order holds. */
  #interrupted: Requeued[] = []

  constructor(send: (requeued: Requeued) => void) {
    this.#send = send
  }

  /** Adds a job whose handler threw a Release. */
  addReleased(requeued: Requeued): void {
    const { settlement } = requeued
    const timer = setTimeout(() => {
      this.#released.delete(settlement.ticket)
      this.#send(requeued)
    }, RELEASE_MS)
    this.#released.set(settlement.ticket, { ...requeued, timer })
  }

  /** Adds a job whose handler ended because the worker stops. */
  addInterrupted(requeued: Requeued): void {
    this.#interrupted.push(requeued)
  }

  /** Returns all jobs and empties the buffer. */
  drain(): Requeued[] {
    const all = [...this.#interrupted, ...this.#released.values()]
    for (const { timer } of this.#released.values()) clearTimeout(timer)
    this.#released.clear()
    this.#interrupted = []
    return all
  }
}
