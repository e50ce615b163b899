/** The steps with which `Store.open` would create or update the schema. */
export interface MigrationPlan {
  /** The version of the schema; 0: there is none yet. */
  version: number
  /** The version after `open`. */
  target: number
  /** The steps in their order: each is a script in the language of the store, or a sentence. Empty if the schema is up to date. */
  steps: string[]
}
