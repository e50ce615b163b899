/** Finished and failed runs, step by step, over several ranges. */

import type { Highkiq } from '../../app.ts'
import type { StatsSnapshot } from '../../index.ts'
import { cached, cachedBy } from '../../job/cached.ts'
import { RANGES } from '../schemas/building-blocks.ts'
import type { Made } from '../schemas.ts'
import type { LiveStatsFeed } from './live-stats.ts'
import { type Finished, STEP_MS } from './stats-history.ts'

export type Range = (typeof RANGES)[number]

const MINUTE = 60_000
const DAY = 86_400_000
/** How long snapshots are reused. */
const SNAPSHOTS_MS = 5000

interface Kind {
  step: number
  count: number
  /** Milliseconds for which a result is reused. */
  ms: number
}

const KINDS: Record<Range, Kind> = {
  '5m': { step: STEP_MS, count: 30, ms: 2000 },
  '1h': { step: MINUTE, count: 60, ms: 5000 },
  '24h': { step: 10 * MINUTE, count: 144, ms: 60_000 },
  '30d': { step: DAY, count: 30, ms: 60_000 },
}

/** The period of a range for `hq.metrics.snapshots`. */
const PERIODS = { '5m': { minutes: 6 }, '1h': { minutes: 61 }, '24h': { hours: 24 }, '30d': { days: 30 } }

/** Returns a function that reads how the figures changed, as a worker stored them. */
export function snapshots(hq: Highkiq): (range: Range) => Promise<StatsSnapshot[]> {
  return cachedBy(SNAPSHOTS_MS, RANGES.length, (range) => hq.metrics.snapshots(PERIODS[range as Range]))
}

/** Returns the seconds from snapshot to snapshot of a range. */
export function snapshotStep(range: Range): number {
  return Math.max(KINDS[range].step, MINUTE) / 1000
}

export type Throughput = Made<'Throughput'>

/** Returns a function that gives complete steps only: a step that is not over would look too low. */
export function throughputs(hq: Highkiq, liveStats: LiveStatsFeed): (range: Range) => Promise<Throughput> {
  const make = async (range: Range) => {
    const { step, count } = KINDS[range]
    // Takes a sample, so that the history reaches up to now.
    await liveStats.latest()
    const now = hq.now()
    const to = now - (now % step)
    const times = Array.from({ length: count }, (_, i) => to - (count - i) * step)
    const [points, deploys] = await Promise.all([
      range === '30d' ? daysOf(hq, times) : stepsOf(hq, liveStats, times, step),
      hq.metrics.deploys({ days: Math.ceil((count * step) / DAY) + 1 }),
    ])
    const from = times[0] as number
    return {
      from: new Date(from),
      to: new Date(to),
      step: step / 1000,
      points: times.map((at, i) => ({ at: new Date(at), ...rounded(points[i] as Finished) })),
      deploys: deploys.filter(({ at }) => at.getTime() >= from && at.getTime() < to),
    }
  }
  const of = (range: Range) => cached(KINDS[range].ms, () => make(range))
  const all = { '5m': of('5m'), '1h': of('1h'), '24h': of('24h'), '30d': of('30d') }
  return (range) => all[range]()
}

async function daysOf(hq: Highkiq, times: readonly number[]): Promise<Finished[]> {
  const days = await hq.store.metrics.history(times.map((at) => new Date(at).toISOString().slice(0, 10)))
  return days.map(({ processed, failed }) => ({ finished: processed - failed, failed }))
}

/** Uses the samples of this server, and the metrics of the processes for the rest. */
async function stepsOf(
  hq: Highkiq,
  { history }: LiveStatsFeed,
  times: readonly number[],
  step: number,
): Promise<Finished[]> {
  const seen = times.map((at) => history.between(at, at + step))
  if (seen.every((one) => one !== undefined)) return seen
  const span = step < 10 * MINUTE ? 1 : 10
  const spanMs = span * MINUTE
  const spanOf = (at: number) => at - (at % spanMs)
  const recorded = new Map<number, Finished>()
  for (const { at, processed, failed } of await hq.store.metrics.sums(span, [...new Set(times.map(spanOf))])) {
    const sum = recorded.get(at) ?? { finished: 0, failed: 0 }
    recorded.set(at, { finished: sum.finished + processed - failed, failed: sum.failed + failed })
  }
  const share = step / spanMs
  return times.map((at, i) => {
    const { finished, failed } = recorded.get(spanOf(at)) ?? { finished: 0, failed: 0 }
    return seen[i] ?? { finished: finished * share, failed: failed * share }
  })
}

/** Rounds to one decimal: a step that is part of a longer span has no whole numbers. */
function rounded({ finished, failed }: Finished): Finished {
  return { finished: Math.round(finished * 10) / 10, failed: Math.round(failed * 10) / 10 }
}
