/** What the import dialog asks for, and the queries that it becomes. */

import type { Query } from '../../api/client.ts'
import type { DryRun } from '../../api/types.ts'

export type ReadingName = 'sheet' | 'headerRow' | 'delimiter' | 'encoding'
export type LimitName = 'name' | 'concurrency' | 'maxFailures' | 'onMaxFailures'

export interface ImportForm {
  file: File | null
  job: string
  /** How the file is read; anything else is detected. */
  reading: Partial<Record<ReadingName, string>>
  /** The columns of the file; empty until it is read. */
  headers: readonly string[]
  /** The field that a column becomes; null: it is left out. Any other column keeps its name. */
  columns: Readonly<Record<string, string | null>>
  /** The name and the limits of the task. */
  limits: Partial<Record<LimitName, string>>
  /** The meta by which the task is found; pairs without a name do not count. */
  meta: readonly MetaPair[]
}

export type MetaPair = readonly [name: string, value: string]
/** The most pairs, as the server takes them. */
export const MOST_META = 4

/** The members of a form for another file, or for one that is read in another way. */
export const UNREAD = { headers: [], columns: {} } as const satisfies Partial<ImportForm>

/** Returns the form with the columns that a dry run found. */
export function withColumns(form: ImportForm, { columns, mapping }: DryRun): ImportForm {
  const headers = columns ?? []
  const renamed = headers.filter((header) => mapping && mapping[header] !== header)
  return { ...form, headers, columns: Object.fromEntries(renamed.map((header) => [header, mapping?.[header] ?? null])) }
}

/** Returns the query that reads the file in this way. */
export function readingQuery({ job, reading, headers, columns }: ImportForm): Query {
  // Once one column is renamed all are named, since the server leaves out the others.
  const taken = Object.keys(columns).length > 0 && headers.filter((header) => columns[header] !== null)
  const mapping =
    taken && JSON.stringify(Object.fromEntries(taken.map((header) => [header, columns[header] || header])))
  return { job, ...reading, ...(mapping ? { columns: mapping } : {}) }
}

/** Returns the query that imports the file. */
export function importQuery(form: ImportForm): Query {
  const meta = form.meta.filter(([name]) => name !== '').map(([name, value]) => [`meta.${name}`, value])
  return {
    ...readingQuery(form),
    ...form.limits,
    ...Object.fromEntries(meta),
    name: form.limits.name || form.file?.name,
  }
}

/** Returns the ways to read the file that the error about it offers. */
export function waysOf(details: Readonly<Record<string, unknown>>): [name: ReadingName, value: string][] {
  const { headerRow, encodings, sheets } = details as { headerRow?: number; encodings?: string[]; sheets?: string[] }
  const ways = (name: ReadingName, values: readonly unknown[] = []): [ReadingName, string][] =>
    values.map((value) => [name, String(value)])
  return [
    ...ways('headerRow', headerRow === undefined ? [] : [headerRow]),
    ...ways('encoding', encodings),
    ...ways('sheet', sheets),
  ]
}
