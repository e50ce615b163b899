/** The rows that a task rejected, as a file that can be corrected. */

import { parseJson, stringifyJson } from '../job/json.ts'
import type { EventRecord, TaskRecord } from '../store/contract.ts'
import { paramsOf } from './event.ts'
import { wordsOf } from './words.ts'

/** What stands behind a row's own columns. */
const REASONS = ['row', 'row key', 'status', 'code', 'messages', 'attempts']

/** What `meta` of a task says about where its rows came from. */
export interface TaskMeta {
  /** The columns of an imported file, in order. */
  columns?: string[]
  source?: string
  /** The file that an export makes. */
  export?: { format: 'csv' | 'xlsx' | 'ndjson'; columns?: string[]; dir?: string }
}

export async function writeReport(
  path: string,
  task: TaskRecord,
  events: AsyncIterable<EventRecord>,
): Promise<{ rows: number }> {
  const { columns } = JSON.parse(task.meta) as TaskMeta
  const header = [...(columns ?? ['arguments']), ...REASONS]
  const { writeSheet } = await import('./sheet/sheet.ts')
  return writeSheet(path, { header, rows: reportRows(events, columns) })
}

async function* reportRows(events: AsyncIterable<EventRecord>, columns: string[] | undefined) {
  for await (const event of events) {
    const reasons = cut(event.messages.map(wordsOf).join('\n'))
    yield [
      ...cells(event, columns),
      event.number ?? '',
      event.index,
      event.status,
      event.code ?? '',
      reasons,
      event.attempts,
    ]
  }
}

function cells(event: EventRecord, columns: string[] | undefined): unknown[] {
  const params = paramsOf(event)
  if (!columns) return [params === null ? '' : stringifyJson(params)]
  const row = (event.source === null ? params?.[0] : parseJson(event.source)) as Record<string, unknown> | undefined
  return columns.map((column) => row?.[column] ?? '')
}

/** A cell of a workbook holds 32,767 characters. */
const CELL_CHARACTERS = 32_000

function cut(text: string): string {
  return text.length <= CELL_CHARACTERS ? text : `${text.slice(0, CELL_CHARACTERS)}… (cut)`
}
