/** Holds the settlements of ordered ids until the store has confirmed them, and reports deaths only after that. */

import type { OrderedSettleAndFetchAnswer, OrderedSettlement } from '../store/contract.ts'
import type { Batch } from './batch.ts'
import type { OrderedDeath } from './definition.ts'

export interface BatchDeath {
  batch: Batch
  death: OrderedDeath
}

/** The effect of one answer of the store. */
export interface AppliedAnswer {
  /** The number of settlements that the store could not apply. They are sent again. */
  refused: number
  /** Settlements without effect: the shard has another owner, or the ticket is already settled. */
  fenced: OrderedSettlement[]
  /** The ids that died, grouped by batch. */
  dead: OrderedDeath[][]
}

export class OrderedSettlementBuffer {
  #pending: OrderedSettlement[] = []
  /** By ticket: the death that its settlement causes. */
  readonly #deaths = new Map<string, BatchDeath>()
  /** Tickets whose settlement was sent before without an answer, so that it may be stored already. */
  readonly #resent = new Set<string>()

  get size(): number {
    return this.#pending.length
  }

  get tickets(): string[] {
    return this.#pending.map(({ ticket }) => ticket)
  }

  add(settlement: OrderedSettlement, dies?: BatchDeath): void {
    if (dies) this.#deaths.set(settlement.ticket, dies)
    this.#pending.push(settlement)
  }

  /** Adds the settlement of an id that this process does not know. It may be settled already. */
  addUncertain(settlement: OrderedSettlement): void {
    this.#resent.add(settlement.ticket)
    this.#pending.push(settlement)
  }

  /** Marks a ticket as still in flight: no earlier call has settled it. */
  confirmUnsettled(ticket: string): void {
    this.#resent.delete(ticket)
  }

  /** Removes and returns the next settlements to send. */
  drain(most: number): OrderedSettlement[] {
    return this.#pending.splice(0, most)
  }

  /**
   * Handles a failed call: the settlements of shards that this process still owns go first into the next call. With
   * `nothingWritten` the store certainly changed nothing, so the next call is no repeat of this one.
   */
  restore(
    settlements: readonly OrderedSettlement[],
    isOurs: (settlement: OrderedSettlement) => boolean,
    nothingWritten: boolean,
  ): void {
    const ours: OrderedSettlement[] = []
    for (const settlement of settlements) {
      const { ticket } = settlement
      if (isOurs(settlement)) {
        if (!nothingWritten) this.#resent.add(ticket)
        ours.push(settlement)
      } else this.#drop(ticket)
    }
    this.#pending = [...ours, ...this.#pending]
  }

  /** Applies an answer. `ended` is called with each settlement that is settled, by this process or by another one. */
  applyAnswer(
    settlements: readonly OrderedSettlement[],
    { settled }: OrderedSettleAndFetchAnswer,
    ended: (settlement: OrderedSettlement) => void,
  ): AppliedAnswer {
    let refused: OrderedSettlement[] | undefined
    const fenced: OrderedSettlement[] = []
    let dead: Map<Batch, OrderedDeath[]> | undefined
    for (const [i, settlement] of settlements.entries()) {
      const { ticket } = settlement
      const said = settled[i]
      if (said === 'error') {
        refused ??= []
        refused.push(settlement)
        continue
      }
      ended(settlement)
      const repeated = this.#resent.size > 0 && this.#resent.delete(ticket)
      const isFenced = said === 'fenced' && !repeated
      if (isFenced) fenced.push(settlement)
      const dies = this.#deaths.size > 0 ? this.#deaths.get(ticket) : undefined
      if (!dies) continue
      this.#deaths.delete(ticket)
      if (isFenced) continue
      dead ??= new Map()
      dead.set(dies.batch, [...(dead.get(dies.batch) ?? []), dies.death])
    }
    if (refused) this.#pending = [...refused, ...this.#pending]
    return { refused: refused?.length ?? 0, fenced, dead: [...(dead?.values() ?? [])] }
  }

  /** Drops the settlements of a shard that this process no longer owns. */
  dropShard(shard: number): void {
    this.#pending = this.#pending.filter((settlement) => {
      if (settlement.shard !== shard) return true
      this.#drop(settlement.ticket)
      return false
    })
  }

  #drop(ticket: string): void {
    this.#deaths.delete(ticket)
    this.#resent.delete(ticket)
  }

  reset(): void {
    this.#pending = []
    this.#deaths.clear()
    this.#resent.clear()
  }
}
