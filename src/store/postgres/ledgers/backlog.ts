/** The backlogs of tasks: which rows enter the queue next, and as which jobs. */

import { completeRow, rowMembers } from '../../../job/payload.ts'
import { baseQueue } from '../../../job/priority.ts'
import { completeRows, MOST_ROWS_BYTES } from '../../../job/rows.ts'
import { ELSEWHERE, WINDOW } from '../../sql/task-row.ts'
import { priorityOffset } from '../queues/queues.ts'
import { Tables } from '../server/database.ts'
import { sql } from '../sql.generated.ts'
import type { TaskLedger } from './task-ledger.ts'
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
  async issue(task: TaskRow, room: number, now: number): Promise<Issued[]> {
    const put = await this.db.all<Returned>(sql.backlog.first, task.key, room)
    const most =
      task.rows_per_job === null
        ? room
        : task.rows_per_job * Math.min(room, Math.ceil(MOST_AT_ONCE / task.rows_per_job))
    const fresh = await this.db.all<Fresh>(sql.event.neverQueued, task.key, task.next, most)
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
        const { idx, text, run, args } = returned
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
    await this.#relocate(task, issued)
    return issued
  }

  /** Removes rows from their positions in the backlog, and stores where they are: in the window, or in the job of another row. */
  async #relocate({ key }: TaskRow, issued: readonly Issued[]): Promise<void> {
    const returned = issued.filter(({ isFresh }) => !isFresh).map(({ idx }) => idx)
    const others = issued.flatMap((job) => job.others)
    if (returned.length + others.length === 0) return
    if (returned.length > 0) await this.db.run(sql.backlog.remove, Array(returned.length).fill(key), returned)
    const locations = [...returned.map(() => WINDOW), ...others.map(() => ELSEWHERE)]
    await this.db.run(sql.backlog.locate, key, [...returned, ...others], locations)
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
