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

export interface IterationVerbs {
  /** In the order given; null where nothing is known. */
  iterations(jids: readonly string[]): Promise<(IterationRecord | null)[]>
  /**
   * Keeps how far an iteration has come, 30 days from the first time on. False: a later execution has begun to save, and
   * nothing changed.
   */
  saveIteration(jid: string, state: IterationState, now: number): Promise<boolean>
}
