/** The `meta` of a task, which the store keeps without reading it, and the part of it that the app gives. */

import { invalidOption } from '../job/errors.ts'
import { isObject, stringifyJson } from '../job/json.ts'
import { shown } from '../job/options.ts'
import type { TaskRecord } from '../store/contract.ts'
import type { Columns } from './columns.ts'
import type { FileFormat } from './spreadsheet/format.ts'

/** What the dashboard shows about the file of an import. */
export interface ImportedFile {
  /** Its name. Default: that of a path. */
  name?: string
  /** Its size. Default: that of a path or of a Buffer. */
  bytes?: number
  /** The submitter: the login that uploaded it over HTTP, or a name that the app gives. Only operators see it. */
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

// The meta of the app ----------------------------------------------------------------------------------------

/** Anything that is JSON. Members with a string or a whole number are labels, by which `hq.tasks.list` finds the task. */
export type OwnMeta = Readonly<Record<string, unknown>>

const MOST_BYTES = 4096
const MOST_LABELS = 4
const MOST_CHARACTERS = 200
const NAME = /^[\w-]{1,40}$/

/** @throws INVALID_OPTION */
export function checkMeta(where: string, meta: unknown): asserts meta is OwnMeta {
  if (!isObject(meta)) throw invalidOption(`${where}: meta must be an object (got ${shown(meta)})`)
  let bytes = Number.POSITIVE_INFINITY
  try {
    bytes = Buffer.byteLength(stringifyJson(meta))
  } catch {
    throw invalidOption(`${where}: meta must be JSON`)
  }
  if (bytes > MOST_BYTES)
    throw invalidOption(`${where}: meta must be at most ${MOST_BYTES} bytes of JSON (got ${bytes})`)
  const labels = Object.entries(meta).filter(([, value]) => isLabel(value))
  if (labels.length > MOST_LABELS) {
    throw invalidOption(
      `${where}: meta must have at most ${MOST_LABELS} members with a string or a whole number (got ${labels.length}): put the others into an object`,
    )
  }
  for (const [name, value] of labels) checkLabel(`${where}: meta`, name, value)
}

/** Checks what `hq.tasks.list` finds tasks by. @throws INVALID_OPTION */
export function checkMetaFilter(where: string, filter: unknown): asserts filter is Record<string, string | number> {
  const isFilter = isObject(filter) && Object.keys(filter).length > 0 && Object.keys(filter).length <= MOST_LABELS
  if (!isFilter)
    throw invalidOption(`${where}: meta must be an object of 1 to ${MOST_LABELS} members (got ${shown(filter)})`)
  for (const [name, value] of Object.entries(filter)) checkLabel(`${where}: meta`, name, value)
}

function checkLabel(where: string, name: string, value: unknown): void {
  if (!NAME.test(name)) {
    throw invalidOption(`${where}: the name ${shown(name)} must have 1 to 40 letters, digits, _ and -`)
  }
  if (isLabel(value) && String(value).length <= MOST_CHARACTERS) return
  const what = `a string of at most ${MOST_CHARACTERS} characters or a whole number`
  throw invalidOption(`${where}.${name} must be ${what} (got ${shown(value)})`)
}

function isLabel(value: unknown): value is string | number {
  return typeof value === 'string' || Number.isSafeInteger(value)
}

/** Returns the members by which a task is found, as texts. */
export function labelsOf(meta: OwnMeta = {}): Record<string, string> {
  const labels = Object.entries(meta).filter(([, value]) => isLabel(value))
  return Object.fromEntries(labels.map(([name, value]) => [name, String(value)]))
}
