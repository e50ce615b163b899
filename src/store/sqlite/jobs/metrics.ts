import {
  type Deploy,
  HISTOGRAM_BUCKETS,
  type JobSums,
  MAX_BUCKET_COUNT,
  type MetricStore,
  type Snapshot,
  type StoreStats,
  type WaitCounts,
} from '../../contract.ts'
import type { Database } from '../file/database.ts'
import { ANSWER_SECONDS, SqliteArea } from '../file/store-file.ts'
import { sql } from '../sql.generated.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const MINUTES_KEPT = 8 * HOUR
const TEN_MINUTES_KEPT = 3 * DAY
const DAYS_KEPT = 90 * DAY

const SPANS = [
  { span: 1, kept: MINUTES_KEPT, most: MAX_BUCKET_COUNT },
  { span: 10, kept: TEN_MINUTES_KEPT, most: Number.MAX_SAFE_INTEGER },
] as const

const SNAPSHOTS = [
  { span: 1, kept: MINUTES_KEPT },
  { span: 10, kept: TEN_MINUTES_KEPT },
  { span: 1440, kept: DAYS_KEPT },
] as const

interface WaitRow {
  at: number
  queue: string
  ms: number
  histogram: string
}

interface Total {
  processed: number
  failed: number
}

export class SqliteMetricStore extends SqliteArea implements MetricStore {
  readonly totals: MetricStore['totals'] = () =>
    this.file.read((db) => db.first<StoreStats>(sql.stat.totals) as StoreStats)

  readonly resetTotals: MetricStore['resetTotals'] = (which) =>
    this.file.write((db) => {
      db.run(sql.stat.reset, which === 'processed' ? 0 : 1, which === 'failed' ? 0 : 1)
    })

  readonly history: MetricStore['history'] = (days) =>
    this.file.read((db) => days.map((day) => db.first<Total>(sql.stat.day, day) ?? { processed: 0, failed: 0 }))

  readonly record: MetricStore['record'] = ({ source, number, at, jobs, waits = [] }) =>
    this.file.write((db) => {
      if (!db.first(sql.metrics.recordBatch, source, number, at)) return
      for (const { span, kept, most } of SPANS) {
        const begins = at - (at % (span * MINUTE))
        for (const { name, processed, failed, ms, histogram } of jobs) {
          db.run(sql.metrics.add, span, begins, name.toWellFormed(), processed, failed, ms)
          for (const [bucket, count] of histogram.entries()) {
            if (count > 0) db.run(sql.metrics.count, span, begins, name.toWellFormed(), bucket, count, most)
          }
        }
        db.run(sql.metrics.deleteOldSums, span, at - kept)
        db.run(sql.metrics.deleteOldHistograms, span, at - kept)
      }
      for (const wait of waits) this.#addWait(db, at - (at % MINUTE), wait)
      db.run(sql.metrics.deleteOldWaits, at - MINUTES_KEPT)
      db.run(sql.metrics.deleteOldSources, at - MINUTES_KEPT)
    }, ANSWER_SECONDS)

  readonly sums: MetricStore['sums'] = (span, times, name) =>
    this.file.read((db) => db.all<JobSums>(sql.metrics.sums, span, JSON.stringify(times), name ?? null))

  readonly histograms: MetricStore['histograms'] = (span, wanted) =>
    this.file.read((db) =>
      wanted.flatMap(({ name, times }) => {
        const rows = db.all<{ at: number; bucket: number; count: number }>(
          sql.metrics.histograms,
          span,
          JSON.stringify(times),
          name,
        )
        const found = new Map<number, number[]>()
        for (const { at, bucket, count } of rows) {
          const counts = found.get(at) ?? Array<number>(HISTOGRAM_BUCKETS).fill(0)
          counts[bucket] = count
          found.set(at, counts)
        }
        return [...found].map(([at, counts]) => ({ name, at, counts }))
      }),
    )

  readonly waits: MetricStore['waits'] = (minutes, queue) =>
    this.file.read((db) => {
      const times = JSON.stringify(minutes)
      const rows =
        queue === undefined
          ? db.all<WaitRow>(sql.metrics.waits, times)
          : db.all<WaitRow>(sql.metrics.waitsOfQueue, times, queue.toWellFormed())
      return rows.map((row) => ({ ...row, histogram: JSON.parse(row.histogram) as number[] }))
    })

  #addWait(db: Database, at: number, { queue, ms, histogram }: WaitCounts): void {
    const name = queue.toWellFormed()
    const before = db.first<WaitRow>(sql.metrics.wait, at, name)
    const counts = before ? (JSON.parse(before.histogram) as number[]) : []
    const sum = Array.from({ length: HISTOGRAM_BUCKETS }, (_, i) => (counts[i] ?? 0) + (histogram[i] ?? 0))
    db.run(sql.metrics.putWait, at, name, (before?.ms ?? 0) + ms, JSON.stringify(sum))
  }

  readonly recordSnapshot: MetricStore['recordSnapshot'] = (at, text) =>
    this.file.write((db) => {
      const recorded = SNAPSHOTS.map(({ span, kept }) => {
        db.run(sql.metrics.deleteOldSnapshots, span, at - kept)
        return db.first(sql.metrics.recordSnapshot, span, at - (at % (span * MINUTE)), text) !== undefined
      })
      return recorded[0] as boolean
    }, ANSWER_SECONDS)

  readonly snapshots: MetricStore['snapshots'] = (span, times) =>
    this.file.read((db) => db.all<Snapshot>(sql.metrics.snapshots, span, JSON.stringify(times)))

  readonly recordQueueSizes: MetricStore['recordQueueSizes'] = (span, at, text) =>
    this.file.write((db) => {
      db.run(sql.metrics.deleteOldQueueSizes, span, at - (span === 1 ? MINUTES_KEPT : TEN_MINUTES_KEPT))
      return db.first(sql.metrics.recordQueueSizes, span, at - (at % (span * MINUTE)), text) !== undefined
    }, ANSWER_SECONDS)

  readonly queueSizes: MetricStore['queueSizes'] = (span, times) =>
    this.file.read((db) => db.all<Snapshot>(sql.metrics.queueSizes, span, JSON.stringify(times)))

  readonly recordDeploy: MetricStore['recordDeploy'] = ({ at, label }, now) =>
    this.file.write((db) => {
      db.run(sql.metrics.deleteOldDeploys, now - DAYS_KEPT)
      return db.first(sql.metrics.recordDeploy, at, label.toWellFormed(), now, now - MINUTE) !== undefined
    }, ANSWER_SECONDS)

  readonly deploys: MetricStore['deploys'] = (days) =>
    this.file.read((db) =>
      days
        .map((day) => Date.parse(day))
        .flatMap((begins) => db.all<Deploy>(sql.metrics.deploys, begins, begins + DAY))
        .sort((a, b) => a.at - b.at),
    )
}
