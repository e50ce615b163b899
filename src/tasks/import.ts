/** A file as a tracked task: one row, one job; the handler gets the row as an object by header. */

import type { StandardSchemaV1 } from '@standard-schema/spec'
import { checkArgs } from '../job/args.ts'
import { HighkiqError, messageOf } from '../job/errors.ts'
import type { Message } from '../store/contract.ts'
import type { Row } from './rows.ts'
import type { ReadSheetOptions, Sheet, Source } from './sheet/sheet.ts'

export interface ImportRows extends ReadSheetOptions {
  /**
   * Checks each row before a job is made of it: any Standard Schema (zod, valibot, …). What it answers is what the
   * handler gets; a row that it refuses is `failed` at once, with code `invalid`.
   */
  validate?: StandardSchemaV1
}

export async function openImport(
  source: Source,
  { validate, ...options }: ImportRows,
  now: () => number,
): Promise<{ columns: string[]; rows: AsyncGenerator<Row> }> {
  if (validate && !('~standard' in validate)) {
    throw new HighkiqError('INVALID_OPTION', 'validate must be a Standard Schema, for instance of zod or valibot')
  }
  // Loaded when there is something to read: who only pushes jobs need not wait for it.
  const { readSheet } = await import('./sheet/sheet.ts')
  const sheet = await readSheet(source, options)
  return { columns: sheet.header, rows: rowsOf(sheet, validate, now) }
}

async function* rowsOf(sheet: Sheet, schema: StandardSchemaV1 | undefined, now: () => number): AsyncGenerator<Row> {
  for await (const { number, values } of sheet.rows) {
    const raw: Record<string, unknown> = {}
    for (const [i, column] of sheet.header.entries()) raw[column] = values[i] ?? ''
    if (!schema) {
      yield { args: [raw], number }
      continue
    }
    const checked = await schema['~standard'].validate(raw)
    const messages = checked.issues ? checked.issues.map((issue) => problem(issue, now())) : unfit(checked.value, now())
    if (messages.length > 0) yield { args: [raw], number, rejected: { status: 'failed', code: 'invalid', messages } }
    else if (!checked.issues) yield { args: [checked.value], number, source: raw }
  }
}

/** What validation made of a row must fit into a job: a NaN or a Date is a fault of that row, not of the whole file. */
function unfit(value: unknown, at: number): Message[] {
  try {
    checkArgs([value], 'validate')
    return []
  } catch (thrown) {
    return [{ at, code: 'failed', params: { text: messageOf(thrown) } }]
  }
}

function problem({ message, path }: StandardSchemaV1.Issue, at: number): Message {
  const field = path?.map((part) => String(typeof part === 'object' ? part.key : part)).join('.')
  return { at, code: 'failed', params: { text: message, ...(field ? { field } : {}) } }
}
