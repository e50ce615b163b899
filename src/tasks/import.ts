/** Reads the rows of a file for a task: checks them and maps their columns. */

import type { StandardSchemaV1 } from '@standard-schema/spec'
import { checkArgs } from '../job/args.ts'
import { checkSchema } from '../job/definition.ts'
import { type HighkiqError, invalidFile, invalidOption, messageOf } from '../job/errors.ts'
import { checkOptions, type OptionKind, shown } from '../job/options.ts'
import type { Message } from '../store/contract.ts'
import { type Columns, checkColumns, mapper, rulesOf } from './columns.ts'
import { kindsOf, READING_OPTIONS } from './import-options.ts'
import type { Row } from './rows.ts'
import { pathOfIssue, runSchema } from './run-schema.ts'
import { isFormulaError, NO_RESULT } from './spreadsheet/cell-text.ts'
import type { FileFormat, FileRow, OpenFile, ReadFileOptions } from './spreadsheet/file.ts'
import type { Source } from './spreadsheet/source.ts'

export interface ImportRows extends ReadFileOptions {
  /** Which columns become which fields. Default: every column, under its header. */
  columns?: Columns
  /**
   * Checks each row before it becomes a job: any Standard Schema (zod, valibot, …). The handler gets the schema's output;
   * a refused row is `failed` at once, with code `invalid`. Default: the job's own `validate`.
   */
  validate?: StandardSchemaV1
  /**
   * The column of the file (for NDJSON: the key) that identifies a row. A corrected report uses it to find rows whose
   * "row key" is missing.
   */
  rowKey?: string
}

/** The options of `ImportRows` with their kinds. */
export const READING: Record<keyof ImportRows, OptionKind> = {
  ...kindsOf(READING_OPTIONS),
  sheet: [isNameOrIndex, 'the name of a sheet, or its number from 0'],
  validate: null,
  artifacts: 'text',
}

export const READING_NAMES = Object.keys(READING) as (keyof ImportRows)[]

export interface OpenImport extends Pick<OpenFile, 'digest' | 'encoding' | 'layout' | 'close'> {
  format: FileFormat
  /** The columns under the file's names; undefined for NDJSON. */
  header: string[] | undefined
  rows: AsyncGenerator<Row, void, void>
}

/** @throws INVALID_OPTION */
export function checkImport(where: string, options: ImportRows): ImportRows {
  checkOptions(where, options, READING)
  const { validate, columns } = options
  if (validate !== undefined) checkSchema(where, validate)
  if (columns !== undefined) checkColumns(columns)
  return options
}

function isNameOrIndex(sheet: unknown): boolean {
  return typeof sheet === 'number'
    ? Number.isSafeInteger(sheet) && sheet >= 0
    : typeof sheet === 'string' && sheet !== ''
}

/** Checks that a source can be read. @throws INVALID_OPTION */
export function checkSource(where: string, source: unknown): void {
  if (typeof source === 'string' && source !== '') return
  const isStream = typeof source === 'object' && source !== null && ('getReader' in source || 'pipe' in source)
  if (source instanceof Uint8Array || isStream) return
  const message = `${where} must be the path of a file, a Buffer, or a stream (got ${shown(source)})`
  throw invalidOption(message)
}

/** @throws INVALID_FILE, INVALID_OPTION; while iterating also TOO_MANY_ROWS and VALIDATE_FAILED */
export async function openImport(source: Source, options: ImportRows, now: () => number): Promise<OpenImport> {
  const { validate, columns, rowKey, ...reading } = checkImport('tasks.import', options)
  // Loaded on first use, so that an app that only pushes jobs starts faster.
  const { openFile } = await import('./spreadsheet/file.ts')
  const file = await openFile(source, reading, rulesOf(columns))
  const { format, header, digest, encoding, layout, close } = file
  try {
    if (rowKey !== undefined && header && !header.includes(rowKey)) throw noKey(rowKey, header)
    const check = new RowCheck(format, { columns, header, validate, now })
    return { format, header, digest, encoding, layout, close, rows: rowsOf(file, check) }
  } catch (error) {
    await close()
    throw error
  }
}

function noKey(rowKey: string, header: readonly string[]): HighkiqError {
  const columns = header.slice(0, 30).map(shown)
  const message = `the file has no column ${shown(rowKey)}, which rowKey names: its columns are ${columns.join(', ')}`
  return invalidFile(message, { problem: 'no-column', missing: [rowKey], header: header.slice(0, 30) })
}

async function* rowsOf({ rows, close }: OpenFile, check: RowCheck): AsyncGenerator<Row, void, void> {
  try {
    for await (const row of rows) yield check.read(row)
  } finally {
    await close()
  }
}

interface Checking {
  columns: Columns | undefined
  header: readonly string[] | undefined
  validate: StandardSchemaV1 | undefined
  now: () => number
}

/** Turns rows of a file into rows of a task. */
export class RowCheck {
  readonly #format: FileFormat
  readonly #map: ReturnType<typeof mapper>
  readonly #schema: StandardSchemaV1 | undefined
  readonly #now: () => number

  /** @throws INVALID_FILE: a column is missing */
  constructor(format: FileFormat, { columns, header, validate, now }: Checking) {
    this.#format = format
    this.#map = mapper(columns, header)
    this.#schema = validate
    this.#now = now
  }

  /** Returns the row, or a promise of it while a schema validates it. @throws VALIDATE_FAILED */
  read(row: FileRow): Row | Promise<Row> {
    const { number, values } = row
    const messages = this.#faults(values)
    if (messages.length > 0) {
      const code = this.#format === 'xlsx' ? 'formula_error' : 'invalid'
      return { args: [this.#storable(values)], number, rejected: { status: 'failed', code, messages } }
    }
    if (this.#schema) return this.#validated(row)
    return this.#map ? { args: [this.#map(values)], number, source: values } : { args: [values], number }
  }

  async #validated({ number, values }: FileRow): Promise<Row> {
    const mapped = this.#map ? this.#map(values) : values
    const checked = await runSchema(this.#schema as StandardSchemaV1, mapped, `row ${number}`, { row: number })
    const messages = checked.issues
      ? checked.issues.map((issue) => problem(issue, this.#now()))
      : this.#unfit(checked.value)
    if (messages.length > 0)
      return { args: [values], number, rejected: { status: 'failed', code: 'invalid', messages } }
    return { args: [(checked as StandardSchemaV1.SuccessResult<unknown>).value], number, source: values }
  }

  #faults(values: Record<string, unknown>): Message[] {
    if (this.#format === 'csv') return []
    if (this.#format === 'ndjson') return this.#unfit(values)
    return Object.entries(this.#map ? this.#map(values) : values)
      .filter(([, value]) => isFormulaError(value))
      .map(([field, value]) => {
        const code = value === NO_RESULT ? 'unsaved' : 'formula'
        return { at: this.#now(), code, params: { field, result: value } }
      })
  }

  /** Returns what is stored of a refused row: nothing, if JSON can't carry it. */
  #storable(values: Record<string, unknown>): unknown {
    return this.#format === 'ndjson' ? {} : values
  }

  /** Returns why a row can't be an argument, as for a NaN or a Date. It is a fault of that row, not of the file. */
  #unfit(value: unknown): Message[] {
    try {
      checkArgs([value], this.#schema ? 'validate' : 'row')
      return []
    } catch (thrown) {
      return [{ at: this.#now(), code: 'failed', params: { text: messageOf(thrown) } }]
    }
  }
}

function problem(issue: StandardSchemaV1.Issue, at: number): Message {
  const field = pathOfIssue(issue)
  return { at, code: 'failed', params: { text: issue.message, ...(field ? { field } : {}) } }
}
