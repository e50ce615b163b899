/** Reads and checks a file without importing it. */

import { HighkiqError } from '../job/errors.ts'
import type { Message } from '../store/contract.ts'
import { areAlike } from './columns.ts'
import type { ImportRows, OpenImport } from './import.ts'
import type { Language } from './languages/index.ts'
import { messageText } from './messages.ts'
import { fieldsOf } from './schema-fields.ts'
import type { FileFormat } from './spreadsheet/file.ts'

export interface DryRun {
  format: FileFormat
  /** The encoding of its text; null for a workbook. */
  encoding: string | null
  /** The delimiter of a CSV file; null for others. */
  delimiter: string | null
  /** The sheet of a workbook that was read, and all of its sheets; null for others. */
  sheet: string | null
  sheets: string[] | null
  /** The file's columns in order; null for NDJSON. */
  columns: string[] | null
  /** The fields that the schema takes; an empty list if the schema does not tell them. */
  fields: string[]
  /** How the columns became fields, if `columns` is an object; null: each column has its own name. */
  mapping: Record<string, string> | null
  /** Without `columns`: columns whose names differ from a field only in capitals, spaces and punctuation, with that field. */
  suggested: Record<string, string>
  /** False if the last of `problems` ended the reading. */
  complete: boolean
  /** The rows that were read: `valid` ones would become jobs, `invalid` ones would be refused at once. */
  total: number
  valid: number
  invalid: number
  /** The first 100 problems of rows, and the one that ended the reading. */
  problems: DryRunProblem[]
  /** All problems of rows, counted; the most frequent first. */
  groups: ProblemGroup[]
  /** What the handler would get for the first 10 valid rows. */
  preview: { row: number; value: unknown }[]
  /** The first 10 rows as they stand in the file, valid or not. */
  sample: { row: number; values: unknown }[]
}

export interface DryRunProblem {
  /** The number of the row in the file; null if it is not known. */
  row: number | null
  code: string
  message: string
  /** The error that ended the reading. It is not enumerable, so it is in no JSON. */
  error?: HighkiqError
}

/** The problems with one message. After the first 1000 messages: the problems of one code and field. */
export interface ProblemGroup {
  code: string
  /** The field of the row that is wrong; null if it is not known. */
  field: string | null
  /** The message; of several ones the first. */
  message: string
  count: number
  /** The numbers of the first 5 rows. */
  rows: number[]
}

const PROBLEMS = 100
const PREVIEW = 10
const MESSAGES = 1000
const ROWS_OF_GROUP = 5

/** Reads and checks the whole file. @throws every error that is not a fault of the file */
export async function dryRun(
  { format, header, encoding, layout, rows }: OpenImport,
  { validate, columns }: Pick<ImportRows, 'validate' | 'columns'>,
  lang?: Language,
): Promise<DryRun> {
  const { delimiter = null, sheet = null, sheets = null } = layout()
  const fields = fieldsOf(validate)
  const run: DryRun = {
    ...{ format, encoding: null, delimiter, sheet, sheets, columns: header ?? null, fields },
    mapping: columns === undefined || Array.isArray(columns) ? null : (columns as Record<string, string>),
    suggested: columns === undefined ? suggestedFor(header ?? [], fields) : {},
    ...{ complete: false, total: 0, valid: 0, invalid: 0, problems: [], groups: [], preview: [], sample: [] },
  }
  const groups = new ProblemGroups(lang)
  try {
    for await (const { args, source, number = 0, rejected } of rows) {
      run.total++
      if (run.sample.length < PREVIEW) run.sample.push({ row: number, values: source ?? args[0] })
      if (!rejected) {
        run.valid++
        if (run.preview.length < PREVIEW) run.preview.push({ row: number, value: args[0] })
        continue
      }
      run.invalid++
      const code = rejected.code ?? rejected.status
      for (const message of rejected.messages) {
        groups.add(number, code, message)
        if (run.problems.length < PROBLEMS)
          run.problems.push({ row: number, code, message: messageText(message, lang) })
      }
    }
    run.complete = true
  } catch (thrown) {
    if (!(thrown instanceof HighkiqError) || thrown.code === 'VALIDATE_FAILED') throw thrown
    const { row } = (thrown.details ?? {}) as { row?: number }
    const problem = { row: row ?? null, code: thrown.code, message: thrown.message }
    run.problems.push(Object.defineProperty(problem, 'error', { value: thrown }))
  }
  run.groups = groups.byFrequency()
  run.encoding = encoding() ?? null
  return run
}

function suggestedFor(header: readonly string[], fields: readonly string[]): Record<string, string> {
  const suggested: Record<string, string> = {}
  for (const field of fields) {
    const alike = header.includes(field) ? [] : header.filter((name) => areAlike(name, field) && !fields.includes(name))
    const [name] = alike
    if (name !== undefined && alike.length === 1 && !Object.hasOwn(suggested, name)) suggested[name] = field
  }
  return suggested
}

class ProblemGroups {
  readonly #groups = new Map<string, ProblemGroup>()
  readonly #lang: Language | undefined

  constructor(lang: Language | undefined) {
    this.#lang = lang
  }

  add(row: number, code: string, message: Message): void {
    const field = typeof message.params.field === 'string' ? message.params.field : null
    const text = messageText(message, this.#lang)
    const ofMessage = JSON.stringify([code, field, text])
    const isKnown = this.#groups.has(ofMessage) || this.#groups.size < MESSAGES
    const key = isKnown ? ofMessage : JSON.stringify([code, field])
    const group = this.#groups.get(key) ?? { code, field, message: text, count: 0, rows: [] }
    this.#groups.set(key, group)
    group.count++
    if (group.rows.length < ROWS_OF_GROUP && group.rows.at(-1) !== row) group.rows.push(row)
  }

  byFrequency(): ProblemGroup[] {
    return [...this.#groups.values()].sort((a, b) => b.count - a.count)
  }
}
