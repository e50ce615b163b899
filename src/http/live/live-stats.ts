/** The live stats, computed once for all clients, and only while a client asks. */

import { alertFinder } from '../../alerts/finder.ts'
import type { Highkiq } from '../../app.ts'
import type { QueueTrends } from '../../inspect/queue-trend.ts'
import { statsFrom } from '../../inspect/stats.ts'
import type { StoreReads } from '../../inspect/store-reads.ts'
import { cached } from '../../job/cached.ts'
import { hasCode } from '../../job/errors.ts'
import { orderedTotals } from '../../ordered/totals.ts'
import type { Redaction } from '../access/redact.ts'
import type { Made } from '../schemas.ts'
import { STEP_MS, StatsHistory } from './stats-history.ts'

/** The shortest time between two computations. */
export const LIVE_STATS_MS = 2000
/** Sampling stops this long after the last request. */
const ASKED_MS = 3_600_000
/** How long the number of cron entries is reused: it changes with deploys only. */
const CRONS_MS = 30_000

export type LiveStats = Made<'LiveStats'>

/** The result of `hq.stats()`. */
export type AppStats = Awaited<ReturnType<Highkiq['stats']>>

export interface LiveStatsListener {
  onStats(live: LiveStats): void
  onError(thrown: unknown): void
}

export type LiveStatsFeed = ReturnType<typeof liveStatsFeed>

export function liveStatsFeed(hq: Highkiq, redaction: Redaction, reads: StoreReads) {
  const history = new StatsHistory()
  const alerts = alertFinder(hq, { redact: redaction.text, reads })
  // A little less than the interval, so that each tick computes anew.
  const snapshots = cached(LIVE_STATS_MS - 100, snapshot)
  const countCrons = cached(CRONS_MS, async () => (await hq.store.crons.list()).length)
  const listeners = new Set<LiveStatsListener>()
  let publisher: NodeJS.Timeout | undefined
  let sampler: NodeJS.Timeout | undefined
  let askedAt = 0

  /** Returns the result of `hq.stats()`, made of what is read for other figures, too. */
  async function readStats(): Promise<AppStats> {
    const [totals, processes, leases, { queues }, ordered] = await Promise.all([
      reads.totals(),
      reads.processes(),
      reads.leases(),
      reads.queues(),
      orderedTotals(hq.store, hq.now()),
    ])
    const defaultLatency = queues.find(({ name }) => name === 'default')?.latency ?? 0
    return { ...statsFrom({ totals, processes, leases, defaultLatency }), ordered }
  }

  async function snapshot() {
    const began = performance.now()
    await hq.store.jobSets.size('dead')
    const roundTrip = performance.now() - began
    const [stats, findings, crons] = await Promise.all([readStats(), alerts.find(), countCrons()])
    const at = hq.now()
    const { processed, failed, busy, enqueued, backlog, limited, scheduled, retries, dead, defaultLatency, ordered } =
      stats
    history.add({ at, processed, failed })
    const rates = history.rates()
    const sum = (of: 'concurrency' | 'orderedConcurrency') =>
      findings.processes.reduce((total, process) => total + process[of], 0)
    const live: LiveStats = {
      at: new Date(at),
      roundTrip: Math.round(roundTrip * 10) / 10,
      stats: {
        processed,
        failed,
        busy,
        enqueued,
        backlog,
        limited,
        scheduled,
        retries,
        dead,
        defaultLatency,
        processes: findings.processes.length,
        concurrency: sum('concurrency'),
        orderedConcurrency: sum('orderedConcurrency'),
        ordered: { total: ordered.total },
      },
      finishedPerSecond: rates.finished,
      failedPerSecond: rates.failed,
      alerts: findings.alerts,
      tasks: findings.tasks,
      orderedQueues: findings.orderedQueues,
      crons,
      queues: findings.queues.length,
    }
    return { live, stats }
  }

  async function sample(): Promise<void> {
    if (performance.now() - askedAt > ASKED_MS) {
      clearInterval(sampler)
      sampler = undefined
      return
    }
    try {
      await Promise.all([snapshots(), alerts.sample()])
    } catch (thrown) {
      // The next sample tries again; clients that ask get the error.
      if (hasCode(thrown, 'STORE_CLOSED')) clearInterval(sampler)
    }
  }

  function asked(): void {
    askedAt = performance.now()
    if (sampler) return
    sampler = setInterval(() => void sample(), STEP_MS).unref()
    void sample()
  }

  /** Returns live stats that are at most two seconds old. */
  async function latest(): Promise<LiveStats> {
    asked()
    return (await snapshots()).live
  }

  async function publish(): Promise<void> {
    try {
      const live = await latest()
      for (const listener of [...listeners]) listener.onStats(live)
    } catch (thrown) {
      for (const listener of [...listeners]) listener.onError(thrown)
    }
  }

  return {
    history,
    latest,
    /** Returns the trends of queues, from samples of every ten seconds while clients ask. */
    trends(): Pick<QueueTrends, 'of'> {
      asked()
      return alerts.trends
    },
    /** Returns the stats of the same moment as the live stats, at most two seconds old. */
    async stats(): Promise<AppStats> {
      asked()
      return (await snapshots()).stats
    },
    /** Calls the listener with all live stats from now on. @returns a function that stops it */
    listen(listener: LiveStatsListener): () => void {
      asked()
      listeners.add(listener)
      publisher ??= setInterval(() => void publish(), LIVE_STATS_MS).unref()
      return () => {
        listeners.delete(listener)
        if (listeners.size > 0) return
        clearInterval(publisher)
        publisher = undefined
      }
    },
  }
}
