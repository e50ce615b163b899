import type { Store } from '../store/contract.ts'
import { type OrderedStats, statsOf } from './queue.ts'

/** `length` is the number of waiting ids. The total has the largest `lag` of all queues. */
export type OrderedFigures = Pick<OrderedStats, 'length' | 'morgueLength' | 'lag'>

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
    const { length, morgueLength, lag } = statsOf(numbers)
    queues[numbers.name] = { length, morgueLength, lag }
    total.length += length
    total.morgueLength += morgueLength
    total.lag = Math.max(total.lag, lag)
  }
  return { total, queues }
}
