/** The ledger of a task as one operation changes it. */

import type { EventState } from '../../sql/task-row.ts'
import type { TaskRow } from './task-row.ts'

/** A task, and those of its events that one operation needs. */
export interface TaskLedger {
  task: TaskRow
  events: Map<number, EventState>
  changed: Set<EventState>
  /** Changes of the numbers of rejected rows; the keys are status and code. */
  reasons: Map<string, number>
  /** The values of `saveTerms` that the file has. */
  terms: unknown[]
  /** The runs in which a row became `failed` or `error`. A row may be in an earlier run than its task. */
  rejectedRuns: readonly number[]
  /** Whether the last producer ended. A run that puts rows back is not counted. */
  addingEnded: boolean
}

export function openLedger(task: TaskRow): TaskLedger {
  const fresh = { events: new Map(), changed: new Set<EventState>(), reasons: new Map() }
  return { task, ...fresh, terms: termsOf(task), rejectedRuns: [], addingEnded: false }
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
    task.deferred,
  ]
}
