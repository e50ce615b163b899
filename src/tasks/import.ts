/** A file as a tracked task: one row, one job; the handler gets the row as an object by header. */

import type { StandardSchemaV1 } from '@standard-schema/spec'
import { checkArgs } from '../job/args.ts'
import { HighkiqError, messageOf } from '../job/errors.ts'
import type { Message } from '../store/contract.ts'
import { type Columns, checkColumns, mapper } from './columns.ts'
import type { Row } from './rows.ts'
import type { FileFormat, FileRow, OpenFile, ReadFileOptions } from './sheet/file.ts'
import type { Source } from './sheet/source.ts'

export interface ImportRows extends ReadFileOptions {
  /** Which columns become which fields; default: every one, by its header. */
  columns?: Columns
  /**
   * Checks each row before a job is made of it: any Standard Schema (zod, valibot, …). What it answers is what the
   * handler gets; a row that it refuses is `failed` at once, with code `invalid`.
   */
  validate?: StandardSchemaV1
}

export const IMPORT_OPTIONS: (keyof ImportRows)[] = [
  'validate',
  'columns',
  'format',
  'maxRows',
  'sheet',
  'delimiter',
  'encoding',
  'artifacts',
]

export interface OpenImport extends Pick<OpenFile, 'digest' | 'close'> {
  format: FileFormat
  /** As the file calls them; undefined for NDJSON. */
  header: string[] | undefined
  rows: AsyncGenerator<Row, void, void>
}

/** @throws INVALID_OPTION */
export function checkImport(options: ImportRows): ImportRows {
  if (options.validate && !('~standard' in options.validate)) {
    throw new HighkiqError('INVALID_OPTION', 'validate must be a Standard Schema, for instance of zod or valibot')
  }
  if (options.columns !== undefined) checkColumns(options.columns)
  return options
}

/** @throws INVALID_FILE, INVALID_OPTION; while iterating also TOO_MANY_ROWS, and whatever `validate` throws */
export async function openImport(source: Source, options: ImportRows, now: () => number): Promise<OpenImport> {
  const { validate, columns, ...reading } = checkImport(options)
  // Loaded when there is something to read: who only pushes jobs need not wait for it.
  const { openFile } = await import('./sheet/file.ts')
  const file = await openFile(source, reading, Array.isArray(columns) ? columns : undefined)
  const { format, header, digest, close } = file
  try {
    const check = new RowCheck(format, { columns, header, validate, now })
    return { format, header, digest, close, rows: rowsOf(file, check) }
  } catch (error) {
    await close()
    throw error
  }
}

async function* rowsOf({ rows, close }: OpenFile, check: RowCheck): AsyncGenerator<Row, void, void> {
  try {
    for await (const row of rows) yield check.settled(row) ?? (await check.validated(row))
  } finally {
    await close()
  }
}

/** What Excel shows in a cell whose formula has no result. */
const FORMULA_ERROR = /^#(?:N\/A|REF!|DIV\/0!|VALUE!|NAME\?|NULL!|NUM!|SPILL!|CALC!|FIELD!|BLOCKED!|GETTING_DATA)$/

interface Checking {
  columns: Columns | undefined
  header: readonly string[] | undefined
  validate: StandardSchemaV1 | undefined
  now: () => number
}

/** From a row of a file to a row of a task. */
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

  /** The row, unless it must be validated. */
  settled({ number, values }: FileRow): Row | undefined {
    const messages = this.#faults(values)
    if (messages.length > 0) {
      const code = this.#format === 'xlsx' ? 'formula_error' : 'invalid'
      return { args: [this.#fit(values)], number, rejected: { status: 'failed', code, messages } }
    }
    if (this.#schema) return undefined
    return this.#map ? { args: [this.#map(values)], number, source: values } : { args: [values], number }
  }

  async validated({ number, values }: FileRow): Promise<Row> {
    const answer = (this.#schema as StandardSchemaV1)['~standard'].validate(this.#map ? this.#map(values) : values)
    const checked = answer instanceof Promise ? await answer : answer
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
      .filter(([, value]) => typeof value === 'string' && value[0] === '#' && FORMULA_ERROR.test(value))
      .map(([field, value]) => {
        return { at: this.#now(), code: 'failed', params: { text: `its formula has no result (${value})`, field } }
      })
  }

  /** What no job can carry is not kept either. */
  #fit(values: Record<string, unknown>): unknown {
    return this.#format === 'ndjson' ? {} : values
  }

  /** What is made of a row must fit into a job: a NaN or a Date is a fault of that row, not of the whole file. */
  #unfit(value: unknown): Message[] {
    try {
      checkArgs([value], this.#schema ? 'validate' : 'row')
      return []
    } catch (thrown) {
      return [{ at: this.#now(), code: 'failed', params: { text: messageOf(thrown) } }]
    }
  }
}

function problem({ message, path }: StandardSchemaV1.Issue, at: number): Message {
  const field = path?.map((part) => String(typeof part === 'object' ? part.key : part)).join('.')
  return { at, code: 'failed', params: { text: message, ...(field ? { field } : {}) } }
}
