/** A task as its table has it; see `store/sql/task-row.ts`. */

import type { TaskRecord } from '../../contract.ts'
import { recordOf as recordWith, type TaskColumns } from '../../sql/task-row.ts'

export interface TaskRow extends TaskColumns {
  window_size: number
}

export function recordOf(row: TaskRow): TaskRecord {
  return recordWith(row, row.window_size)
}
