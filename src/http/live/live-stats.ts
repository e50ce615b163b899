/** The live stats, computed once for all clients, and only while a client asks. */

import { alertFinder } from '../../alerts/finder.ts'
import type { Highkiq } from '../../app.ts'
import type { QueueTrends } from '../../inspect/queue-trend.ts'
import { statsFrom } from '../../inspect/stats.ts'
import type { StoreReads } from '../../inspect/store-reads.ts'
import { cached } from '../../job/cached.ts'
import { hasCode } from '../../job/errors.ts'
import { withoutUnreachable } from '../../job/without-unreachable.ts'
import { orderedTotals } from '../../ordered/totals.ts'
import type { Redaction } from '../access/redact.ts'
import type { Made } from '../schemas.ts'
import { STEP_MS, StatsHistory } from './stats-history.ts'

/** The shortest time between two computations. */
const LIVE_STATS_MS = 2000
/** Sampling stops this long after the last request. */
const ASKED_MS = 3_600_000
/** How long the number of cron entries is reused: it changes with deploys only. */
const CRONS_MS = 30_000

export type LiveStats = Made<'LiveStats'>

/** The result of `hq.stats()`, but without what is on shards that can't be reached. */
export type AppStats = Awaited<ReturnType<Highkiq['stats']>> & { unreachableShards?: string[] }

export interface LiveStatsListener {
  onStats(live: LiveStats): void
  onError(thrown: unknown): void
}

/** The live stats of all clients: computed once for all of them, and only while a client asks. */
export class LiveStatsFeed {
  readonly history = new StatsHistory()
  readonly #hq: Highkiq
  readonly #reads: StoreReads
  readonly #alerts: ReturnType<typeof alertFinder>
  // A little less than the interval, so that each tick computes anew.
  readonly #snapshots = cached(LIVE_STATS_MS - 100, () => withoutUnreachable(this.#hq.store, () => this.#snapshot()))
  readonly #countCrons = cached(CRONS_MS, async () => (await this.#hq.store.crons.list()).length)
  readonly #listeners = new Set<LiveStatsListener>()
  #publisher: NodeJS.Timeout | undefined
  #sampler: NodeJS.Timeout | undefined
  #askedAt = 0

  constructor(hq: Highkiq, redaction: Redaction, reads: StoreReads) {
    this.#hq = hq
    this.#reads = reads
    this.#alerts = alertFinder(hq, { redact: redaction.text, reads })
  }

  /** Returns live stats that are at most two seconds old. */
  async latest(): Promise<LiveStats> {
    this.#asked()
    return (await this.#snapshots()).live
  }

  /** Returns the stats of the same moment as the live stats, at most two seconds old. */
  async stats(): Promise<AppStats> {
    this.#asked()
    return (await this.#snapshots()).stats
  }

  /** Returns the trends of queues, from samples of every ten seconds while clients ask. */
  trends(): Pick<QueueTrends, 'of'> {
    this.#asked()
    return this.#alerts.trends
  }

  /** Calls the listener with all live stats from now on. @returns a function that stops it */
  listen(listener: LiveStatsListener): () => void {
    this.#asked()
    this.#listeners.add(listener)
    this.#publisher ??= setInterval(() => void this.#publish(), LIVE_STATS_MS).unref()
    return () => {
      this.#listeners.delete(listener)
      if (this.#listeners.size > 0) return
      clearInterval(this.#publisher)
      this.#publisher = undefined
    }
  }

  async #publish(): Promise<void> {
    try {
      const live = await this.latest()
      for (const listener of [...this.#listeners]) listener.onStats(live)
    } catch (thrown) {
      for (const listener of [...this.#listeners]) listener.onError(thrown)
    }
  }

  /** Notes that a client asks, and samples from now on. */
  #asked(): void {
    this.#askedAt = performance.now()
    if (this.#sampler) return
    this.#sampler = setInterval(() => void this.#sample(), STEP_MS).unref()
    void this.#sample()
  }

  async #sample(): Promise<void> {
    if (performance.now() - this.#askedAt > ASKED_MS) {
      clearInterval(this.#sampler)
      this.#sampler = undefined
      return
    }
    try {
      await Promise.all([this.#snapshots(), this.#alerts.sample()])
    } catch (thrown) {
      // The next sample tries again; clients that ask get the error.
      if (hasCode(thrown, 'STORE_CLOSED')) clearInterval(this.#sampler)
    }
  }

  async #snapshot(): Promise<{ live: LiveStats; stats: AppStats }> {
    const roundTrip = await this.#roundTrip()
    const [stats, findings, crons] = await Promise.all([this.#readStats(), this.#alerts.find(), this.#countCrons()])
    const { processes } = findings
    const { ordered, processed, failed } = stats
    const at = this.#hq.now()
    this.history.add({ at, processed, failed })
    const rates = this.history.rates()
    const sum = (of: 'concurrency' | 'orderedConcurrency') =>
      processes.reduce((total, process) => total + process[of], 0)
    const live: LiveStats = {
      at: new Date(at),
      roundTrip,
      stats: {
        ...stats,
        processes: processes.length,
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

  /** Measures how long the store takes to answer, in milliseconds with one decimal. */
  async #roundTrip(): Promise<number> {
    const began = performance.now()
    await this.#hq.store.jobSets.size('dead')
    return Math.round((performance.now() - began) * 10) / 10
  }

  /** Returns the stats, made of what is read for other figures, too. */
  async #readStats(): Promise<AppStats> {
    const reads = this.#reads
    const [totals, processes, leases, { queues }, ordered] = await Promise.all([
      reads.totals(),
      reads.processes(),
      reads.leases(),
      reads.queues(),
      orderedTotals(this.#hq.store, this.#hq.now()),
    ])
    const defaultLatency = queues.find(({ name }) => name === 'default')?.latency ?? 0
    const stats = { ...statsFrom({ totals, processes, leases, defaultLatency }), ordered }
    const { unreachableShards = [] } = this.#hq.store
    return unreachableShards.length > 0 ? { ...stats, unreachableShards: [...unreachableShards] } : stats
  }
}
