/** Reads the parts of a sealed task. A cursor is `r` (rows), `b` (backlog) or `f` (files), and after which of them to continue. */

import { countWithin, type MovedRow, TASK_PART_LENGTH, TASK_PART_ROWS, type TaskPart } from '../../contract.ts'
import { BACKLOG, NEVER_QUEUED, STATUS_NAME } from '../../sql/task-row.ts'
import type { Database } from '../server/database.ts'
import { sql } from '../sql.generated.ts'
import type { EventRow, MessageRow } from './events.ts'

interface DeferralRow {
  idx: number
  run: number
  attempt: number
  state: number
  ends: number | null
}

export const DEFERRALS = ['begun', 'parked', 'ended'] as const
export const EMPTY: TaskPart = { task: null, rows: [], backlog: [], files: [], next: null }

export async function readTaskPart(db: Database, key: number, cursor: string): Promise<TaskPart> {
  const after = Number(cursor.slice(1))
  if (cursor.startsWith('r')) return await rowsAfter(db, key, after)
  if (cursor.startsWith('b')) return await backlogAfter(db, key, after)
  const file = await db.first<{ idx: number; bytes: Uint8Array }>(sql.moving.file, key, after)
  if (!file) return EMPTY
  return { ...EMPTY, files: [{ index: file.idx, bytes: new Uint8Array(file.bytes) }], next: `f${file.idx}` }
}

async function rowsAfter(db: Database, key: number, after: number): Promise<TaskPart> {
  const read = await db.all<EventRow>(sql.event.page, key, after, TASK_PART_ROWS)
  const lengths = read.map(({ args, source }) => (args?.length ?? 0) + (source?.length ?? 0))
  const some = read.slice(0, countWithin(lengths, TASK_PART_LENGTH))
  const last = some.at(-1)
  if (!last) return { ...EMPTY, next: `b${-(2 ** 50)}` }
  return { ...EMPTY, rows: await movedRows(db, key, some, last.idx), next: `r${last.idx}` }
}

async function movedRows(db: Database, key: number, rows: readonly EventRow[], last: number): Promise<MovedRow[]> {
  const messages = new Map<number, MovedRow['messages']>()
  const indexes = rows.map(({ idx }) => idx)
  for (const { idx, n, at, code, params } of await db.all<MessageRow>(sql.event.messages, key, indexes)) {
    const one = { n, message: { at, code, params: JSON.parse(params) as Record<string, unknown> } }
    messages.set(idx, [...(messages.get(idx) ?? []), one])
  }
  const found = await db.all<DeferralRow>(sql.moving.deferrals, key, rows[0]?.idx ?? 0, last)
  const deferrals = new Map(found.map((one) => [one.idx, one]))
  const names = rows.map(({ idx }) => `row:${idx}`)
  const adders = await db.all<{ name: string; cursor: number }>(sql.moving.adders, key, names)
  const added = new Map(adders.map(({ name, cursor }) => [name, cursor]))
  return rows.map((row) => {
    const deferral = deferrals.get(row.idx)
    return {
      index: row.idx,
      status: STATUS_NAME[row.status] as MovedRow['status'],
      location: row.location === NEVER_QUEUED ? 'new' : row.location === BACKLOG ? 'backlog' : 'elsewhere',
      run: row.run,
      step: row.step,
      number: row.number,
      job: row.job,
      code: row.code,
      startedAt: row.started_at,
      finishedAt: row.finished_at,
      args: row.args,
      source: row.source,
      result: row.result,
      messages: messages.get(row.idx) ?? [],
      deferral: deferral
        ? {
            run: deferral.run,
            attempt: deferral.attempt,
            state: DEFERRALS[deferral.state] as (typeof DEFERRALS)[number],
            ends: deferral.ends,
          }
        : null,
      added: added.get(`row:${row.idx}`) ?? null,
    }
  })
}

async function backlogAfter(db: Database, key: number, after: number): Promise<TaskPart> {
  const rows = await db.all<{ position: number; idx: number; run: number; text: string | null }>(
    sql.moving.backlog,
    key,
    after,
    TASK_PART_ROWS,
  )
  const last = rows.at(-1)
  if (!last) return { ...EMPTY, next: 'f-1' }
  return { ...EMPTY, backlog: rows.map(({ idx, run, text }) => ({ index: idx, run, text })), next: `b${last.position}` }
}
