/** Jobs that hold no slot any more and go back to their queue later. */

import type { Settlement } from '../../store/contract.ts'
import type { Attempt } from '../run/attempt.ts'

/** An attempt and the settlement that requeues its job. */
export interface Requeued {
  attempt: Attempt
  settlement: Settlement
}

/**
 * A released job waits about this long before it goes back: else the worker would fetch it again at once. When the worker
 * becomes quiet meanwhile, newer jobs go back to the front of the queue first, so that they stay behind the released job.
 */
const RELEASE_MS = 1000
/** A released job that is due within this time goes back with those that are due now, so that their order holds. */
const TOGETHER_MS = 50

/** Sorts jobs for requeuing, newest first: each goes to the front of its queue. */
export function newestFirst(requeued: readonly Requeued[]): Requeued[] {
  return requeued.toSorted((a, b) => b.attempt.slot - a.attempt.slot)
}

export class RequeueBuffer {
  readonly #send: (requeued: Requeued) => void
  /** Each with the time when it goes back, on the monotonic clock. */
  #released: (Requeued & { at: number })[] = []
  /** Runs while there are released jobs. */
  #timer: NodeJS.Timeout | undefined
  /** Jobs that a stop interrupted. They go back all together, so that their order holds. */
  #interrupted: Requeued[] = []

  constructor(send: (requeued: Requeued) => void) {
    this.#send = send
  }

  /** Adds a job that goes back about a second later. */
  addReleased(requeued: Requeued): void {
    this.#released.push({ ...requeued, at: performance.now() + RELEASE_MS })
    this.#timer ??= setTimeout(() => this.#sendReleased(), RELEASE_MS)
  }

  /** Adds a job whose handler ended because the worker stops. */
  addInterrupted(requeued: Requeued): void {
    this.#interrupted.push(requeued)
  }

  /** Returns all jobs and empties the buffer. */
  drain(): Requeued[] {
    const all = [...this.#interrupted, ...this.#released]
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#released = []
    this.#interrupted = []
    return all
  }

  #sendReleased(): void {
    const now = performance.now()
    const count = this.#released.findLastIndex(({ at }) => at <= now + TOGETHER_MS) + 1
    const due = this.#released.splice(0, count)
    const [next] = this.#released
    this.#timer = next && setTimeout(() => this.#sendReleased(), next.at - now)
    for (const requeued of newestFirst(due)) this.#send(requeued)
  }
}
