/** The ledger of a task as one operation sees and changes it, before it is written. */

import type { EventState, TaskRow } from './task-row.ts'
import type { TaskChanges } from './task-state.ts'

/** A task, and those of its events that one operation needs. */
export interface TaskLedger extends TaskChanges {
  task: TaskRow
  events: Map<number, EventState>
  changed: Set<EventState>
  /** Changes of the numbers of rejected rows; the keys are status and code. */
  reasons: Map<string, number>
  /** The values of `saveTerms` that the file has. */
  terms: unknown[]
}

const NONE: readonly number[] = []

export function openLedger(task: TaskRow): TaskLedger {
  const fresh = { events: new Map(), changed: new Set<EventState>(), reasons: new Map() }
  return { task, ...fresh, terms: termsOf(task), rejectedRuns: NONE, addingEnded: false }
}

/** Returns the values of the statement `saveTerms`, in its order. */
export function termsOf(task: TaskRow) {
  return [
    task.name,
    task.window,
    task.max_failures,
    task.on_max_failures,
    task.paused,
    task.reason,
    task.producers,
    task.broken,
    task.run,
    task.run_at,
    task.ended_before,
    task.mixed,
    task.done_run,
    task.failed_run,
    task.cancel_from,
  ]
}
