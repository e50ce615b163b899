/** How far jobs have come that go through many items. */

/** How far a job has come that goes through many items. */
export interface IterationState {
  /** Attempts begun, this one included. */
  executions: number
  /** Seconds, of all attempts together. */
  runtime: number
  /** JSON text: where to begin next. */
  cursor: string
}

/** What is known of an iteration; when it was cancelled before it ever ran, only that. */
export interface IterationRecord {
  executions: number
  runtime: number
  /** JSON text; null before the first item. */
  cursor: string | null
  /** Milliseconds; null: it is not. */
  cancelled: number | null
}
