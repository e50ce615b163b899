/** A task as the file has it; see `store/sql/task-row.ts`. */

import type { TaskRecord } from '../../contract.ts'
import { type EventState, recordOf as recordWith, type TaskColumns } from '../../sql/task-row.ts'
import type { Database } from '../file/database.ts'
import { sql } from '../sql.generated.ts'

export interface TaskRow extends TaskColumns {
  window: number
}

export function recordOf(row: TaskRow): TaskRecord {
  return recordWith(row, row.window)
}

/** Reads those columns of rows that decide whether effects apply. */
export function eventsOf(db: Database, task: number, indexes: readonly number[]): EventState[] {
  const rows = db.list<(number | string | null)[]>(sql.event.load, task, JSON.stringify(indexes))
  return rows.map(([idx, status, location, run, step, code, started_at, finished_at, result]) => {
    return { idx, status, location, run, step, code, started_at, finished_at, result } as EventState
  })
}
