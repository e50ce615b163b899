/** The attempts that have a slot of a capsule, by ticket. */

import { RenewedMap } from '../../job/renewed-map.ts'
import type { Attempt } from '../run/attempt.ts'

export class RunningAttempts {
  readonly #byTicket = new RenewedMap<string, Attempt>()
  #whenEmpty: (() => void)[] = []

  get size(): number {
    return this.#byTicket.size
  }

  get all(): Attempt[] {
    return this.#byTicket.values()
  }

  /** Gives an attempt the slot of its ticket, in place of another attempt at the same job. */
  add(attempt: Attempt): void {
    this.#byTicket.set(attempt.fetched.ticket, attempt)
  }

  /** Removes and returns the attempt of a ticket. The caller then fills the slot or calls `slotFreed`. */
  remove(ticket: string): Attempt | undefined {
    const attempt = this.#byTicket.get(ticket)
    this.#byTicket.delete(ticket)
    return attempt
  }

  clear(): void {
    this.#byTicket.clear()
  }

  /** Whether an attempt still has its slot: it has not ended, was not requeued, and was not lost with the lease. */
  isCurrent(attempt: Attempt): boolean {
    return this.#byTicket.get(attempt.fetched.ticket) === attempt
  }

  /** Resolves when no attempt has a slot. */
  async empty(): Promise<void> {
    if (this.size === 0) return
    await new Promise<void>((resolve) => this.#whenEmpty.push(resolve))
  }

  /** Resolves the promises of `empty`, unless another attempt has the free slot by now. */
  slotFreed(): void {
    if (this.size > 0) return
    for (const resolve of this.#whenEmpty.splice(0)) resolve()
  }
}
