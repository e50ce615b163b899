/** Maps the columns of a file to the fields of the handler's row. */

import { invalidFile, invalidOption } from '../job/errors.ts'
import { shown } from '../job/options.ts'

/**
 * A list names the columns in the order of the file and replaces its header (for NDJSON: the keys to use). An object
 * `{ header: field }` selects columns, which must all exist; the others are left out.
 */
export type Columns = readonly string[] | Readonly<Record<string, string>>

type Values = Record<string, unknown>

/** @throws INVALID_OPTION */
export function checkColumns(columns: Columns): void {
  if (typeof columns !== 'object' || columns === null) {
    throw invalidOption(
      `columns must be a list of names or an object { 'Header of the file': 'field' } (got ${shown(columns)})`,
    )
  }
  const fields: unknown[] = Array.isArray(columns) ? columns : Object.values(columns)
  if (fields.length === 0)
    throw invalidOption('columns must name a column (got none): leave it out to use every column under its own name')
  for (const [index, field] of fields.entries()) {
    if (typeof field !== 'string' || field === '' || field === '__proto__') {
      throw invalidOption(`columns: ${JSON.stringify(field)} is not a field name`)
    }
    if (fields.indexOf(field) !== index)
      throw invalidOption(`columns: two columns would become ${JSON.stringify(field)}`)
  }
}

/** Returns how `columns` changes the reading of a file: the names of its columns, or the columns to read. */
export function rulesOf(columns: Columns | undefined): { names?: readonly string[]; chosen?: ReadonlySet<string> } {
  if (columns === undefined) return {}
  return Array.isArray(columns) ? { names: columns } : { chosen: new Set(Object.keys(columns)) }
}

/**
 * Returns the function that maps a row of the file to the row of the handler; undefined if both are the same.
 * @throws INVALID_FILE: a column is missing
 */
export function mapper(columns: Columns | undefined, header: readonly string[] | undefined) {
  if (columns === undefined) return undefined
  if (Array.isArray(columns)) return header ? undefined : pickFields(columns.map((name: string) => [name, name]))
  const pairs = Object.entries(columns as Record<string, string>)
  if (!header) return pickFields(pairs)
  const missing = pairs.map(([name]) => name).filter((name) => !header.includes(name))
  if (missing.length === 0) return pickFields(pairs)
  const near = missing.flatMap((name) => header.filter((other) => areAlike(other, name)))
  const hint = near.length > 0 ? `; did you mean ${quoted(near)}?` : ''
  const message = `the file has no column ${quoted(missing)}: its columns are ${quoted(header.slice(0, 30))}${hint}`
  throw invalidFile(message, { problem: 'no-column', missing, header: header.slice(0, 30) })
}

function pickFields(pairs: (readonly [name: string, field: string])[]) {
  return (values: Values): Values => {
    const row: Values = {}
    for (const [name, field] of pairs) if (Object.hasOwn(values, name)) row[field] = values[name]
    return row
  }
}

const simple = (name: string) => name.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '')
/** Returns whether two names differ only in capitals, spaces and punctuation. */
export const areAlike = (a: string, b: string) => simple(a) === simple(b)
const quoted = (names: readonly string[]) => names.map(shown).join(', ')
