/** The part of a task that the store keeps without reading it. */

import type { TaskRecord } from '../store/contract.ts'
import type { Columns } from './columns.ts'
import type { OwnMeta } from './own-meta.ts'
import type { FileFormat } from './spreadsheet/format.ts'

/** What the dashboard shows about the file of an import. */
export interface ImportedFile {
  /** Its name. Default: that of a path. */
  name?: string
  /** Its size. Default: that of a path or of a Buffer. */
  bytes?: number
  /** Who sent it. */
  by?: string
}

/** The `meta` of a task: what the app gave it, where its rows came from, or the file that it exports. */
export interface TaskMeta {
  /** The columns of an imported file, in order. */
  columns?: string[]
  file?: ImportedFile
  /** The names of the jobs that run at its end and at its first rejected row. */
  callbacks?: { onDone?: string; onFailure?: string }
  /** How the columns became the handler's rows. */
  mapping?: Columns
  /** The column whose value identifies a row. */
  rowKey?: string
  /** Whether a `validate` checked the rows. A refused row may run only after `validate` accepts it. */
  validated?: true
  /** The import's `maxRows`. */
  maxRows?: number
  /** The file that an export makes. */
  export?: { format: FileFormat; columns?: string[]; dir?: string }
  format?: FileFormat
  /** The encoding of the file's text, if it was known after the first rows. */
  encoding?: string
  /** The option `meta` of the app. */
  own?: OwnMeta
}

export function metaOf({ meta }: Pick<TaskRecord, 'meta'>): TaskMeta {
  return JSON.parse(meta) as TaskMeta
}
