/** Checks that a file is the one that an interrupted import began to read. */

import { type HighkiqError, invalidFile } from '../job/errors.ts'
import { shown } from '../job/options.ts'
import type { TaskRecord } from '../store/contract.ts'
import type { OpenImport } from './import.ts'
import { metaOf } from './meta.ts'
import { fingerprintOf, type Row, type Rows } from './rows.ts'

/**
 * Checks format and columns.
 * @throws INVALID_FILE when the file has another format or other columns than the task
 */
export function checkSameTable(record: TaskRecord, { format, header }: Pick<OpenImport, 'format' | 'header'>): void {
  const meta = metaOf(record)
  if (meta.format !== undefined && meta.format !== format) {
    throw refused(record, `it is ${format.toUpperCase()} and the task was imported from ${meta.format.toUpperCase()}`)
  }
  const [before, now] = [meta.columns ?? [], header ?? []]
  const at = before.findIndex((name, index) => name !== now[index])
  if (at === -1 && before.length === now.length) return
  const index = at === -1 ? before.length : at
  const [was, is] = [before, now].map((names) => (index < names.length ? shown(names[index]) : 'nothing'))
  throw refused(record, `its column ${index + 1} is ${is} and was ${was}`)
}

/**
 * Returns the rows after the first `count`, which are stored already.
 * @throws INVALID_FILE when the first rows are not the stored ones
 */
export async function* rowsBehind(rows: Rows, count: number, record: TaskRecord): AsyncGenerator<Row> {
  let n = 0
  for await (const row of rows) {
    if (n++ >= count) yield row
    else if (n === count && isOther(row, record)) {
      throw refused(
        record,
        `its row ${row.number} is not the one that was stored last, so rows before it were added, removed or changed`,
      )
    }
  }
  if (n < count && record.lastRow !== null) throw refused(record, `it has ${n} rows and ${count} are stored already`)
}

function isOther(row: Row, { lastRow }: TaskRecord): boolean {
  const is = fingerprintOf(row)
  return is !== undefined && lastRow !== null && is !== lastRow
}

function refused({ id }: TaskRecord, why: string): HighkiqError {
  const message = `task ${id} can't be resumed with this file: ${why}: correct only rows after the stored ones, or import the file as a new task`
  return invalidFile(message)
}
