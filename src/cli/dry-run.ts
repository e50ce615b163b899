/** What an import would do, in words: counts, which column becomes what, what is wrong. */

import type { DryRun } from '../index.ts'
import { stringifyJson } from '../job/json.ts'
import { count, plural } from './figures.ts'
import { type Column, plain, table } from './output.ts'

const WIDEST_VALUE = 60

/** 0: every row would become a job. 3: some would be refused. 1: the file breaks off. */
export function dryRunCode({ complete, invalid }: DryRun): 0 | 1 | 3 {
  if (!complete) return 1
  return invalid > 0 ? 3 : 0
}

export function dryRunText(file: string, run: DryRun, mapping: string[] | Record<string, string> | undefined): string {
  const { format, encoding, total, valid, invalid, complete, problems } = run
  const rows = `${plural(total, 'row')}${complete ? '' : ' until it broke off'}`
  const parts = [
    `${file}: ${format.toUpperCase()}${encoding === null || encoding === 'utf-8' ? '' : ` in ${encoding}`}, ${rows}: ${count(valid)} would become jobs, ${count(invalid)} would be refused`,
  ]
  const lines = mappingOf(run, mapping)
  if (lines.length > 0) parts.push(table(MAPPING, lines))
  if (problems.length > 0) parts.push(table(PROBLEMS, problems))
  const told = problems.filter(({ row }) => row !== null).length
  if (invalid > told) parts.push(`the first ${plural(told, 'problem')}; ${plural(invalid, 'row')} would be refused`)
  parts.push('nothing was pushed')
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
  { title: 'FOR INSTANCE', of: ({ value }) => value },
]

const PROBLEMS: Column<DryRun['problems'][number]>[] = [
  { title: 'ROW', of: ({ row }) => (row === null ? '' : count(row)), right: true },
  { title: 'CODE', of: ({ code }) => code },
  { title: 'PROBLEM', of: ({ message }) => message },
]

/** NDJSON has no columns: what its first rows have stands for them. */
function mappingOf({ columns, preview }: DryRun, mapping: string[] | Record<string, string> | undefined): Mapped[] {
  const rows = preview.map(({ params }) => params as Record<string, unknown>)
  const names = columns ?? [...new Set(rows.flatMap((row) => Object.keys(row ?? {})))]
  const taken = mapping && !Array.isArray(mapping) ? mapping : undefined
  const fields = new Map(Object.entries(taken ?? {}))
  // Without columns, the fields are known already, but not what they were called.
  if (!columns && taken) return Object.entries(taken).map(([column, field]) => mapped(column, field, rows))
  return names.map((column) => {
    if (taken && !fields.has(column)) return { column, field: '(left out)', value: '' }
    return mapped(column, fields.get(column) ?? column, rows)
  })
}

function mapped(column: string, field: string, rows: Record<string, unknown>[]): Mapped {
  const value = rows.map((row) => row?.[field]).find((one) => one !== undefined && one !== '')
  // What validate answers may have other fields.
  if (value === undefined) return { column, field, value: '' }
  const text = plain(stringifyJson(value))
  return { column, field, value: text.length > WIDEST_VALUE ? `${text.slice(0, WIDEST_VALUE - 1)}…` : text }
}
