/** Rows that wait inside their task: which one comes next, and their way into the queue. */

import { completeRow } from '../../job/payload.ts'
import type { Database } from './database.ts'
import { sql } from './sql.generated.ts'
import type { TaskRow } from './task-row.ts'

/** Rows put back for another run stand between the rows of a task by (total << 20) + a number. */
const BEHIND = 2 ** 20

interface Issued {
  idx: number
  text: string
  /** It was never issued before. */
  isFresh: boolean
}

interface Returned {
  place: number
  idx: number
  text: string | null
  run: number
  args: string | null
}

export class Backlog {
  readonly #db: Database

  constructor(db: Database) {
    this.#db = db
  }

  /** A row that came back from elsewhere, with its text. */
  putFront(task: TaskRow, index: number, text: string): void {
    this.#db.run(sql.backlog.front, task.key, index, text.toWellFormed())
    task.held++
  }

  /** A row for another run: its text is made when it is issued. */
  putBack(task: TaskRow, index: number): void {
    this.#db.run(sql.backlog.back, task.key, index, task.total * BEHIND)
    task.held++
  }

  remove(task: TaskRow, index: number): void {
    this.#db.run(sql.backlog.remove, task.key, index)
  }

  /** The next `room` rows leave it. `runOf` knows of runs that are not written yet. */
  issue(task: TaskRow, room: number, now: number, runOf: (index: number) => number | undefined): Issued[] {
    const put = this.#db.all<Returned>(sql.backlog.first, task.key, room)
    const fresh = this.#db.all<{ idx: number; run: number; args: string }>(sql.event.fresh, task.key, task.next, room)
    const seenAll = fresh.length < room
    const issued: Issued[] = []
    let i = 0
    let j = 0
    while (issued.length < room) {
      const returned = put[i]
      const row = fresh[j]
      const first = returned && (!row || returned.place < 0 || row.idx >= Math.floor(returned.place / BEHIND))
      if (first) {
        i++
        this.remove(task, returned.idx)
        const { idx, text, args } = returned
        const run = runOf(idx) ?? returned.run
        const made = text ?? this.#complete(task, { idx, run, args: args as string }, now)
        issued.push({ idx, text: made, isFresh: false })
      } else if (row) {
        j++
        task.next = row.idx + 1
        issued.push({ idx: row.idx, text: this.#complete(task, row, now), isFresh: true })
      } else {
        break
      }
    }
    // What lies behind the last row that waits needs no second look.
    if (seenAll && j === fresh.length) task.next = task.total
    return issued
  }

  #complete({ id, template }: TaskRow, { idx, run, args }: { idx: number; run: number; args: string }, now: number) {
    return completeRow({ template, args, task: id, index: idx, run, now })
  }
}
