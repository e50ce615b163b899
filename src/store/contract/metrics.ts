/** Totals, and metrics by job class: how many jobs ended and how long they took. */

/** The jobs of one class that ended since the process's previous batch. */
export interface JobCounts {
  /** The class's name: any text. */
  name: string
  processed: number
  failed: number
  /** The sum of the durations of the jobs that did not fail, in whole milliseconds. */
  ms: number
  /** The durations of the jobs that did not fail: HISTOGRAM_BUCKETS counts. */
  histogram: readonly number[]
}

export const HISTOGRAM_BUCKETS = 26
/** A count of the histogram of a minute does not grow above this. */
export const MAX_BUCKET_COUNT = 65_535

/** How long jobs of one queue had waited when they started, since the process's previous batch. */
export interface WaitCounts {
  queue: string
  /** The sum, in whole milliseconds. */
  ms: number
  /** HISTOGRAM_BUCKETS counts, with the limits of run times. */
  histogram: readonly number[]
}

/** The metrics that a process records in one call. A batch with the same `source` and `number` (1, 2, …) counts once. */
export interface MetricsBatch {
  source: string
  number: number
  /** The time in whose minute, and ten minutes, the batch counts; in milliseconds. */
  at: number
  /** At most 100. */
  jobs: readonly JobCounts[]
  /** At most 100. */
  waits?: readonly WaitCounts[]
}

/** The sums of one class in one span of time. There is no record for a span without jobs. */
export interface JobSums extends Omit<JobCounts, 'histogram'> {
  /** The start of the span, as in the call. */
  at: number
}

/** The durations of one class in one span of time. There is no record for a span without jobs that did not fail. */
export interface JobHistogram {
  name: string
  /** The start of the span, as in the call. */
  at: number
  counts: number[]
}

/** The waits of one queue in one minute. */
export interface WaitSums extends WaitCounts {
  at: number
}

export interface Deploy {
  /** The start of a minute, in milliseconds. */
  at: number
  label: string
}

/** The figures of the whole store, or the sizes of its queues, in one span of time. */
export interface Snapshot {
  /** The start of the span, as in the call. */
  at: number
  /** Opaque to the store. */
  text: string
}

/** Minutes of the spans for which snapshots are kept: a minute, ten minutes, and a day in UTC. */
export type SnapshotSpan = 1 | 10 | 1440

export interface StoreStats {
  processed: number
  failed: number
  enqueued: number
  /** Rows in the backlogs of tasks, not counted in `enqueued`. */
  backlog: number
  /** Jobs that wait for room in their limits, not counted in `enqueued`. */
  limited: number
  /** Jobs that workers have fetched and not yet settled. */
  fetched: number
  scheduled: number
  retries: number
  dead: number
}

export interface MetricStore {
  totals(): Promise<StoreStats>
  /** Sets a total to zero. The figures of the days stay. */
  resetTotals(which: 'processed' | 'failed'): Promise<void>
  /** Returns the totals of UTC days `YYYY-MM-DD`, in the order given. */
  history(days: readonly string[]): Promise<{ processed: number; failed: number }[]>
  /**
   * Adds a batch to the counts of its minute and its ten minutes: all of it or nothing. Minutes are kept for 8 hours, ten
   * minutes for 3 days.
   */
  record(batch: MetricsBatch): Promise<void>
  /**
   * Returns the sums of the minutes, or ten minutes, that begin at these times (milliseconds), of all classes or of one.
   * @param span minutes
   */
  sums(span: 1 | 10, times: readonly number[], name?: string): Promise<JobSums[]>
  /**
   * Returns the histograms of classes, for those of their minutes, or ten minutes, that have one. Each class is named
   * once. Jobs that Sidekiq ran have none of ten minutes.
   */
  histograms(span: 1 | 10, wanted: readonly { name: string; times: readonly number[] }[]): Promise<JobHistogram[]>
  /**
   * Returns how long jobs waited, of all queues or of one, for those of the minutes in which some started; the counts have
   * no limit.
   */
  waits(minutes: readonly number[], queue?: string): Promise<WaitSums[]>
  /**
   * Stores a snapshot for the minute, the ten minutes and the day of a time; each keeps the first that it gets. Minutes are
   * kept for 8 hours, ten minutes for 3 days, days for 90 days. False: the minute has one already.
   */
  recordSnapshot(at: number, text: string): Promise<boolean>
  /** Returns the snapshots of the spans that begin at these times, oldest first. */
  snapshots(span: SnapshotSpan, times: readonly number[]): Promise<Snapshot[]>
  /**
   * Stores a text with the sizes of queues for the span of one or ten minutes that contains `at`. Returns false, and
   * stores nothing, when the span has a text. The store keeps minutes for 8 hours, ten minutes for 3 days.
   */
  recordQueueSizes(span: 1 | 10, at: number, text: string): Promise<boolean>
  /** Returns the texts of the spans that begin at these times, oldest first. */
  queueSizes(span: 1 | 10, times: readonly number[]): Promise<Snapshot[]>
  /**
   * Stores a deploy for 90 days. False: the minute has a deploy already, or the same label was recorded within the last
   * minute, as happens when many processes start at once.
   */
  recordDeploy(deploy: Deploy, now: number): Promise<boolean>
  /** Returns the deploys of UTC days `YYYY-MM-DD`, oldest first. */
  deploys(days: readonly string[]): Promise<Deploy[]>
}
