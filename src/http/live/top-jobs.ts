/** The classes that take the most time, with percentiles. */

import type { Highkiq } from '../../app.ts'
import type { DeployComparison, Percentiles, TopJob, TopJobs } from '../../index.ts'
import { cachedBy } from '../../job/cached.ts'
import { given } from '../../job/options.ts'
import { percentilesAt } from '../../metrics/figures.ts'
import { type METRICS_ORDERS, MOST_PERCENTILES } from '../schemas/building-blocks.ts'

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
  by: (typeof METRICS_ORDERS)[number] | undefined
}

export interface ComparedWanted {
  /** Milliseconds. */
  at: number | undefined
  minutes: number
}

type Top = Omit<TopJobs, 'jobs'> & { jobs: (TopJob & Percentiles)[] }

/** Returns a function that finds the classes, and computes each query once for all clients. */
export function topJobs(hq: Highkiq): (wanted: Wanted) => Promise<Top> {
  const find = cachedBy(REUSED_MS, MOST_KEPT, (key) => compute(hq, JSON.parse(key)))
  return (wanted) => find(JSON.stringify(wanted))
}

/** Returns a function that compares the runs before and after a deploy, once for all clients. */
export function deployComparisons(hq: Highkiq): (wanted: ComparedWanted) => Promise<DeployComparison | null> {
  const compare = cachedBy(REUSED_MS, MOST_KEPT, (key) => {
    const { at, minutes } = JSON.parse(key) as ComparedWanted
    return hq.metrics.compareDeploy({ minutes, ...(at === undefined ? {} : { at: new Date(at) }) })
  })
  return (wanted) => compare(JSON.stringify(wanted))
}

async function compute(hq: Highkiq, { filter = '', by = 'seconds', ...wanted }: Wanted): Promise<Top> {
  const period = given(wanted)
  const { jobs, ...about } = await hq.metrics.top({ ...period, filter })
  if (by !== 'p95') jobs.sort((a, b) => b[by] - a[by])
  const first = by === 'p95' ? jobs : jobs.slice(0, MOST_PERCENTILES)
  // Read only the steps in which a run of the class ended.
  const read = first.map(({ name, steps }) => ({ name, times: steps.map(({ at }) => at.getTime()) }))
  const percentiles = await percentilesAt(hq, about.step === 60 ? 1 : 10, read)
  const all = jobs.map((job) => ({ ...job, ...(percentiles.get(job.name) ?? NONE) }))
  if (by === 'p95') all.sort((a, b) => (b.p95 ?? -1) - (a.p95 ?? -1))
  return { ...about, jobs: all }
}
