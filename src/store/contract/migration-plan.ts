/** What `Store.open` would do to the schema of a store. */
export interface MigrationPlan {
  /** The version of the schema; 0: there is none yet. */
  version: number
  /** The version after `open`. */
  target: number
  /** What would run, in its order: each a script in the language of the store, or a sentence. Empty: nothing. */
  steps: string[]
}
