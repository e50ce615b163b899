/** The classes that take the most time, with percentiles, computed once for all clients with the same query. */

import type { Highkiq } from '../../app.ts'
import type { Percentiles, TopJob, TopJobs } from '../../index.ts'
import { MOST_PERCENTILES } from '../schemas/building-blocks.ts'
import { Cached } from './cached.ts'

/** The number of minutes that the store keeps. */
export const MOST_MINUTES = 480
/** How long a result is reused: processes flush their metrics every ten seconds. */
const REUSED_MS = 5000
const MOST_KEPT = 50
const NONE: Percentiles = { p50: null, p95: null, p99: null }

export interface Wanted {
  minutes: number | undefined
  hours: number | undefined
  filter: string | undefined
}

type Top = Omit<TopJobs, 'jobs'> & { jobs: (TopJob & Percentiles)[] }

export class TopJobsCache {
  readonly #hq: Highkiq
  readonly #known = new Map<string, Cached<Top>>()

  constructor(hq: Highkiq) {
    this.#hq = hq
  }

  of(wanted: Wanted): Promise<Top> {
    const key = JSON.stringify(wanted)
    let known = this.#known.get(key)
    if (!known) {
      if (this.#known.size >= MOST_KEPT) this.#known.clear()
      known = new Cached(REUSED_MS, () => this.#compute(wanted))
      this.#known.set(key, known)
    }
    return known.get()
  }

  async #compute({ minutes = 60, hours, filter = '' }: Wanted): Promise<Top> {
    const span = hours === undefined ? { minutes } : { hours }
    const { jobs, ...about } = await this.#hq.metrics.top({ ...span, filter })
    const first = jobs.slice(0, MOST_PERCENTILES).map(({ name }) => name)
    const within = Math.min(hours === undefined ? minutes : hours * 60, MOST_MINUTES)
    const percentiles = await this.#hq.metrics.percentiles(first, { minutes: within })
    return { ...about, jobs: jobs.map((job) => ({ ...job, ...(percentiles.get(job.name) ?? NONE) })) }
  }
}
