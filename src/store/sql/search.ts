/** The limits of the searches of SQLite and PostgreSQL, and the state of a search for jobs to pull. */

import type { Pull } from '../contract.ts'

/** The most jobs that one call or step compares or drops. It also stops after some megabytes. */
export const MAX_COMPARED = 2000

/** The most queues that one call searches. */
export const MAX_QUEUES = 500

/** A position before those of all jobs, also of those with priorities. */
export const BEFORE_ALL = Number.MIN_SAFE_INTEGER

/** The state of a search for jobs to pull. */
export interface PullSearch {
  queue: string
  items: readonly Pull[]
  /** The positions of the items in the queue; undefined: not found (yet). */
  positions: (number | undefined)[]
  /** The search has compared all jobs from this position on; undefined: none yet. */
  from?: number
}
