/** The settings of a task, as it is created. */

export interface TaskSpec {
  /** 16 hex digits. */
  id: string
  name: string
  job: string
  queue: string
  /**
   * JSON object text of a row's payload without `args`, `jid`, `hk_run`, `enqueued_at`, which the store appends. If it
   * ends with `,"enqueued_at":0.0}`, the store writes that time in seconds; see completeRow.
   */
  template: string
  /** The most rows in the queue and with owners at a time. Several rows in one job count as one. */
  window: number
  /**
   * The number of consecutive rows that become one job, which gets them as one list. Such rows are of the same run, were
   * never in the queue, are no whole payloads, and are together not too large. Any other row is a job of its own, with a
   * list of one. Each row's arguments are one value. The first row of a job counts in the window.
   */
  rowsPerJob?: number
  /** `rejected`: a row's arguments are dropped when it has finished; `none`: when it has ended in any way. */
  keepArgs: 'rejected' | 'all' | 'none'
  /** JSON text, opaque to the store. */
  meta: string
  /** At most four names with a value each, by which `page` finds the task. */
  labels?: Readonly<Record<string, string>>
  createdAt: number
  /**
   * The producer that adds the rows: the name of an owner that has joined, so that its death is noticed. When its lease is
   * claimed while it adds, the task becomes `interrupted`.
   */
  producer: string
  /** With more failures than this the task pauses or is cancelled. */
  maxFailures?: MaxFailures | null
  onMaxFailures?: 'pause' | 'cancel'
  /** Pushed once for each run, in the step that makes the last event final, after adding has ended. */
  onDone?: Callback | null
  /** Pushed once for each run, in the step of its first `failed` or `error` event. */
  onFailure?: Callback | null
  /** Milliseconds for which the task is kept after it is done or cancelled; absent: 30 days. */
  keep?: number
  /** Milliseconds without progress after which a worker checks the task for lost rows; absent: an hour. */
  lostAfter?: number
  /** Whether this is a single tracked job, which is not listed among the tasks. */
  single?: boolean
}

/**
 * The most rows that may be `failed` or `error`. `percent` is a share of the ended rows once there are 100 of them. With
 * fewer ended rows it is checked once, when adding ends, as a share of all rows.
 */
export type MaxFailures = { rows: number } | { percent: number }

/**
 * A job to push when something happens to a task: JSON object text of its payload without `args`, `jid` and
 * `enqueued_at`, which the store appends as in a row's template: args are `[task, run]`, the jid is the task's id, `ff`
 * (done) or `fe` (failure), and the run in 6 hex digits.
 */
export interface Callback {
  queue: string
  template: string
}
