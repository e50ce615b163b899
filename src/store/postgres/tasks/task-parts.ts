/** Reads the parts of a sealed task. A cursor is `r` (rows), `b` (backlog) or `f` (files), and after which of them to continue. */

import { countWithin, TASK_PART_LENGTH, TASK_PART_ROWS, type TaskPart } from '../../contract.ts'
import { type DeferralRow, EMPTY_PART, type MessageRow, movedRows } from '../../sql/moved-task.ts'
import { rowName } from '../../sql/producer.ts'
import type { EventRow } from '../../sql/task-row.ts'
import type { Database } from '../server/database.ts'
import { sql } from '../sql.generated.ts'

export async function readTaskPart(db: Database, key: number, cursor: string): Promise<TaskPart> {
  const after = Number(cursor.slice(1))
  if (cursor.startsWith('r')) return await rowsAfter(db, key, after)
  if (cursor.startsWith('b')) return await backlogAfter(db, key, after)
  const file = await db.first<{ idx: number; bytes: Uint8Array }>(sql.moving.file, key, after)
  if (!file) return EMPTY_PART
  return { ...EMPTY_PART, files: [{ index: file.idx, bytes: new Uint8Array(file.bytes) }], next: `f${file.idx}` }
}

async function rowsAfter(db: Database, key: number, after: number): Promise<TaskPart> {
  const read = await db.all<EventRow>(sql.event.page, key, after, TASK_PART_ROWS)
  const lengths = read.map(({ args, source }) => (args?.length ?? 0) + (source?.length ?? 0))
  const some = read.slice(0, countWithin(lengths, TASK_PART_LENGTH))
  const last = some.at(-1)
  if (!last) return { ...EMPTY_PART, next: `b${-(2 ** 50)}` }
  const indexes = some.map(({ idx }) => idx)
  const rows = movedRows(
    some,
    await db.all<MessageRow>(sql.event.messages, key, indexes),
    await db.all<DeferralRow>(sql.moving.deferrals, key, some[0]?.idx ?? 0, last.idx),
    await db.all<{ name: string; cursor: number }>(sql.moving.rowProducers, key, indexes.map(rowName)),
  )
  return { ...EMPTY_PART, rows, next: `r${last.idx}` }
}

async function backlogAfter(db: Database, key: number, after: number): Promise<TaskPart> {
  const rows = await db.all<{ position: number; idx: number; run: number; text: string | null }>(
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
