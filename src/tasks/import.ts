/** A file as a tracked task: one row, one job; the handler gets the row as an object by header. */

import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { Message } from '../store/contract.ts'
import type { Row } from './create.ts'
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
  // Loaded when there is something to read: who only pushes jobs need not wait for it.
  const { readSheet } = await import('./sheet/sheet.ts')
  const sheet = await readSheet(source, options)
  return { columns: sheet.header, rows: rowsOf(sheet, validate, now) }
}

async function* rowsOf(sheet: Sheet, schema: StandardSchemaV1 | undefined, now: () => number): AsyncGenerator<Row> {
  for await (const { number, values } of sheet.rows) {
    const row: Record<string, unknown> = {}
    for (const [i, column] of sheet.header.entries()) row[column] = values[i] ?? ''
    if (!schema) {
      yield { args: [row], number }
      continue
    }
    const checked = await schema['~standard'].validate(row)
    if (checked.issues) {
      const messages = checked.issues.map((issue) => problem(issue, now()))
      yield { args: [row], number, rejected: { status: 'failed', code: 'invalid', messages } }
    } else {
      yield { args: [checked.value], number }
    }
  }
}

function problem({ message, path }: StandardSchemaV1.Issue, at: number): Message {
  const field = path?.map((part) => String(typeof part === 'object' ? part.key : part)).join('.')
  return { at, code: 'failed', params: { text: message, ...(field ? { field } : {}) } }
}
