/** What ended and is not yet told: as long as no answer came it is told again, and only then what died with it is heard. */

import type { OrderedSettleAndFetchAnswer, OrderedSettlement } from '../store/contract.ts'
import type { Batch } from './batch.ts'
import type { OrderedDeath } from './definition.ts'

export interface BatchDeath {
  batch: Batch
  death: OrderedDeath
}

/** What became of what a call told. */
export interface AppliedAnswer {
  /** Could not be settled, and is told again. */
  refused: number
  /** The shard is somebody else's, or the ticket was settled by somebody else. */
  fenced: OrderedSettlement[]
  /** By batch. */
  dead: OrderedDeath[][]
}

export class OrderedSettlementBuffer {
  #pending: OrderedSettlement[] = []
  /** By ticket: what dies when that is settled, and the batch that it was in. */
  readonly #deaths = new Map<string, BatchDeath>()
  /** Tickets whose settlement was sent before, and not answered: by now it may be no news. */
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

  /** It lies with us, and we do not know why: an answer was lost, maybe this one's, too. */
  addUncertain(settlement: OrderedSettlement): void {
    this.#resent.add(settlement.ticket)
    this.#pending.push(settlement)
  }

  /** True: the ticket is still in flight, so no earlier call has settled it, and the next call is no repeat. */
  confirmUnsettled(ticket: string): void {
    this.#resent.delete(ticket)
  }

  /** The next ones, to be told. */
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

  /** `ended`: called with each that is settled, by us or by others. */
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

  /** A shard is not ours any more: nothing of it is told. */
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
