/** The text of a dry run of an import: counts, columns and problems. */

import type { DryRun } from '../index.ts'
import { stringifyJson } from '../job/json.ts'
import type { Columns } from '../tasks/columns.ts'
import { type Column, count, plain, plural, table } from './output.ts'

const WIDEST_VALUE = 60

/** Exit code: 0 every row would become a job, 3 some would be refused, 1 the file can't be read to its end. */
export function dryRunCode({ complete, invalid }: DryRun): 0 | 1 | 3 {
  if (!complete) return 1
  return invalid > 0 ? 3 : 0
}

export function dryRunText(file: string, run: DryRun, mapping: Columns | undefined): string {
  const { format, encoding, total, valid, invalid, complete, problems } = run
  const rows = `${plural(total, 'row')}${complete ? '' : ' before it broke off'}`
  const parts = [
    `${file}: ${format.toUpperCase()}${encoding === null || encoding === 'utf-8' ? '' : ` in ${encoding}`}, ${rows}: ${count(valid)} would become jobs, ${count(invalid)} would be refused`,
  ]
  const lines = mappingOf(run, mapping)
  if (lines.length > 0) parts.push(table(MAPPING, lines))
  if (problems.length > 0) parts.push(table(PROBLEMS, problems))
  const listed = problems.filter(({ row }) => row !== null).length
  if (invalid > listed)
    parts.push(`only the first ${plural(listed, 'problem')} of ${plural(invalid, 'refused row')} are listed`)
  parts.push('no rows were imported')
  return parts.join('\n\n')
}

interface Mapped {
  column: string
  field: string
  value: string
}

const MAPPING: Column<Mapped>[] = [
  { title: 'COLUMN', of: ({ column }) => column },
  { title: 'BECOMES', of: ({ field }) => field },
  { title: 'EXAMPLE', of: ({ value }) => value },
]

const PROBLEMS: Column<DryRun['problems'][number]>[] = [
  { title: 'ROW', of: ({ row }) => (row === null ? '' : count(row)), right: true },
  { title: 'CODE', of: ({ code }) => code },
  { title: 'PROBLEM', of: ({ message }) => message },
]

/** NDJSON has no columns: the fields of the first rows are shown instead. */
function mappingOf({ columns, preview }: DryRun, mapping: Columns | undefined): Mapped[] {
  const rows = preview.map(({ value }) => value as Record<string, unknown>)
  const names = columns ?? [...new Set(rows.flatMap((row) => Object.keys(row ?? {})))]
  const picked = mapping && !Array.isArray(mapping) ? mapping : undefined
  const fields = new Map(Object.entries(picked ?? {}))
  // NDJSON rows have their new names already, so only the mapping knows the old ones.
  if (!columns && picked) return Object.entries(picked).map(([column, field]) => mapped(column, field, rows))
  return names.map((column) => {
    if (picked && !fields.has(column)) return { column, field: '(left out)', value: '' }
    return mapped(column, fields.get(column) ?? column, rows)
  })
}

function mapped(column: string, field: string, rows: Record<string, unknown>[]): Mapped {
  const value = rows.map((row) => row?.[field]).find((one) => one !== undefined && one !== '')
  // The output of validate may lack this field.
  if (value === undefined) return { column, field, value: '' }
  const text = plain(stringifyJson(value))
  return { column, field, value: text.length > WIDEST_VALUE ? `${text.slice(0, WIDEST_VALUE - 1)}…` : text }
}
