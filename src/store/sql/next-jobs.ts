/** Which rows of a task enter its queue next, and as which jobs, for SQLite and PostgreSQL. */

import { completeRow } from '../../job/payload.ts'
import { completeRows, MOST_ROWS_BYTES } from '../../job/rows.ts'
import type { TaskColumns } from './task-row.ts'

/** The position of a row that was put back for another run is (total << 20) + a number, between the rows of the task. */
export const BEHIND = 2 ** 20
/** The most rows that one step reads if several rows become one job. */
const MOST_AT_ONCE = 10_000

/** A job that enters the queue. `idx` is its row, or the first of its rows. */
export interface NextJob {
  idx: number
  text: string
  /** Whether the row was never in the queue before. */
  isFresh: boolean
  /** The other rows of the same job, which do not count in the window. */
  others: number[]
}

/** A row that was never in the queue. */
export interface FreshRow {
  idx: number
  run: number
  args: string
}

/** A row that was put back into the backlog. */
export interface ReturnedRow {
  position: number
  idx: number
  /** The text of its job; null: it is made of the arguments. */
  text: string | null
  run: number
  args: string | null
}

/** Returns how many fresh rows a step reads to fill `room`. */
export function mostFresh({ rows_per_job }: TaskColumns, room: number): number {
  return rows_per_job === null ? room : rows_per_job * Math.min(room, Math.ceil(MOST_AT_ONCE / rows_per_job))
}

/**
 * Returns the next rows of the backlog as at most `room` jobs, and moves `task.next` past the fresh ones.
 * @param returned the first rows that were put back, in their order
 * @param fresh the first rows that were never in the queue, at most `mostFresh`
 */
export function nextJobs(
  task: TaskColumns,
  { returned: put, fresh }: { returned: readonly ReturnedRow[]; fresh: readonly FreshRow[] },
  room: number,
  now: number,
): NextJob[] {
  const seenAll = fresh.length < mostFresh(task, room)
  const jobs: NextJob[] = []
  let i = 0
  let j = 0
  while (jobs.length < room) {
    const returned = put[i]
    const row = fresh[j]
    if (!row && !seenAll && !(returned && returned.position < 0)) break
    const isFirst = returned && (!row || returned.position < 0 || row.idx >= Math.floor(returned.position / BEHIND))
    if (isFirst) {
      i++
      const { idx, text, run, args } = returned
      const made = text ?? jobOf(task, [{ idx, run, args: args as string }], now)
      jobs.push({ idx, text: made, isFresh: false, others: [] })
    } else if (row) {
      const end = returned ? Math.floor(returned.position / BEHIND) : Number.POSITIVE_INFINITY
      const group = groupOf(task, fresh, j, end)
      // The group may have more rows than were read; then the next step reads all of it.
      const isCutOff = j > 0 && j + group.length === fresh.length && group.length < (task.rows_per_job ?? 1)
      if (isCutOff && !seenAll) break
      j += group.length
      const others = group.slice(1).map(({ idx }) => idx)
      task.next = (others.at(-1) ?? row.idx) + 1
      jobs.push({ idx: row.idx, text: jobOf(task, group, now), isFresh: true, others })
    } else {
      break
    }
  }
  // All rows were read, so no later step need read them.
  if (seenAll && j === fresh.length) task.next = task.total
  return jobs
}

function jobOf({ id, template, rows_per_job }: TaskColumns, group: readonly FreshRow[], now: number): string {
  const { idx, run, args } = group[0] as FreshRow
  if (rows_per_job === null || isWhole(args)) return completeRow({ template, args, task: id, index: idx, run, now })
  const rows = group.map((row) => ({ index: row.idx, args: row.args }))
  return completeRows({ template, rows, task: id, run, now })
}

/** Returns the rows from `from` on that become one job. */
function groupOf({ rows_per_job }: TaskColumns, fresh: readonly FreshRow[], from: number, end: number): FreshRow[] {
  const first = fresh[from] as FreshRow
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
