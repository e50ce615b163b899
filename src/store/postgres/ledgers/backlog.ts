/** The backlogs of tasks. */

import { rowMembers } from '../../../job/payload.ts'
import { baseQueue } from '../../../job/priority.ts'
import { BEHIND, type FreshRow, mostFresh, type NextJob, nextJobs, type ReturnedRow } from '../../sql/next-jobs.ts'
import { ELSEWHERE, WINDOW } from '../../sql/task-row.ts'
import { priorityOffset } from '../queues/queues.ts'
import { Tables } from '../server/database.ts'
import { sql } from '../sql.generated.ts'
import type { TaskLedger } from './task-ledger.ts'
import type { TaskRow } from './task-row.ts'

export class Backlog extends Tables {
  /** Stores the new positions of rows: at the front with their texts, at the back, or none. */
  async savePositions(ledgers: readonly TaskLedger[]): Promise<void> {
    const all = ledgers.flatMap(({ task, positions }) =>
      Array.from(positions, ([idx, position]) => ({ task, idx, position })),
    )
    if (all.length === 0) return
    const front = all.filter(({ position }) => position && position.text !== null)
    const back = all.filter(({ position }) => position && position.text === null)
    const keysOf = (some: typeof all) => some.map(({ task }) => task.key)
    const indexesOf = (some: typeof all) => some.map(({ idx }) => idx)
    await this.db.run(sql.backlog.remove, keysOf(all), indexesOf(all))
    if (front.length > 0) {
      const texts = front.map(({ position }) => position?.text ?? null)
      await this.db.run(sql.backlog.front, keysOf(front), indexesOf(front), texts)
    }
    if (back.length > 0) {
      const least = back.map(({ task }) => task.total * BEHIND)
      await this.db.run(sql.backlog.back, keysOf(back), indexesOf(back), least)
    }
    for (const { positions } of ledgers) positions.clear()
  }

  /** Moves the next rows into the queue with one statement. Returns false if they are not just arguments and a job each. */
  async issueBare(task: TaskRow, room: number, now: number): Promise<boolean> {
    if (task.rows_per_job !== null) return false
    const { beforeArgs, beforeIndex, beforeRun, end } = rowMembers({ template: task.template, task: task.id, now })
    const queue = baseQueue(task.queue)
    const issued = await this.db.first<{ n: number; last: number }>(
      sql.backlog.issue,
      task.key,
      task.next,
      room,
      queue,
      priorityOffset(task.queue),
      beforeArgs,
      beforeIndex,
      beforeRun,
      end,
    )
    if (!issued) return false
    const { n, last } = issued
    this.db.notify(queue)
    task.backlog -= n
    task.in_window += n
    task.next = n < room ? task.total : last + 1
    return true
  }

  /** Removes the next rows from the backlog, and returns them as at most `room` jobs. */
  async issue(task: TaskRow, room: number, now: number): Promise<NextJob[]> {
    const returned = await this.db.all<ReturnedRow>(sql.backlog.first, task.key, room)
    const fresh = await this.db.all<FreshRow>(sql.event.neverQueued, task.key, task.next, mostFresh(task, room))
    const jobs = nextJobs(task, { returned, fresh }, room, now)
    await this.#relocate(task, jobs)
    return jobs
  }

  /** Removes rows from their positions in the backlog, and stores where they are: in the window, or in the job of another row. */
  async #relocate({ key }: TaskRow, jobs: readonly NextJob[]): Promise<void> {
    const returned = jobs.filter(({ isFresh }) => !isFresh).map(({ idx }) => idx)
    const others = jobs.flatMap((job) => job.others)
    if (returned.length + others.length === 0) return
    if (returned.length > 0) await this.db.run(sql.backlog.remove, Array(returned.length).fill(key), returned)
    const locations = [...returned.map(() => WINDOW), ...others.map(() => ELSEWHERE)]
    await this.db.run(sql.backlog.locate, key, [...returned, ...others], locations)
  }
}
