/** The backlogs of tasks. */

import { rowMembers } from '../../../job/payload.ts'
import { BEHIND, type FreshRow, mostFresh, type NextJob, nextJobs, type ReturnedRow } from '../../sql/next-jobs.ts'
import { Tables } from '../file/database.ts'
import type { Queues } from '../queues/queues.ts'
import { sql } from '../sql.generated.ts'
import type { TaskRow } from './task-row.ts'

/** A summary of the next rows that were never in the queue. */
interface Next {
  n: number
  first: number
  last: number
  bare: number
  others: 0 | 1
}

export class Backlog extends Tables {
  /** Adds a row at the front, with its text. */
  putFront(task: TaskRow, index: number, text: string): void {
    this.db.run(sql.backlog.front, task.key, index, text.toWellFormed())
    task.backlog++
  }

  /** Adds a row at the back, for another run. Its text is made when it enters the queue. */
  putBack(task: TaskRow, index: number): void {
    this.db.run(sql.backlog.back, task.key, index, task.total * BEHIND)
    task.backlog++
  }

  remove(task: TaskRow, index: number): void {
    this.db.run(sql.backlog.remove, task.key, index)
  }

  /** Moves the next rows into the queue with one statement. Returns false if they are not just arguments and a job each. */
  issueBare(task: TaskRow, room: number, now: number, queues: Queues): boolean {
    if (task.rows_per_job !== null) return false
    const next = this.db.first<Next>(sql.backlog.next, task.key, task.next, room)
    if (!next || next.n === 0 || next.others === 1 || next.bare !== next.n) return false
    const { n, first, last } = next
    const { id, position } = queues.openBack(task.queue, n, last - first + 1)
    const { beforeArgs, beforeIndex, beforeRun, end } = rowMembers({ template: task.template, task: task.id, now })
    const parts = [beforeArgs, beforeIndex, beforeRun, end] as const
    this.db.run(sql.backlog.issue, task.key, first, last, id, position, ...parts)
    task.backlog -= n
    task.in_window += n
    task.next = n < room ? task.total : last + 1
    return true
  }

  /** Removes the next rows from the backlog, and returns them as at most `room` jobs. `runOf` returns runs that are not written yet. */
  issue(task: TaskRow, room: number, now: number, runOf: (index: number) => number | undefined): NextJob[] {
    const put = this.db.all<ReturnedRow>(sql.backlog.first, task.key, room)
    const returned = put.map((row) => ({ ...row, run: runOf(row.idx) ?? row.run }))
    const fresh = this.db.all<FreshRow>(sql.event.neverQueued, task.key, task.next, mostFresh(task, room))
    const jobs = nextJobs(task, { returned, fresh }, room, now)
    for (const { idx, isFresh } of jobs) if (!isFresh) this.remove(task, idx)
    return jobs
  }
}
