/** Which columns of a file become which fields of the row that a handler gets. */

import { HighkiqError } from '../job/errors.ts'
import { shown } from '../job/options.ts'

/**
 * A list names the columns in the order of the file, whatever its header says (of NDJSON: the keys to take). An object
 * says `{ header: field }`: the columns that it names, which must all be there; the others are left out.
 */
export type Columns = readonly string[] | Readonly<Record<string, string>>

type Values = Record<string, unknown>

/** @throws INVALID_OPTION */
export function checkColumns(columns: Columns): void {
  if (typeof columns !== 'object' || columns === null) {
    throw invalid("columns is a list of names or an object { 'Header of the file': 'field' }")
  }
  const fields: unknown[] = Array.isArray(columns) ? columns : Object.values(columns)
  if (fields.length === 0) throw invalid('columns names nothing: leave it out to take every column as it is called')
  for (const [index, field] of fields.entries()) {
    if (typeof field !== 'string' || field === '' || field === '__proto__') {
      throw invalid(`columns: ${JSON.stringify(field)} is no name of a field`)
    }
    if (fields.indexOf(field) !== index) throw invalid(`columns: two columns would become ${JSON.stringify(field)}`)
  }
}

/** Returns how `columns` changes the reading of a file: the names of its columns, or the columns to read. */
export function rulesOf(columns: Columns | undefined): { names?: readonly string[]; chosen?: ReadonlySet<string> } {
  if (columns === undefined) return {}
  return Array.isArray(columns) ? { names: columns } : { chosen: new Set(Object.keys(columns)) }
}

/** What makes the handler's row of a file's; undefined where it is the same. @throws INVALID_FILE: a column is missing */
export function mapper(columns: Columns | undefined, header: readonly string[] | undefined) {
  if (columns === undefined) return undefined
  if (Array.isArray(columns)) return header ? undefined : taken(columns.map((name: string) => [name, name]))
  const pairs = Object.entries(columns as Record<string, string>)
  if (!header) return taken(pairs)
  const missing = pairs.map(([name]) => name).filter((name) => !header.includes(name))
  if (missing.length === 0) return taken(pairs)
  const near = missing.flatMap((name) => header.filter((other) => simple(other) === simple(name)))
  const hint = near.length > 0 ? `; did you mean ${quoted(near)}?` : ''
  const message = `the file has no column ${quoted(missing)}: its columns are ${quoted(header.slice(0, 30))}${hint}`
  throw new HighkiqError('INVALID_FILE', message, { missing, header: header.slice(0, 30) })
}

function taken(pairs: (readonly [name: string, field: string])[]) {
  return (values: Values): Values => {
    const row: Values = {}
    for (const [name, field] of pairs) if (Object.hasOwn(values, name)) row[field] = values[name]
    return row
  }
}

const simple = (name: string) => name.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '')
const quoted = (names: readonly string[]) => names.map(shown).join(', ')

function invalid(message: string): HighkiqError {
  return new HighkiqError('INVALID_OPTION', message)
}
