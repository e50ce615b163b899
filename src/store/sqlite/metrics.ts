/** Counts of jobs by class and minute, and deploys. */

import { type Deploy, HISTOGRAM_BUCKETS, type JobSums, MAX_BUCKET_COUNT, type MetricsBatch } from '../contract.ts'
import type { Database } from './database.ts'
import { sql } from './sql.generated.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const MINUTES_KEPT = 8 * HOUR
const TEN_MINUTES_KEPT = 3 * DAY
const DEPLOYS_KEPT = 90 * DAY

const SPANS = [
  { span: 1, kept: MINUTES_KEPT },
  { span: 10, kept: TEN_MINUTES_KEPT },
] as const

export class Metrics {
  readonly #db: Database

  constructor(db: Database) {
    this.#db = db
  }

  record({ source, number, at, jobs }: MetricsBatch): void {
    if (!this.#db.first(sql.metrics.told, source, number, at)) return
    for (const { span, kept } of SPANS) {
      const begins = at - (at % (span * MINUTE))
      for (const { name, processed, failed, ms } of jobs) {
        this.#db.run(sql.metrics.add, span, begins, name.toWellFormed(), processed, failed, ms)
      }
      this.#db.run(sql.metrics.forgetSums, span, at - kept)
    }
    for (const { name, histogram } of jobs) {
      for (const [bucket, count] of histogram.entries()) {
        if (count === 0) continue
        this.#db.run(sql.metrics.count, at - (at % MINUTE), name.toWellFormed(), bucket, count, MAX_BUCKET_COUNT)
      }
    }
    this.#db.run(sql.metrics.forgetHistograms, at - MINUTES_KEPT)
    this.#db.run(sql.metrics.forgetSources, at - MINUTES_KEPT)
  }

  sums(span: 1 | 10, times: readonly number[], name: string | null = null): JobSums[] {
    return this.#db.all<JobSums>(sql.metrics.sums, span, JSON.stringify(times), name)
  }

  histograms(name: string, minutes: readonly number[]): { at: number; counts: number[] }[] {
    const rows = this.#db.all<{ at: number; bucket: number; count: number }>(
      sql.metrics.histograms,
      JSON.stringify(minutes),
      name,
    )
    const found = new Map<number, number[]>()
    for (const { at, bucket, count } of rows) {
      const counts = found.get(at) ?? Array<number>(HISTOGRAM_BUCKETS).fill(0)
      counts[bucket] = count
      found.set(at, counts)
    }
    return [...found].map(([at, counts]) => ({ at, counts }))
  }

  markDeploy({ at, label }: Deploy, now: number): boolean {
    this.#db.run(sql.metrics.forgetDeploys, now - DEPLOYS_KEPT)
    return this.#db.first(sql.metrics.markDeploy, at, label.toWellFormed(), now, now - MINUTE) !== undefined
  }

  deploys(days: readonly string[]): Deploy[] {
    return days
      .map((day) => Date.parse(day))
      .flatMap((begins) => this.#db.all<Deploy>(sql.metrics.deploys, begins, begins + DAY))
      .sort((a, b) => a.at - b.at)
  }
}
