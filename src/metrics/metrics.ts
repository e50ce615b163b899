/** Reads the metrics of job classes. */

import type { AppPort } from '../app/port.ts'
import { checkOptions, type OptionKind, type OptionRule } from '../job/options.ts'
import type { JobSums, WaitSums } from '../store/contract.ts'
import { LABELS } from './collector.ts'
import type { DeployMark } from './deploy.ts'
import {
  type ComparisonOptions,
  compareDeploy,
  type DeployComparison,
  MOST_COMPARED_MINUTES,
} from './deploy-comparison.ts'
import {
  byName,
  figuresOf,
  type JobFigures,
  NONE,
  type Percentiles,
  percentilesAt,
  percentilesOf,
  total,
} from './figures.ts'
import { sizesOf } from './queue-sizes.ts'
import { type StatsSnapshot, snapshotsOf } from './snapshots.ts'

const MINUTE = 60_000
const DAY = 86_400_000
const MOST_DAYS = 90

const upTo = (most: number): OptionRule => [
  (n) => Number.isInteger(n) && Number(n) >= 1 && Number(n) <= most,
  `a whole number from 1 to ${most}`,
]
const PERIOD = { minutes: upTo(480), hours: upTo(72) }
const COMPARED: Record<keyof ComparisonOptions, OptionKind> = {
  at: [(at) => at instanceof Date && !Number.isNaN(at.getTime()), 'the Date of a deploy'],
  minutes: upTo(MOST_COMPARED_MINUTES),
}
const TOP = { ...PERIOD, filter: [(text) => typeof text === 'string', 'a string'] as OptionRule }

export interface PeriodOptions {
  /** The number of minutes up to now, including the current one; at most 480, default 60. */
  minutes?: number
  /** The number of hours up to now, in steps of ten minutes; at most 72. Overrides `minutes`. */
  hours?: number
}

export interface TopOptions extends PeriodOptions {
  /** Returns only classes whose names contain this text; case does not matter. */
  filter?: string
}

export interface TopJob extends JobFigures {
  /** The steps in which a run ended, oldest first. */
  steps: Step[]
}

export interface Step {
  at: Date
  processed: number
  failed: number
  seconds: number
}

export interface TopJobs {
  from: Date
  to: Date
  /** The length of a step in seconds: 60 or 600. */
  step: number
  /** The classes, those with the most run time first. */
  jobs: TopJob[]
  /** The deploys between `from` and `to`, oldest first. */
  deploys: DeployMark[]
}

export interface JobMetrics extends JobFigures, Percentiles {
  from: Date
  to: Date
  /** The length of a step in seconds: 60 or 600. */
  step: number
  /** The number of successful runs by their run time. */
  histogram: { label: string; count: number }[]
  /** The steps in which a run ended, oldest first; `histogram` has the counts of the 26 buckets, and `p95` is in seconds. */
  steps: (Step & { p95: number | null; histogram: number[] })[]
  deploys: DeployMark[]
}

/** How long the jobs that ran had waited in their queue. */
export interface Waits extends Percentiles {
  /** The number of runs that ended, whose waits these are. */
  runs: number
}

/** The waits in one queue; percentiles are in seconds, and null without a run. Processes of Sidekiq report no waits. */
export interface QueueMetrics extends Waits {
  from: Date
  to: Date
  /** The minutes in which a run ended, oldest first. */
  minutes: (Waits & { at: Date })[]
}

/** The sizes of one queue. */
export interface QueueSizes {
  from: Date
  to: Date
  /** The length of a step in seconds: 60 or 600. */
  step: number
  /**
   * The steps with a known size, oldest first. In steps of a minute it is the size soon after the minute begins; in
   * steps of ten minutes, the largest of these. A time without a running worker has no point.
   */
  points: { at: Date; size: number }[]
}

/**
 * Reads the metrics by class and time of all processes, including those of Sidekiq. Each process sends its counts every
 * ten seconds.
 */
export class Metrics {
  readonly #app: Pick<AppPort, 'store' | 'now'>

  constructor(app: Pick<AppPort, 'store' | 'now'>) {
    this.#app = app
  }

  /** Resolves with the classes that take the most time. @throws INVALID_OPTION */
  async top(options: TopOptions = {}): Promise<TopJobs> {
    checkOptions('metrics.top', options, TOP)
    const { filter = '' } = options
    const { span, times, window } = this.#period(options)
    const [sums, deploys] = await Promise.all([this.#app.store.metrics.sums(span, times), this.#deploysIn(window)])
    const wanted = filter.toLowerCase()
    const jobs = [...byName(sums)]
      .filter(([name]) => name.toLowerCase().includes(wanted))
      .map(([name, steps]) => ({ ...figuresOf(name, steps), steps: steps.map(stepOf).sort(byTime) }))
      .sort((a, b) => b.seconds - a.seconds || b.processed - a.processed || (a.name < b.name ? -1 : 1))
    return { ...window, step: span * 60, jobs, deploys }
  }

  /** Resolves with the metrics of one class, step by step; all are 0 for an unknown class. @throws INVALID_OPTION */
  async job(name: string, options: PeriodOptions = {}): Promise<JobMetrics> {
    checkOptions('metrics.job', { name, ...options }, { name: 'text', ...PERIOD })
    const { span, times, window } = this.#period(options)
    const [sums, histograms, deploys] = await Promise.all([
      this.#app.store.metrics.sums(span, times, name),
      this.#app.store.metrics.histograms(span, [{ name, times }]),
      this.#deploysIn(window),
    ])
    const byStep = new Map(histograms.map((histogram) => [histogram.at, histogram.counts]))
    const countsOf = ({ at }: JobSums) => byStep.get(at) ?? [...NONE]
    const all = total(histograms)
    return {
      ...figuresOf(name, sums),
      ...window,
      step: span * 60,
      ...percentilesOf(all),
      histogram: all.map((count, bucket) => ({ label: LABELS[bucket] as string, count })),
      steps: sums
        .map((sum) => ({ ...stepOf(sum), p95: percentilesOf(countsOf(sum)).p95, histogram: countsOf(sum) }))
        .sort(byTime),
      deploys,
    }
  }

  /**
   * Resolves with how long jobs waited in one queue, minute by minute; without minutes for an unknown queue.
   * @throws INVALID_OPTION
   */
  async queue(name: string, options: { minutes?: number } = {}): Promise<QueueMetrics> {
    checkOptions('metrics.queue', { name, ...options }, { name: 'text', minutes: PERIOD.minutes })
    const { minutes = 60 } = options
    const times = timesBefore(this.#app.now(), 1, minutes)
    const waits = await this.#app.store.metrics.waits(times, name)
    return {
      ...windowOf(times, 1),
      ...waitsOf(waits),
      minutes: waits.map((one) => ({ at: new Date(one.at), ...waitsOf([one]) })).sort(byTime),
    }
  }

  /**
   * Resolves with how many jobs waited in one queue over time, with those that waited for room in their limits.
   * @throws INVALID_OPTION
   */
  async queueSizes(name: string, options: PeriodOptions = {}): Promise<QueueSizes> {
    checkOptions('metrics.queueSizes', { name, ...options }, { name: 'text', ...PERIOD })
    const { span, times, window } = this.#period(options)
    const found = await sizesOf(this.#app, name, { span, n: times.length, last: times[0] as number })
    const points = found.map(({ at, size }) => ({ at: new Date(at), size })).sort(byTime)
    return { ...window, step: span * 60, points }
  }

  /** Resolves with the run times of these classes in a period. @throws INVALID_OPTION */
  async percentiles(names: readonly string[], options: PeriodOptions = {}): Promise<Map<string, Percentiles>> {
    checkOptions('metrics.percentiles', options, PERIOD)
    const { span, times } = this.#period(options)
    const wanted = [...new Set(names)].map((name) => ({ name, times }))
    const found = await percentilesAt(this.#app, span, wanted)
    return new Map(wanted.map(({ name }) => [name, found.get(name) ?? percentilesOf(NONE)]))
  }

  /**
   * Resolves with the deploys of the last days (default and at most 90), including today, oldest first.
   * @throws INVALID_OPTION
   */
  async deploys(options: { days?: number } = {}): Promise<DeployMark[]> {
    checkOptions('metrics.deploys', options, { days: upTo(MOST_DAYS) })
    const { days = MOST_DAYS } = options
    const now = this.#app.now()
    return this.#deploysOf(Array.from({ length: days }, (_, i) => dayOf(now - i * DAY)))
  }

  /**
   * Compares the runs of each class before and after a deploy (default: the newest one), those that got worse first. Null
   * when there is no such deploy. See DeployComparison. @throws INVALID_OPTION
   */
  async compareDeploy(options: ComparisonOptions = {}): Promise<DeployComparison | null> {
    checkOptions('metrics.compareDeploy', options, COMPARED)
    return compareDeploy(this.#app, await this.deploys(), options)
  }

  /**
   * Resolves with the figures of the app once in each minute, ten minutes or day in which a worker ran, oldest first: of
   * the last `minutes` (at most 480, default 60), `hours` (at most 72) or `days` (at most 90).
   * @throws INVALID_OPTION
   */
  async snapshots(options: PeriodOptions & { days?: number } = {}): Promise<StatsSnapshot[]> {
    checkOptions('metrics.snapshots', options, { ...PERIOD, days: upTo(MOST_DAYS) })
    const { minutes = 60, hours, days } = options
    if (days !== undefined) return snapshotsOf(this.#app, 1440, days)
    return hours === undefined ? snapshotsOf(this.#app, 1, minutes) : snapshotsOf(this.#app, 10, hours * 6)
  }

  #period({ minutes = 60, hours }: PeriodOptions) {
    const span = hours === undefined ? 1 : 10
    const times = timesBefore(this.#app.now(), span, hours === undefined ? minutes : hours * 6)
    return { span, times, window: windowOf(times, span) } as const
  }

  async #deploysIn({ from, to }: { from: Date; to: Date }): Promise<DeployMark[]> {
    const days: string[] = []
    for (let at = from.getTime(); dayOf(at) <= dayOf(to.getTime() - 1); at += DAY) days.push(dayOf(at))
    return (await this.#deploysOf(days)).filter(({ at }) => at >= from && at < to)
  }

  async #deploysOf(days: readonly string[]): Promise<DeployMark[]> {
    return (await this.#app.store.metrics.deploys(days)).map(({ at, label }) => ({ at: new Date(at), label }))
  }
}

function waitsOf(waits: readonly WaitSums[]): Waits {
  const counts = total(waits.map(({ histogram }) => ({ counts: histogram })))
  return { runs: counts.reduce((sum, count) => sum + count, 0), ...percentilesOf(counts) }
}

/** Returns the starts of the last spans, this one included, newest first. */
function timesBefore(now: number, span: 1 | 10, n: number): number[] {
  const step = span * MINUTE
  const last = now - (now % step)
  return Array.from({ length: n }, (_, i) => last - i * step)
}

function windowOf(times: readonly number[], span: number): { from: Date; to: Date } {
  return { from: new Date(times.at(-1) as number), to: new Date((times[0] as number) + span * MINUTE) }
}

function stepOf({ at, processed, failed, ms }: JobSums): Step {
  return { at: new Date(at), processed, failed, seconds: ms / 1000 }
}

function byTime(a: Pick<Step, 'at'>, b: Pick<Step, 'at'>): number {
  return a.at.getTime() - b.at.getTime()
}

function dayOf(at: number): string {
  return new Date(at).toISOString().slice(0, 10)
}
