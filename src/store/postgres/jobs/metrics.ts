import {
  type Deploy,
  HISTOGRAM_BUCKETS,
  type JobHistogram,
  type JobSums,
  MAX_BUCKET_COUNT,
  type MetricStore,
  type Snapshot,
  type StoreStats,
  type WaitCounts,
} from '../../contract.ts'
import { columns } from '../server/columns.ts'
import type { Database } from '../server/database.ts'
import { ANSWER_SECONDS, PostgresArea } from '../server/store-server.ts'
import { sql } from '../sql.generated.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const MINUTES_KEPT = 8 * HOUR
const TEN_MINUTES_KEPT = 3 * DAY
const DAYS_KEPT = 90 * DAY

/** The spans of sums and histograms, and those of snapshots, in minutes. */
const SPANS = [1, 10]
const SNAPSHOTS = [
  { span: 1, kept: MINUTES_KEPT },
  { span: 10, kept: TEN_MINUTES_KEPT },
  { span: 1440, kept: DAYS_KEPT },
]

interface WaitRow {
  at: number
  queue: string
  ms: number
  histogram: string
}

interface Bucket {
  name: string
  bucket: number
  count: number
}

interface Total {
  processed: number
  failed: number
}

export class PostgresMetricStore extends PostgresArea implements MetricStore {
  readonly totals: MetricStore['totals'] = () =>
    this.server.runOne(async (db) => (await db.first<StoreStats>(sql.stat.totals)) as StoreStats)

  readonly resetTotals: MetricStore['resetTotals'] = (which) =>
    this.server.write(async (db) => {
      // The changes that are not summed up yet belong to the total.
      await db.run(sql.queue.sumChanges, this.server.lock)
      await db.run(sql.stat.reset, which === 'processed' ? 0 : 1, which === 'failed' ? 0 : 1)
    })

  readonly history: MetricStore['history'] = (days) =>
    this.server.runOne(async (db) => {
      const rows = await db.all<Total & { day: string }>(sql.stat.days, days)
      const found = new Map(rows.map(({ day, ...total }) => [day, total]))
      return days.map((day) => found.get(day) ?? { processed: 0, failed: 0 })
    })

  readonly record: MetricStore['record'] = ({ source, number, at, jobs, waits = [] }) =>
    this.server.write(async (db) => {
      if ((await db.run(sql.metrics.recordBatch, source, number, at)) === 0) return
      const spans = [SPANS, SPANS.map((span) => beginOf(span, at))] as const
      await db.run(sql.metrics.add, ...spans, ...columns(jobs, nameOf, ...SUMS))
      const buckets = jobs.flatMap((job) =>
        job.histogram.map((count, bucket) => ({ name: nameOf(job), bucket, count })).filter(({ count }) => count > 0),
      )
      await db.run(sql.metrics.count, ...spans, ...columns(buckets, ...BUCKET), MAX_BUCKET_COUNT)
      if (waits.length > 0) await addWaits(db, beginOf(1, at), waits)
      await db.run(sql.metrics.deleteOld, at - MINUTES_KEPT, at - TEN_MINUTES_KEPT)
    }, ANSWER_SECONDS)

  readonly sums: MetricStore['sums'] = (span, times, name) =>
    this.server.runOne((db) => db.all<JobSums>(sql.metrics.sums, span, times, name ?? null))

  readonly histograms: MetricStore['histograms'] = (span, wanted) =>
    this.server.runOne(async (db) => {
      const pairs = wanted.flatMap(({ name, times }) => times.map((at) => ({ name, at })))
      const names = pairs.map(({ name }) => name)
      const times = pairs.map(({ at }) => at)
      const rows = await db.all<Bucket & { at: number }>(sql.metrics.histograms, span, names, times)
      const found = new Map<string, JobHistogram>()
      for (const { name, at, bucket, count } of rows) {
        const key = `${at} ${name}`
        const histogram = found.get(key) ?? { name, at, counts: Array<number>(HISTOGRAM_BUCKETS).fill(0) }
        histogram.counts[bucket] = count
        found.set(key, histogram)
      }
      return [...found.values()]
    })

  readonly waits: MetricStore['waits'] = (minutes, queue) =>
    this.server.runOne(async (db) => {
      const rows = await db.all<WaitRow>(sql.metrics.waits, minutes, queue?.toWellFormed() ?? null)
      return rows.map((row) => ({ ...row, histogram: JSON.parse(row.histogram) as number[] }))
    })

  readonly recordSnapshot: MetricStore['recordSnapshot'] = (at, text) =>
    this.server.write(async (db) => {
      const spans = columns(
        SNAPSHOTS,
        ({ span }) => span,
        ({ span }) => beginOf(span, at),
        ({ kept }) => at - kept,
      )
      const recorded = await db.all<{ span: number }>(sql.metrics.recordSnapshot, ...spans, text)
      return recorded.some(({ span }) => span === 1)
    }, ANSWER_SECONDS)

  readonly snapshots: MetricStore['snapshots'] = (span, times) =>
    this.server.runOne((db) => db.all<Snapshot>(sql.metrics.snapshots, span, times))

  readonly recordQueueSizes: MetricStore['recordQueueSizes'] = (span, at, text) =>
    this.server.write(async (db) => {
      const since = at - (span === 1 ? MINUTES_KEPT : TEN_MINUTES_KEPT)
      return (await db.run(sql.metrics.recordQueueSizes, span, beginOf(span, at), text, since)) > 0
    }, ANSWER_SECONDS)

  readonly queueSizes: MetricStore['queueSizes'] = (span, times) =>
    this.server.runOne((db) => db.all<Snapshot>(sql.metrics.queueSizes, span, times))

  readonly recordDeploy: MetricStore['recordDeploy'] = ({ at, label }, now) =>
    this.server.write(async (db) => {
      const times = [now, now - MINUTE, now - DAYS_KEPT]
      return (await db.run(sql.metrics.recordDeploy, at, label.toWellFormed(), ...times)) > 0
    }, ANSWER_SECONDS)

  readonly deploys: MetricStore['deploys'] = (days) =>
    this.server.runOne((db) =>
      db.all<Deploy>(
        sql.metrics.deploys,
        days.map((day) => Date.parse(day)),
        DAY,
      ),
    )
}

/** Returns when the span of a time begins. */
function beginOf(span: number, at: number): number {
  return at - (at % (span * MINUTE))
}

function nameOf({ name }: { name: string }): string {
  return name.toWellFormed()
}

const BUCKET = (['name', 'bucket', 'count'] as const).map((name) => (bucket: Bucket) => bucket[name])

const SUMS = (['processed', 'failed', 'ms'] as const).map((name) => (job: Record<typeof name, number>) => job[name])

/** Adds to the waits of queues in a minute. */
async function addWaits(db: Database, at: number, waits: readonly WaitCounts[]): Promise<void> {
  const queues = [...new Set(waits.map(({ queue }) => queue.toWellFormed()))]
  const rows = await db.all<WaitRow>(sql.metrics.waitsOfMinute, at, queues)
  const none = { ms: 0, counts: Array<number>(HISTOGRAM_BUCKETS).fill(0) }
  const sums = new Map(queues.map((queue) => [queue, none]))
  const add = (queue: string, ms: number, histogram: readonly number[]) => {
    const before = sums.get(queue) ?? none
    const counts = before.counts.map((count, i) => count + (histogram[i] ?? 0))
    sums.set(queue, { ms: before.ms + ms, counts })
  }
  for (const { queue, ms, histogram } of rows) add(queue, ms, JSON.parse(histogram))
  for (const { queue, ms, histogram } of waits) add(queue.toWellFormed(), ms, histogram)
  const values = columns(
    sums,
    ([queue]) => queue,
    ([, { ms }]) => ms,
    ([, { counts }]) => JSON.stringify(counts),
  )
  await db.run(sql.metrics.putWaits, at, ...values)
}
