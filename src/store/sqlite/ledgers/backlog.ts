/** The backlogs of tasks: which rows enter the queue next, and as which jobs. */

import { completeRow, rowMembers } from '../../../job/payload.ts'
import { completeRows, MOST_ROWS_BYTES } from '../../../job/rows.ts'
import { Tables } from '../file/database.ts'
import type { Queues } from '../queues/queues.ts'
import { sql } from '../sql.generated.ts'
import type { TaskRow } from './task-row.ts'

/** The position of a row that was put back for another run is (total << 20) + a number, between the rows of the task. */
export const BEHIND = 2 ** 20
/** The most rows that one step reads if several rows become one job. */
const MOST_AT_ONCE = 10_000

interface Issued {
  idx: number
  text: string
  /** Whether the row was never in the queue before. */
  isFresh: boolean
  /** The other rows of the same job, which do not count in the window. */
  others: number[]
}

/** A summary of the next rows that were never in the queue. */
interface Next {
  n: number
  first: number
  last: number
  bare: number
  others: 0 | 1
}

interface Fresh {
  idx: number
  run: number
  args: string
}

interface Returned {
  position: number
  idx: number
  text: string | null
  run: number
  args: string | null
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
  issue(task: TaskRow, room: number, now: number, runOf: (index: number) => number | undefined): Issued[] {
    const put = this.db.all<Returned>(sql.backlog.first, task.key, room)
    const most =
      task.rows_per_job === null
        ? room
        : task.rows_per_job * Math.min(room, Math.ceil(MOST_AT_ONCE / task.rows_per_job))
    const fresh = this.db.all<Fresh>(sql.event.neverQueued, task.key, task.next, most)
    const seenAll = fresh.length < most
    const issued: Issued[] = []
    let i = 0
    let j = 0
    while (issued.length < room) {
      const returned = put[i]
      const row = fresh[j]
      if (!row && !seenAll && !(returned && returned.position < 0)) break
      const first = returned && (!row || returned.position < 0 || row.idx >= Math.floor(returned.position / BEHIND))
      if (first) {
        i++
        this.remove(task, returned.idx)
        const { idx, text, args } = returned
        const run = runOf(idx) ?? returned.run
        const made = text ?? this.#complete(task, [{ idx, run, args: args as string }], now)
        issued.push({ idx, text: made, isFresh: false, others: [] })
      } else if (row) {
        const end = returned ? Math.floor(returned.position / BEHIND) : Number.POSITIVE_INFINITY
        const group = groupOf(task, fresh, j, end)
        // The group may have more rows than were read; then the next step reads all of it.
        const isCutOff = j > 0 && j + group.length === fresh.length && group.length < (task.rows_per_job ?? 1)
        if (isCutOff && !seenAll) break
        j += group.length
        const others = group.slice(1).map(({ idx }) => idx)
        task.next = (others.at(-1) ?? row.idx) + 1
        issued.push({ idx: row.idx, text: this.#complete(task, group, now), isFresh: true, others })
      } else {
        break
      }
    }
    // All rows were read, so no later step need read them.
    if (seenAll && j === fresh.length) task.next = task.total
    return issued
  }

  #complete({ id, template, rows_per_job }: TaskRow, group: readonly Fresh[], now: number): string {
    const { idx, run, args } = group[0] as Fresh
    if (rows_per_job === null || isWhole(args)) return completeRow({ template, args, task: id, index: idx, run, now })
    const rows = group.map((row) => ({ index: row.idx, args: row.args }))
    return completeRows({ template, rows, task: id, run, now })
  }
}

/** Returns the rows from `from` on that become one job. */
function groupOf({ rows_per_job }: TaskRow, fresh: readonly Fresh[], from: number, end: number): Fresh[] {
  const first = fresh[from] as Fresh
  const group = [first]
  let bytes = Buffer.byteLength(first.args)
  while (group.length < (isWhole(first.args) ? 1 : (rows_per_job ?? 1))) {
    const row = fresh[from + group.length]
    if (!row || row.idx >= end || row.run !== first.run || isWhole(row.args)) break
    bytes += Buffer.byteLength(row.args)
    if (bytes > MOST_ROWS_BYTES) break
    group.push(row)
  }
  return group
}

/** Returns whether the arguments are a whole payload. */
function isWhole(args: string): boolean {
  return args.startsWith('{')
}
