/** Reads the parts of a sealed task. A cursor is `r` (rows), `b` (backlog) or `f` (files), and after which of them to continue. */

import { countWithin, TASK_PART_LENGTH, TASK_PART_ROWS, type TaskPart } from '../../contract.ts'
import { type DeferralRow, EMPTY_PART, type MessageRow, movedRows } from '../../sql/moved-task.ts'
import { rowName } from '../../sql/producer.ts'
import type { EventRow } from '../../sql/task-row.ts'
import type { Database } from '../file/database.ts'
import { sql } from '../sql.generated.ts'

export function readTaskPart(db: Database, key: number, cursor: string): TaskPart {
  const after = Number(cursor.slice(1))
  if (cursor.startsWith('r')) return rowsAfter(db, key, after)
  if (cursor.startsWith('b')) return backlogAfter(db, key, after)
  const file = db.first<{ idx: number; bytes: Uint8Array | ArrayBuffer }>(sql.moving.file, key, after)
  if (!file) return EMPTY_PART
  return { ...EMPTY_PART, files: [{ index: file.idx, bytes: new Uint8Array(file.bytes) }], next: `f${file.idx}` }
}

function rowsAfter(db: Database, key: number, after: number): TaskPart {
  const read = db.all<EventRow>(sql.event.page, key, after, TASK_PART_ROWS)
  const lengths = read.map(({ args, source }) => (args?.length ?? 0) + (source?.length ?? 0))
  const some = read.slice(0, countWithin(lengths, TASK_PART_LENGTH))
  const last = some.at(-1)
  if (!last) return { ...EMPTY_PART, next: `b${-(2 ** 50)}` }
  const range = [key, some[0]?.idx ?? 0, last.idx] as const
  const rows = movedRows(
    some,
    db.all<MessageRow>(sql.moving.messages, ...range),
    db.all<DeferralRow>(sql.moving.deferrals, ...range),
    db.all<{ name: string; cursor: number }>(
      sql.moving.adders,
      key,
      JSON.stringify(some.map(({ idx }) => rowName(idx))),
    ),
  )
  return { ...EMPTY_PART, rows, next: `r${last.idx}` }
}

function backlogAfter(db: Database, key: number, after: number): TaskPart {
  const rows = db.all<{ position: number; idx: number; run: number; text: string | null }>(
    sql.moving.backlog,
    key,
    after,
    TASK_PART_ROWS,
  )
  const last = rows.at(-1)
  if (!last) return { ...EMPTY_PART, next: 'f-1' }
  return {
    ...EMPTY_PART,
    backlog: rows.map(({ idx, run, text }) => ({ index: idx, run, text })),
    next: `b${last.position}`,
  }
}
