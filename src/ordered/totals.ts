import type { Store } from '../store/contract.ts'

export interface OrderedFigures {
  /** The number of waiting ids. */
  length: number
  morgueLength: number
  /** Seconds since the earliest due id was due; the total has the largest of all queues. */
  lag: number
}

export interface OrderedTotals {
  total: OrderedFigures
  queues: Record<string, OrderedFigures>
}

/** Returns the figures of all ordered queues, also of those that this app does not define. */
export async function orderedTotals(store: Store, now: number): Promise<OrderedTotals> {
  const total: OrderedFigures = { length: 0, morgueLength: 0, lag: 0 }
  const queues: Record<string, OrderedFigures> = {}
  const names = await store.ordered.queues()
  for (const numbers of await Promise.all(names.map((name) => store.ordered.counts(name, now)))) {
    // The queue was deleted meanwhile.
    if (!numbers) continue
    const { morgueLength } = numbers
    const length = numbers.shards.reduce((sum, shard) => sum + shard.length, 0)
    const lag = numbers.shards.reduce((most, shard) => Math.max(most, shard.lag), 0)
    queues[numbers.name] = { length, morgueLength, lag }
    total.length += length
    total.morgueLength += morgueLength
    total.lag = Math.max(total.lag, lag)
  }
  return { total, queues }
}
