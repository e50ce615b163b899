/** What a task says of itself beside what its store must know. */

import type { TaskRecord } from '../store/contract.ts'
import type { FileFormat } from './sheet/format.ts'

/** What `meta` of a task says about where its rows came from. */
export interface TaskMeta {
  /** The columns of an imported file, in order. */
  columns?: string[]
  source?: string
  /** The file that an export makes. */
  export?: { format: FileFormat; columns?: string[]; dir?: string }
  format?: FileFormat
}

export function metaOf({ meta }: Pick<TaskRecord, 'meta'>): TaskMeta {
  return JSON.parse(meta) as TaskMeta
}
