/** A report that somebody corrected, on its way back to the rows that it came from. */

import { HighkiqError, messageOf } from '../job/errors.ts'
import { parseJson } from '../job/json.ts'
import type { TaskRecord } from '../store/contract.ts'
import { checkImport, type ImportRows, RowCheck } from './import.ts'
import { metaOf, type TaskMeta } from './meta.ts'
import { parseRowKey, type Reason, type RowKey, reasonNames } from './report.ts'
import type { Row } from './rows.ts'
import { armed } from './sheet/armed.ts'
import type { OpenFile } from './sheet/file.ts'
import type { Source } from './sheet/source.ts'

/** The row with this index, as of this run, is to be tried again as this. `number`: its row in the report. */
export interface CorrectedRow extends Row {
  index: number
  run: number
}

export interface OpenReport {
  /** Can be iterated once; ending or leaving the loop closes the file. */
  rows: AsyncGenerator<CorrectedRow, void, void>
  close(): Promise<void>
}

/**
 * Opens a corrected report of a task, in whatever format, its rows and columns in any order. A row that is left out is
 * left alone. `options` are those of the import: the rows pass through `columns` and `validate` again.
 * @throws INVALID_FILE: it is no report, of another task, or a column is missing; also while iterating, with row and
 *   column: a row key is wrong or comes twice
 */
export async function openReport(
  source: Source,
  task: Pick<TaskRecord, 'id' | 'meta'>,
  options: ImportRows,
  now: () => number,
): Promise<OpenReport> {
  const { validate, columns, ...reading } = checkImport(options)
  const { openFile } = await import('./sheet/file.ts')
  const file = await openFile(source, reading)
  const meta = metaOf(task)
  try {
    const layout = layoutOf(file, meta)
    const check = meta.format && new RowCheck(meta.format, { columns, header: meta.columns, validate, now })
    return { rows: correctedRows(file, layout, task.id, check), close: file.close }
  } catch (error) {
    await file.close()
    throw error
  }
}

/** How a row of the report is read. */
interface Layout {
  keyColumn(values: Record<string, unknown>): string
  /** The row as it was imported. */
  row(values: Record<string, unknown>): Record<string, unknown>
}

function layoutOf({ header, format }: OpenFile, meta: TaskMeta): Layout {
  const own = meta.columns ?? (meta.format === 'ndjson' ? undefined : ['arguments'])
  const key = 'row key'
  if (!own) {
    // Its rows have keys of their own: what the reasons are called shows in the report alone.
    if (header && !reasonsIn(header)[key]) throw missing([key])
    return {
      keyColumn: (values) => reasonsIn(header ?? Object.keys(values))[key] ?? key,
      row(values) {
        const reasons = new Set(Object.values(reasonsIn(header ?? Object.keys(values))))
        // A cell in which nothing stands is a key that the row does not have.
        const entries = Object.entries(values).filter(
          ([name, value]) => !reasons.has(name) && (!header || value !== ''),
        )
        return Object.fromEntries(entries)
      },
    }
  }
  const keyColumn = reasonNames(own)[key]
  const absent = header ? [keyColumn, ...own].filter((name) => !header.includes(name)) : []
  if (absent.length > 0) throw missing(absent)
  const cell = cellReader(format, meta)
  return {
    keyColumn: () => keyColumn,
    row(values) {
      const row: Record<string, unknown> = {}
      for (const name of own) if (values[name] !== undefined) row[name] = cell(values[name])
      return row
    },
  }
}

function missing(columns: string[]): HighkiqError {
  const list = columns.map((name) => JSON.stringify(name)).join(', ')
  const message = `the report has no column ${list}: correct the cells, but leave the columns as they are`
  return new HighkiqError('INVALID_FILE', message, { missing: columns })
}

/** The columns of reasons: those that are called so with the most words in front. */
export function reasonsIn(header: readonly string[]): Partial<Record<Reason, string>> {
  const found: Partial<Record<Reason, string>> = {}
  for (const reason of Object.keys(reasonNames([])) as Reason[]) {
    for (const name of header) {
      if (!name.endsWith(reason) || !/^(task )*$/.test(name.slice(0, -reason.length))) continue
      if (name.length > (found[reason]?.length ?? 0)) found[reason] = name
    }
  }
  return found
}

/** What a spreadsheet made of a value on its way: the rows of a CSV file hold only texts. */
function cellReader(format: OpenFile['format'], meta: TaskMeta): (value: unknown) => unknown {
  const text =
    meta.format === 'csv' ? (value: unknown) => (typeof value === 'string' ? value : String(value)) : undefined
  if (format !== 'csv') return text ?? ((value) => value)
  return (value) => (typeof value === 'string' ? armed(value) : value)
}

async function* correctedRows(
  { rows, close }: OpenFile,
  layout: Layout,
  task: string,
  check: RowCheck | undefined,
): AsyncGenerator<CorrectedRow, void, void> {
  const seen = new Map<number, number>()
  try {
    for await (const { number, values } of rows) {
      const column = layout.keyColumn(values)
      const { index, run } = keyOf(values[column], number, column, task)
      const first = seen.get(index)
      if (first !== undefined) throw wrong(number, column, `its row key stands in row ${first} too`)
      seen.set(index, number)
      const row = layout.row(values)
      if (check) {
        const file = { number, values: row }
        yield { index, run, ...(check.settled(file) ?? (await check.validated(file))) }
      } else {
        yield { index, run, number, args: argsOf(row.arguments, number) }
      }
    }
  } finally {
    await close()
  }
}

function keyOf(value: unknown, number: number, column: string, task: string): RowKey {
  const key = parseRowKey(String(value ?? ''))
  if (!key) throw wrong(number, column, `${JSON.stringify(value ?? '')} is no row key: leave that column as it is`)
  if (key.task !== task) throw wrong(number, column, `it is a row of task ${key.task}, not of ${task}`)
  return key
}

function argsOf(value: unknown, number: number): unknown[] {
  let args: unknown
  try {
    args = typeof value === 'string' ? parseJson(value) : value
  } catch (error) {
    throw wrong(number, 'arguments', `it is not JSON (${messageOf(error)})`)
  }
  if (!Array.isArray(args)) throw wrong(number, 'arguments', 'it is not a list of arguments: write [ … ]')
  return args
}

function wrong(row: number, column: string, what: string): HighkiqError {
  return new HighkiqError('INVALID_FILE', `row ${row}, column ${JSON.stringify(column)}: ${what}`, { row, column })
}
