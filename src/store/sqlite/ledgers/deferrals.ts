/** Deferred attempts: rows that wait, with or without a job, until they are ended from outside. */

import type { EventState } from '../../sql/task-row.ts'
import { Tables } from '../file/database.ts'
import { sql } from '../sql.generated.ts'
import type { TaskRow } from './task-row.ts'

/** The values of `deferral.state`. */
const PARKED = 1
const ENDED = 2

interface DeferralRow {
  run: number
  attempt: number
  state: number
  /** null: the deadline need not be checked any more. */
  ends: number | null
}

export class Deferrals extends Tables {
  /** Returns the deferral of a row in its present run. */
  find(task: TaskRow, { idx, run }: EventState): DeferralRow | undefined {
    const found = this.db.first<DeferralRow>(sql.deferral.find, task.key, idx)
    return found?.run === run ? found : undefined
  }

  /** Returns whether the row was ended from outside in its present run. */
  hasEnded(task: TaskRow, event: EventState): boolean {
    return this.find(task, event)?.state === ENDED
  }

  put(task: TaskRow, { idx, run }: EventState, attempt: number, ends: number): void {
    this.#leaveParked(task, idx)
    this.db.run(sql.deferral.put, task.key, idx, run, attempt, ends)
  }

  /** The handler of the row's attempt has returned. Returns whether the row was not parked before. */
  park(task: TaskRow, event: EventState): boolean {
    const found = this.find(task, event)
    if (found?.state !== 0 || found.attempt !== event.step >> 1) return false
    this.db.run(sql.deferral.park, task.key, event.idx)
    task.deferred++
    return true
  }

  end(task: TaskRow, { idx }: EventState): void {
    this.#leaveParked(task, idx)
    this.db.run(sql.deferral.end, task.key, idx)
  }

  /** Drops the deadline of a row that is not in its deferred attempt any more. The row can still be ended from outside. */
  dropDeadline(task: TaskRow, { idx }: EventState): void {
    this.#leaveParked(task, idx)
    this.db.run(sql.deferral.dropDeadline, task.key, idx)
  }

  /** Returns the deadlines of those rows that are parked, by index. */
  parked(task: TaskRow, rows: readonly { idx: number; run?: number }[]): Map<number, number> {
    if (task.deferred === 0) return new Map()
    const indexes = JSON.stringify(rows.map(({ idx }) => idx))
    const found = this.db.all<{ idx: number; ends: number | null }>(sql.deferral.parked, task.key, indexes)
    return new Map(found.map(({ idx, ends }) => [idx, ends ?? 0]))
  }

  #leaveParked(task: TaskRow, idx: number): void {
    if (this.db.first<DeferralRow>(sql.deferral.find, task.key, idx)?.state === PARKED) task.deferred--
  }
}
