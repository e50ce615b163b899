/** Compares the runs of each class before and after a deploy. */

import type { AppPort } from '../app/port.ts'
import type { Store } from '../store/contract.ts'
import type { DeployMark } from './deploy.ts'
import { byName, figuresOf, type JobFigures, NONE, type Percentiles, percentilesAt, percentilesOf } from './figures.ts'

const MINUTE = 60_000
/** The number of minutes that the store keeps. */
const KEPT_MINUTES = 480
/** Longer periods are compared in steps of ten minutes, because each step of each class is a read. */
const MOST_SINGLE_MINUTES = 120
export const MOST_COMPARED_MINUTES = 1440
/** The classes with percentiles: those with the most runs. */
const MOST_PERCENTILES = 50

/** A class is slower when a percentile has grown by at least this factor. */
const SLOWER = 1.25
/** A percentile of fewer successful runs, on either side, says too little. */
const RUNS_FOR_P50 = 20
const RUNS_FOR_P95 = 100
/** A class fails more when chance would make such a difference less than once in 700 comparisons. */
const DEVIATIONS = 3
const FEWEST_FAILURES = 3

export interface ComparisonOptions {
  /** The time of the deploy, to the minute; default: the newest deploy. */
  at?: Date
  /** The most minutes before and after it that are compared; at most 1440, default 60. */
  minutes?: number
}

/** `fails`: a greater part of the runs fails. `slower`: the median or p95 of the run times is at least a quarter higher. */
export type Regression = 'fails' | 'slower'

export type ComparedFigures = Omit<JobFigures, 'name'> & Percentiles

export interface ComparedJob {
  name: string
  before: ComparedFigures
  after: ComparedFigures
  /** How the class got worse; empty when it did not, or when too few runs ended to tell. */
  worse: Regression[]
}

type Side = 'before' | 'after'

export interface DeployComparison {
  deploy: DeployMark
  /** The compared period before the deploy. It begins at the deploy before, if that was later. */
  before: { from: Date; to: Date }
  /** The compared period after the deploy, up to now or to the next deploy. */
  after: { from: Date; to: Date }
  /** The classes of which a run ended in one of the periods: those that got worse first, then those with the most run time. */
  jobs: ComparedJob[]
}

/** @param deploys all deploys, oldest first */
export async function compareDeploy(
  { store, now }: Pick<AppPort, 'store' | 'now'>,
  deploys: readonly DeployMark[],
  { at, minutes = 60 }: ComparisonOptions,
): Promise<DeployComparison | null> {
  const time = now()
  const past = deploys.filter((one) => one.at.getTime() <= time)
  const index = at ? past.findIndex((one) => minuteOf(one.at) === minuteOf(at)) : past.length - 1
  const deploy = past[index]
  if (!deploy) return null
  const deployedAt = deploy.at.getTime()
  const from = Math.max(deployedAt - minutes * MINUTE, past[index - 1]?.at.getTime() ?? 0)
  const to = Math.min(deployedAt + minutes * MINUTE, past[index + 1]?.at.getTime() ?? time, time)
  const isKept = from >= time - (KEPT_MINUTES - 1) * MINUTE
  const span = isKept && minutes <= MOST_SINGLE_MINUTES ? 1 : 10
  const step = span * MINUTE
  const times = {
    // A step in which a deploy was belongs to neither side, unless it began with it. The last step is not over yet.
    before: stepsIn(from, deployedAt - step, step),
    after: stepsIn(deployedAt, to < time ? to - step : to, step),
  }
  return {
    deploy,
    before: periodOf(times.before, step, deployedAt),
    after: periodOf(times.after, step, deployedAt),
    jobs: await jobsIn(store, span, times),
  }
}

/** Returns the classes of which a run ended in one of the periods. The periods are the beginnings of steps of `span` minutes. */
async function jobsIn(store: Store, span: 1 | 10, times: Record<Side, number[]>): Promise<ComparedJob[]> {
  const [before, after] = await Promise.all([
    store.metrics.sums(span, times.before),
    store.metrics.sums(span, times.after),
  ])
  const [old, young] = [byName(before), byName(after)]
  const names = [...new Set([...old.keys(), ...young.keys()])]
  const figures = names.map((name) => ({
    name,
    before: figuresOf(name, old.get(name) ?? []),
    after: figuresOf(name, young.get(name) ?? []),
  }))
  const runsOf = (one: (typeof figures)[number]) => one.before.processed + one.after.processed
  const timed = figures.sort((a, b) => runsOf(b) - runsOf(a)).slice(0, MOST_PERCENTILES)
  const runTimes = (side: Side) => {
    const wanted = timed.map(({ name }) => ({ name, times: times[side] }))
    return percentilesAt({ store }, span, wanted)
  }
  const [oldTimes, youngTimes] = await Promise.all([runTimes('before'), runTimes('after')])
  return figures
    .map(({ name, ...sides }): ComparedJob => {
      const before = withTimes(sides.before, oldTimes.get(name))
      const after = withTimes(sides.after, youngTimes.get(name))
      return { name, before, after, worse: regressionsOf(before, after) }
    })
    .sort((a, b) => b.worse.length - a.worse.length || b.after.seconds - a.after.seconds || (a.name < b.name ? -1 : 1))
}

function withTimes({ name: _, ...rest }: JobFigures, times: Percentiles = percentilesOf(NONE)): ComparedFigures {
  return { ...rest, ...times }
}

function regressionsOf(before: ComparedFigures, after: ComparedFigures): Regression[] {
  const grown = (of: 'p50' | 'p95', runs: number) =>
    Math.min(before.success, after.success) >= runs && (after[of] ?? 0) >= (before[of] ?? 0) * SLOWER
  return [
    ...(failsMore(before, after) ? (['fails'] as const) : []),
    ...(grown('p50', RUNS_FOR_P50) || grown('p95', RUNS_FOR_P95) ? (['slower'] as const) : []),
  ]
}

/** Compares two shares: by how many standard deviations do they differ, if both sides fail equally often? */
function failsMore(before: ComparedFigures, after: ComparedFigures): boolean {
  if (after.failed < FEWEST_FAILURES || before.processed === 0) return false
  const share = (before.failed + after.failed) / (before.processed + after.processed)
  const deviation = Math.sqrt(share * (1 - share) * (1 / before.processed + 1 / after.processed))
  const difference = after.failed / after.processed - before.failed / before.processed
  return deviation > 0 && difference >= DEVIATIONS * deviation
}

function minuteOf(at: Date): number {
  return Math.floor(at.getTime() / MINUTE)
}

/** Returns the beginnings of the steps that begin in this period, both ends included. */
function stepsIn(from: number, to: number, step: number): number[] {
  const times: number[] = []
  for (let at = Math.ceil(from / step) * step; at <= to; at += step) times.push(at)
  return times
}

/** Without a step the period is empty, at the deploy. */
function periodOf(times: readonly number[], step: number, deployedAt: number): { from: Date; to: Date } {
  const [first = deployedAt] = times
  return { from: new Date(first), to: new Date(times.length > 0 ? first + times.length * step : deployedAt) }
}
