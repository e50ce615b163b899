/** Reads and checks a file without importing it. */

import { HighkiqError } from '../job/errors.ts'
import type { OpenImport } from './import.ts'
import { messageText } from './messages.ts'
import type { FileFormat } from './spreadsheet/file.ts'

export interface DryRun {
  format: FileFormat
  /** The file's columns in order; null for NDJSON. */
  columns: string[] | null
  /** The encoding of its text; null for a workbook. */
  encoding: string | null
  /** False if the last of `problems` ended the reading. */
  complete: boolean
  /** The rows that were read: `valid` ones would become jobs, `invalid` ones would be refused at once. */
  total: number
  valid: number
  invalid: number
  /** The first 100 problems of rows, and the one that ended the reading. */
  problems: DryRunProblem[]
  /** What the handler would get for the first 10 valid rows. */
  preview: { row: number; value: unknown }[]
}

export interface DryRunProblem {
  /** The number of the row in the file; null if it is not known. */
  row: number | null
  code: string
  message: string
  /** The error that ended the reading. It is not enumerable, so it is in no JSON. */
  error?: HighkiqError
}

const PROBLEMS = 100
const PREVIEW = 10

/** Reads and checks the whole file. @throws every error that is not a fault of the file */
export async function dryRun({ format, header, encoding, rows }: OpenImport): Promise<DryRun> {
  const counts = { total: 0, valid: 0, invalid: 0 }
  const columns = header ?? null
  const run: DryRun = { format, columns, encoding: null, complete: false, ...counts, problems: [], preview: [] }
  try {
    for await (const { args, number = 0, rejected } of rows) {
      run.total++
      if (!rejected) {
        run.valid++
        if (run.preview.length < PREVIEW) run.preview.push({ row: number, value: args[0] })
        continue
      }
      run.invalid++
      for (const message of rejected.messages) {
        if (run.problems.length === PROBLEMS) break
        run.problems.push({ row: number, code: rejected.code ?? rejected.status, message: messageText(message) })
      }
    }
    run.complete = true
  } catch (thrown) {
    if (!(thrown instanceof HighkiqError) || thrown.code === 'VALIDATE_FAILED') throw thrown
    const { row } = (thrown.details ?? {}) as { row?: number }
    const problem = { row: row ?? null, code: thrown.code, message: thrown.message }
    run.problems.push(Object.defineProperty(problem, 'error', { value: thrown }))
  }
  run.encoding = encoding() ?? null
  return run
}
