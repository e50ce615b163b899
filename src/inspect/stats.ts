/** Reads the figures of the store: totals, sizes and daily counts. */

import { invalidOption } from '../job/errors.ts'
import type { Lease, ProcessRecord, Store, StoreStats } from '../store/contract.ts'
import { processLeases } from './process-leases.ts'
import { waited } from './queue.ts'

export interface Stats {
  processed: number
  failed: number
  /** Jobs that run now. Those of Sidekiq's processes are as of their last heartbeats. */
  busy: number
  /** Jobs in queues, without the rows that wait inside their tasks (`backlog`). */
  enqueued: number
  /** Rows that wait inside their tasks. */
  backlog: number
  /** Jobs that wait for room in their limits. */
  limited: number
  scheduled: number
  retries: number
  dead: number
  processes: number
  /** How long the next job of queue `default` has waited, in seconds. */
  defaultLatency: number
}

export interface Day {
  /** The day in UTC, as `YYYY-MM-DD`. */
  date: string
  processed: number
  failed: number
}

/** The longest history: the store keeps five years. */
const MOST_DAYS = 1825
const DAY_MS = 86_400_000

export async function statsOf(store: Store, now: number): Promise<Stats> {
  const [totals, queues, processes, leases] = await Promise.all([
    store.metrics.totals(),
    store.jobs.queues(['default']),
    store.workers.processes(),
    // The other figures are shown even if the leases can't be read.
    store.workers.leases().catch(() => null),
  ])
  return statsFrom({ totals, processes, leases, defaultLatency: queues[0] ? waited(queues[0], now) : 0 })
}

/** The values from which the figures are computed. */
interface StatsParts extends Pick<Stats, 'defaultLatency'> {
  totals: StoreStats
  processes: readonly Pick<ProcessRecord, 'identity' | 'busy'>[]
  /** null: they can't be read. */
  leases: readonly Pick<Lease, 'owner'>[] | null
}

export function statsFrom({ totals, processes, leases, defaultLatency }: StatsParts): Stats {
  const { fetched, ...stats } = totals
  // The store counts the jobs of Highkiq's owners exactly. Sidekiq's processes report theirs at each heartbeat.
  const leasesOf = leases && processLeases(leases)
  const isOurs = (identity: string) => leasesOf === null || leasesOf(identity).length > 0
  const others = processes.filter(({ identity }) => !isOurs(identity)).reduce((sum, { busy }) => sum + busy, 0)
  return { ...stats, busy: fetched + others, processes: processes.length, defaultLatency }
}

/** Resolves with the counts of the last days up to `from`, newest first. @throws INVALID_OPTION */
export async function historyOf(store: Store, days: number, from: Date | string | number): Promise<Day[]> {
  if (!(Number.isInteger(days) && days >= 1 && days <= MOST_DAYS)) {
    throw invalidOption(`history(${days}): days must be a whole number from 1 to ${MOST_DAYS}`)
  }
  const last = new Date(from).getTime()
  if (Number.isNaN(last)) throw invalidOption(`history: ${from} is no day; write 2026-05-17 or a Date`)
  const dates = Array.from({ length: days }, (_, i) => new Date(last - i * DAY_MS).toISOString().slice(0, 10))
  const counts = await store.metrics.history(dates)
  return dates.map((date, i) => ({ date, processed: 0, failed: 0, ...counts[i] }))
}
