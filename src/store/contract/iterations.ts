/** How far an iteration has come: a job that processes many items, one by one. */
export interface IterationState {
  /** Attempts begun, this one included. */
  executions: number
  /** Seconds, the sum of all attempts. */
  runtime: number
  /** JSON text of the position from which the next attempt starts. */
  cursor: string
}

/** The stored state of an iteration. One that was cancelled before its first attempt has only `cancelled`. */
export interface IterationRecord {
  executions: number
  runtime: number
  /** JSON text; null before the first item. */
  cursor: string | null
  /** When it was cancelled, in milliseconds; null: it was not. */
  cancelled: number | null
}
