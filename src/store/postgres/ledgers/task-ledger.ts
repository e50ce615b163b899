/** The ledger of a task as one operation changes it. */

import type { EventState } from '../../sql/task-row.ts'
import type { TaskRow } from './task-row.ts'

/** A task, and those of its events that one operation needs. */
export interface TaskLedger {
  task: TaskRow
  /** The task as the table has it. */
  stored: TaskRow
  events: Map<number, EventState>
  changed: Set<EventState>
  /** Rows that got a position of their own in the backlog (`text` null: at the back), or lost it (null). */
  positions: Map<number, { text: string | null } | null>
  /** Changes of the numbers of rejected rows; the keys are status and code. */
  reasons: Map<string, number>
  /** The runs in which a row became `failed` or `error`. A row may be in an earlier run than its task. */
  rejectedRuns: readonly number[]
  /** Whether the last producer ended. A run that puts rows back is not counted. */
  addingEnded: boolean
}

export function openLedger(task: TaskRow): TaskLedger {
  return {
    task,
    stored: { ...task },
    events: new Map(),
    changed: new Set(),
    positions: new Map(),
    reasons: new Map(),
    rejectedRuns: [],
    addingEnded: false,
  }
}
