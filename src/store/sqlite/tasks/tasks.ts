/** Tracked tasks: making, finding and deleting them, and what they make. */

import { memberText } from '../../../job/json.ts'
import {
  dueOf,
  EVENT_STATUSES,
  isInAttempt,
  type PushItem,
  type Store,
  type TaskRecord,
  type TaskSpec,
} from '../../contract.ts'
import type { Database } from '../database.ts'
import type { Sets } from '../sets.ts'
import { sql } from '../sql.generated.ts'
import { Adding } from './adding.ts'
import { Events } from './events.ts'
import { ELSEWHERE, eventsOf, OPEN, PLACED, recordOf, STATUS_CODE, type TaskRow, written } from './row.ts'
import { Runs } from './runs.ts'

const KEEP_MS = 30 * 86_400_000
const UNKNOWN_AFTER_MS = 3_600_000
/** Parts are large: no more of them go in one step. */
const PARTS = 20

export class Tasks {
  readonly #db: Database
  readonly adding: Adding
  readonly runs: Runs
  readonly events: Events

  constructor(db: Database, sets: Sets) {
    this.#db = db
    this.adding = new Adding(db)
    this.runs = new Runs(db, this.adding, sets)
    this.events = new Events(db)
  }

  create(task: TaskSpec): boolean {
    const key = this.#insert(task, 'adding')
    if (key !== undefined) this.#db.run(sql.adder.enter, key, task.producer, 0, OPEN, 0)
    return key !== undefined
  }

  /** A task of one row, whose job is on its way already; false when it is there. */
  createSingle(task: TaskSpec, item: PushItem): boolean {
    const { to, text } = item
    const key = this.#insert(task, 'running')
    if (key === undefined) return false
    const due = dueOf(task, item)
    if (due !== null) this.#db.run(sql.task.setDue, due, key)
    const args = memberText(text, 'args') ?? text
    const place = to === 'queue' ? PLACED : ELSEWHERE
    const event = [0, STATUS_CODE.enqueued, place, 1, 1, null, null, null, null, args.toWellFormed(), null]
    this.#db.run(sql.event.add, key, JSON.stringify([event]))
    const placed = place === PLACED ? 1 : 0
    this.#db.run(sql.task.save, 'running', 1, 1, 0, placed, 1, 0, 0, 0, 0, 0, null, null, null, key)
    return true
  }

  find(id: string): TaskRecord | null {
    const row = this.#db.first<TaskRow>(sql.task.load, id)
    return row ? recordOf(row) : null
  }

  list({ before, limit }: { before?: { createdAt: number; id: string }; limit: number }): TaskRecord[] {
    const rows = before
      ? this.#db.all<TaskRow>(sql.task.older, before.createdAt, before.id, limit)
      : this.#db.all<TaskRow>(sql.task.newest, limit)
    return rows.map(recordOf)
  }

  expired(now: number, limit: number): string[] {
    return this.#db.all<{ id: string }>(sql.task.expired, now, limit).map(({ id }) => id)
  }

  cancelling(limit: number): string[] {
    return this.#db.all<{ id: string }>(sql.task.cancelling, limit).map(({ id }) => id)
  }

  idle(
    before: number,
    { after = '0', limit }: { after?: string | undefined; limit: number },
  ): { tasks: TaskRecord[]; next: string | null } {
    const from = Number(after)
    const { n, last } = this.#db.first(sql.task.openFrom, from, limit) as { n: number; last: number | null }
    if (last === null) return { tasks: [], next: null }
    const tasks = this.#db.all<TaskRow>(sql.task.idle, from, last, before).map(recordOf)
    return { tasks, next: n === limit ? String(last) : null }
  }

  /** Removes about `most` rows. True: nothing is left. */
  delete(id: string, most: number): boolean {
    const key = this.#db.first<{ key: number }>(sql.task.doom, id)?.key
    if (key === undefined) return true
    const { dropEvents, dropMessages, dropBacklog, dropAdders, dropReasons, dropParts } = sql.task
    let left = most
    for (const drop of [dropMessages, dropBacklog, dropAdders, dropReasons, dropParts, dropEvents]) {
      const some = drop === dropParts ? Math.min(left, PARTS) : left
      const gone = this.#db.all(drop, key, some).length
      left -= gone
      if (gone === some) return false
    }
    this.#db.run(sql.task.drop, key)
    return true
  }

  putPart(
    ...[id, index, bytes, most, by]: Parameters<Store['tasks']['putPart']>
  ): Awaited<ReturnType<Store['tasks']['putPart']>> {
    const task = this.#db.first<{ key: number; bytes: number }>(sql.task.size, id)
    if (!task) return 'unknown'
    if (by) {
      const event = eventsOf(this.#db, task.key, [index])[0]
      const status = event && EVENT_STATUSES[event.status]
      if (!status || !isInAttempt({ ...event, status, attempts: event.step >> 1 }, by)) return 'stale'
    }
    const before = this.#db.first<{ bytes: number }>(sql.task.partSize, task.key, index)?.bytes ?? 0
    const grown = bytes.length - before
    if (task.bytes + grown > most) return 'full'
    this.#db.run(sql.task.putPart, task.key, index, bytes)
    this.#db.run(sql.task.resize, grown, task.key)
    return 'ok'
  }

  part(id: string, index: number): Uint8Array | null {
    // One driver answers an array, the other a buffer.
    const row = this.#db.first<{ bytes: Uint8Array | ArrayBuffer }>(sql.task.part, id, index)
    return row ? new Uint8Array(row.bytes) : null
  }

  #insert(task: TaskSpec, state: 'adding' | 'running'): number | undefined {
    const row = this.#db.first<{ key: number }>(
      sql.task.create,
      task.id,
      task.name,
      task.job,
      task.queue,
      task.template,
      task.window,
      task.keepArgs,
      task.meta,
      state,
      task.createdAt,
      written(task.maxFailures),
      task.onMaxFailures ?? 'pause',
      written(task.onDone),
      written(task.onFailure),
      task.keep ?? KEEP_MS,
      task.lostAfter ?? UNKNOWN_AFTER_MS,
      task.single ? 1 : 0,
      state === 'adding' ? 1 : 0,
      task.producer,
      task.rowsPerJob ?? null,
    )
    return row?.key
  }
}
