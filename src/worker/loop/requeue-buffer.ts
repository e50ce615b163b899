/** Jobs that go back to their queue, but not at once: they hold no slot any more. */

import type { Settlement } from '../../store/contract.ts'
import type { Attempt } from '../run/attempt.ts'

/** An attempt whose job goes back to its queue, and the way it goes back. */
export interface Requeued {
  attempt: Attempt
  settlement: Settlement
}

/** Before a job goes back whose handler released it: it would come again at once. */
const RELEASE_MS = 1000

export class RequeueBuffer {
  readonly #tell: (settlement: Settlement) => void
  readonly #released = new Map<string, Requeued & { timer: NodeJS.Timeout }>()
  /** Of a worker that stops: they go back all together, so that their order holds. */
  #interrupted: Requeued[] = []

  constructor(tell: (settlement: Settlement) => void) {
    this.#tell = tell
  }

  /** Its handler gave it back. */
  addReleased(back: Requeued): void {
    const { settlement } = back
    const timer = setTimeout(() => {
      this.#released.delete(settlement.ticket)
      this.#tell(settlement)
    }, RELEASE_MS)
    this.#released.set(settlement.ticket, { ...back, timer })
  }

  /** Its handler ended because the worker stops. */
  addInterrupted(back: Requeued): void {
    this.#interrupted.push(back)
  }

  /** All of them, to be put back elsewhere, or forgotten. */
  drain(): Requeued[] {
    const all = [...this.#interrupted, ...this.#released.values()]
    for (const { timer } of this.#released.values()) clearTimeout(timer)
    this.#released.clear()
    this.#interrupted = []
    return all
  }
}
