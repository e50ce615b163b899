/** The live stats, computed once for all clients, and only while a client asks. */

import type { Highkiq } from '../../app.ts'
import { hasCode } from '../../job/errors.ts'
import type { Redaction } from '../access/redact.ts'
import type { Made } from '../schemas.ts'
import { AlertFinder } from './alerts.ts'
import { Cached } from './cached.ts'
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

interface Snapshot {
  live: LiveStats
  stats: AppStats
}

export interface LiveStatsListener {
  onStats(live: LiveStats): void
  onError(thrown: unknown): void
}

export class LiveStatsFeed {
  readonly history = new StatsHistory()
  readonly #hq: Highkiq
  readonly #alertFinder: AlertFinder
  readonly #latest: Cached<Snapshot>
  readonly #crons: Cached<number>
  readonly #listeners = new Set<LiveStatsListener>()
  #beat: NodeJS.Timeout | undefined
  #sampler: NodeJS.Timeout | undefined
  #askedAt = 0

  constructor(hq: Highkiq, redaction: Redaction) {
    this.#hq = hq
    this.#alertFinder = new AlertFinder(hq, redaction)
    // A little less than the interval, so that each tick computes anew.
    this.#latest = new Cached(LIVE_STATS_MS - 100, () => this.#snapshot())
    this.#crons = new Cached(CRONS_MS, async () => (await hq.store.crons.list()).length)
  }

  /** Returns live stats that are at most two seconds old. */
  async latest(): Promise<LiveStats> {
    this.#asked()
    return (await this.#latest.get()).live
  }

  /** Returns the stats of the same moment as the live stats, at most two seconds old. */
  async stats(): Promise<AppStats> {
    this.#asked()
    return (await this.#latest.get()).stats
  }

  /** Calls the listener with all live stats from now on. @returns a function that stops it */
  listen(listener: LiveStatsListener): () => void {
    this.#asked()
    this.#listeners.add(listener)
    this.#beat ??= setInterval(() => void this.#publish(), LIVE_STATS_MS).unref()
    return () => {
      this.#listeners.delete(listener)
      if (this.#listeners.size > 0) return
      clearInterval(this.#beat)
      this.#beat = undefined
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
      await Promise.all([this.#latest.get(), this.#alertFinder.sample()])
    } catch (thrown) {
      // The next sample tries again; clients that ask get the error.
      if (hasCode(thrown, 'STORE_CLOSED')) clearInterval(this.#sampler)
    }
  }

  async #snapshot(): Promise<Snapshot> {
    const hq = this.#hq
    const began = performance.now()
    await hq.store.jobSets.size('dead')
    const roundTrip = performance.now() - began
    const [stats, findings, crons] = await Promise.all([hq.stats(), this.#alertFinder.find(), this.#crons.get()])
    const at = hq.now()
    const { processed, failed, busy, enqueued, backlog, scheduled, retries, dead, defaultLatency, ordered } = stats
    this.history.add({ at, processed, failed, busy, enqueued, retries, dead })
    const rates = this.history.rates()
    const sum = (of: 'concurrency' | 'orderedConcurrency') =>
      findings.processes.reduce((total, process) => total + process[of], 0)
    const live: LiveStats = {
      at: new Date(at),
      roundTrip: Math.round(roundTrip * 10) / 10,
      stats: {
        ...{ processed, failed, busy, enqueued, backlog, scheduled, retries, dead, defaultLatency },
        processes: findings.processes.length,
        concurrency: sum('concurrency'),
        orderedConcurrency: sum('orderedConcurrency'),
        ordered: { total: ordered.total },
      },
      finishedPerSecond: rates.finished,
      failedPerSecond: rates.failed,
      alerts: findings.alerts,
      ...{ tasks: findings.tasks, orderedQueues: findings.orderedQueues, crons, queues: findings.queues.length },
    }
    return { live, stats }
  }
}
