/** What one operation knows of a task, and changes of it before it is written. */

import type { EventState, TaskRow } from './row.ts'
import type { Happened } from './state.ts'

/** A task and those of its events that one operation touches. */
export interface Book extends Happened {
  task: TaskRow
  events: Map<number, EventState>
  changed: Set<EventState>
  /** Changes of the numbers of rejected rows, by status and code. */
  reasons: Map<string, number>
  /** As they are in the file. */
  terms: unknown[]
}

const NONE: readonly number[] = []

export function openBook(task: TaskRow): Book {
  const fresh = { events: new Map(), changed: new Set<EventState>(), reasons: new Map() }
  return { task, ...fresh, terms: termsOf(task), rejectedRuns: NONE, addingEnded: false }
}

/** In the order of `saveTerms`. */
export function termsOf(task: TaskRow) {
  return [
    task.name,
    task.window,
    task.tolerance,
    task.beyond,
    task.paused,
    task.reason,
    task.adders,
    task.broken,
    task.run,
    task.run_at,
    task.ended_before,
    task.mixed,
    task.done_run,
    task.failed_run,
    task.swept,
  ]
}
