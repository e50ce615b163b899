/** How many jobs of each class ended, and how long they took. */

/** What ended of one class since its process told last. */
export interface JobCounts {
  /** The class's name: any text. */
  name: string
  processed: number
  failed: number
  /** Whole milliseconds that those took together that did not fail. */
  ms: number
  /** How many of those took how long: HISTOGRAM_BUCKETS counts. */
  histogram: readonly number[]
}

export const HISTOGRAM_BUCKETS = 26
/** A count of a histogram stays there. */
export const MOST_IN_A_BUCKET = 65_535

/** What a process tells at a time. `source` and `number` (1, 2, …) name it: recording it again changes nothing. */
export interface MetricsBatch {
  source: string
  number: number
  /** Milliseconds: in whose minute and ten minutes it counts. */
  at: number
  /** At most 100. */
  jobs: readonly JobCounts[]
}

/** What is known of a class in one span; absent where nothing is. */
export interface JobSums {
  /** Where the span begins, as it was asked for. */
  at: number
  name: string
  processed: number
  failed: number
  ms: number
}

export interface Deploy {
  /** Milliseconds: a full minute. */
  at: number
  label: string
}

/** What is shown to people. */

export interface StoreStats {
  processed: number
  failed: number
  enqueued: number
  /** Rows that wait inside their tasks, not counted in `enqueued`. */
  backlog: number
  /** Jobs that belong to an owner. */
  fetched: number
  scheduled: number
  retries: number
  dead: number
}

export interface MetricStore {
  totals(): Promise<StoreStats>
  /** Sets a total back to zero; the figures of the days stay. */
  resetTotals(which: 'processed' | 'failed'): Promise<void>
  /** Processed and failed of each UTC day `YYYY-MM-DD`, in the order given. */
  history(days: readonly string[]): Promise<{ processed: number; failed: number }[]>
  /**
   * Adds to the counts of the batch's minute and ten minutes. All of it or nothing. Minutes are kept for 8 hours, ten
   * minutes for 3 days.
   */
  record(batch: MetricsBatch): Promise<void>
  /**
   * What ended in the minutes, or ten minutes, that begin at these times (milliseconds): of all classes, or of one.
   * @param span minutes
   */
  sums(span: 1 | 10, times: readonly number[], name?: string): Promise<JobSums[]>
  /** The histograms of a class, of those of these minutes that have one. */
  histograms(name: string, minutes: readonly number[]): Promise<{ at: number; counts: number[] }[]>
  /**
   * Remembers a deploy for 90 days. False: the same label came within the last minute (many processes start at once), or
   * this minute has a deploy.
   */
  recordDeploy(deploy: Deploy, now: number): Promise<boolean>
  /** The deploys of UTC days `YYYY-MM-DD`, oldest first. */
  deploys(days: readonly string[]): Promise<Deploy[]>
}
