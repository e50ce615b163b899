/** Deferred attempts: rows that wait, with or without a job, until they are ended from outside. */

import type { EventState } from '../../sql/task-row.ts'
import { Tables } from '../server/database.ts'
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
  async find(task: TaskRow, { idx, run }: EventState): Promise<DeferralRow | undefined> {
    const found = await this.db.first<DeferralRow>(sql.deferral.find, task.key, idx)
    return found?.run === run ? found : undefined
  }

  /** Returns whether the row was ended from outside in its present run. */
  async hasEnded(task: TaskRow, event: EventState): Promise<boolean> {
    return (await this.find(task, event))?.state === ENDED
  }

  async put(task: TaskRow, { idx, run }: EventState, attempt: number, ends: number): Promise<void> {
    await this.#leaveParked(task, idx)
    await this.db.run(sql.deferral.put, task.key, idx, run, attempt, ends)
  }

  /** The handler of the row's attempt has returned. Returns whether the row was not parked before. */
  async park(task: TaskRow, { idx, run, step }: EventState): Promise<boolean> {
    if ((await this.db.run(sql.deferral.park, task.key, idx, run, step >> 1)) === 0) return false
    task.deferred++
    return true
  }

  async end(task: TaskRow, { idx }: EventState): Promise<void> {
    await this.#leaveParked(task, idx)
    await this.db.run(sql.deferral.end, task.key, idx)
  }

  /** Drops the deadline of a row that is not in its deferred attempt any more. The row can still be ended from outside. */
  async dropDeadline(task: TaskRow, { idx }: EventState): Promise<void> {
    await this.#leaveParked(task, idx)
    await this.db.run(sql.deferral.dropDeadline, task.key, idx)
  }

  /** Returns the deadlines of those rows that are parked, by index. */
  async parked(task: TaskRow, rows: readonly { idx: number; run?: number }[]): Promise<Map<number, number>> {
    if (task.deferred === 0) return new Map()
    const indexes = rows.map(({ idx }) => idx)
    const found = await this.db.all<{ idx: number; ends: number | null }>(sql.deferral.parked, task.key, indexes)
    return new Map(found.map(({ idx, ends }) => [idx, ends ?? 0]))
  }

  async #leaveParked(task: TaskRow, idx: number): Promise<void> {
    // No row of the task is parked.
    if (task.deferred === 0) return
    if ((await this.db.first<DeferralRow>(sql.deferral.find, task.key, idx))?.state === PARKED) task.deferred--
  }
}
