/** What a task says of itself beside what its store must know. */

import type { TaskRecord } from '../store/contract.ts'
import type { Columns } from './columns.ts'
import type { FileFormat } from './spreadsheet/format.ts'

/** What `meta` of a task says about where its rows came from. */
export interface TaskMeta {
  /** The columns of an imported file, in order. */
  columns?: string[]
  source?: string
  /** How they became the rows of the handler. */
  mapping?: Columns
  /** The column that tells rows apart. */
  rowKey?: string
  /** A `validate` has answered each of them: what it refused, or has not seen yet, is nothing for the handler. */
  validated?: true
  /** As many rows as its file might have. */
  maxRows?: number
  /** The file that an export makes. */
  export?: { format: FileFormat; columns?: string[]; dir?: string }
  format?: FileFormat
  /** The encoding of the file's text, where the first rows told it. */
  encoding?: string
}

export function metaOf({ meta }: Pick<TaskRecord, 'meta'>): TaskMeta {
  return JSON.parse(meta) as TaskMeta
}
