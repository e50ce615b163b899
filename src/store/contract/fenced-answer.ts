import type { SettleAndFetch, SettleAndFetchAnswer } from './workers.ts'

/** Returns the answer for an owner that has no lease. */
export function fencedAnswer({ started, settlements }: SettleAndFetch): SettleAndFetchAnswer {
  return {
    fenced: true,
    started: started.map(() => 'superseded'),
    settled: settlements.map(() => 'fenced'),
    fetched: [],
    cancellations: 0,
  }
}
