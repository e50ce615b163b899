/** Ready jobs: pushing them to either end of their queue, and fetching them from the front. */

import { baseQueue, priorityName, priorityOf } from '../../../job/priority.ts'
import type { FetchedJob, SqlValue } from '../../contract.ts'
import { Tables } from '../file/database.ts'
import { sql } from '../sql.generated.ts'
import { MOST_BYTES, packed, slicesOf } from './packed.ts'

export class Queues extends Tables {
  /** Adds jobs at the back, in the order given. */
  pushBack(queue: string, texts: readonly string[]): void {
    if (texts.length === 0) return
    const back = this.openBack(queue, texts.length)
    let { position } = back
    for (const slice of slicesOf(texts, ({ length }) => length)) {
      const [first] = slice
      if (slice.length === 1) this.db.run(sql.queue.put, back.id, position, (first as string).toWellFormed())
      else this.db.run(sql.queue.putAll, back.id, position, ...packed(slice))
      position += slice.length
    }
  }

  /** Reserves positions at the back for jobs. Returns the queue's id and the first position. */
  openBack(queue: string, jobs: number, positions = jobs): { id: number; position: number } {
    const priority = priorityOf(queue)
    if (priority > 0) {
      const id = this.#growSize(baseQueue(queue), jobs)
      const row = this.db.first<{ tail: number }>(
        sql.queue.growBackOf,
        id,
        priority,
        -priority * SPAN_OF_PRIORITY,
        positions,
      )
      return { id, position: (row as { tail: number }).tail - positions + 1 }
    }
    const { id, tail } = this.#grow<{ id: number; tail: number }>(sql.queue.growBack, queue, jobs, positions)
    this.db.notify(queue)
    return { id, position: tail - positions + 1 }
  }

  /** Adds a job at the front. */
  pushFront(queue: string, text: string): void {
    const { id, head } = this.#openFront(queue)
    this.db.run(sql.queue.put, id, head + 1, text.toWellFormed())
  }

  #openFront(queue: string): { id: number; head: number } {
    const priority = priorityOf(queue)
    if (priority > 0) {
      const id = this.#growSize(baseQueue(queue), 1)
      const row = this.db.first<{ head: number }>(sql.queue.growFrontOf, id, priority, -priority * SPAN_OF_PRIORITY, 1)
      return { id, head: (row as { head: number }).head }
    }
    this.db.notify(queue)
    return this.#grow(sql.queue.growFront, queue, 1, 1)
  }

  /** Adds jobs to the size of a queue, and returns its id. */
  #growSize(queue: string, jobs: number): number {
    this.db.notify(queue)
    return this.#grow<{ id: number }>(sql.queue.grow, queue, jobs).id
  }

  /** Counts the jobs of a queue that wait for room in their limits. */
  countLimited(queue: string, change: number): void {
    if (this.db.run(sql.queue.countLimited, queue, change) > 0) return
    this.db.run(sql.queue.create, queue)
    this.db.run(sql.queue.countLimited, queue, change)
  }

  /** Moves at most `n` jobs of the queues, in their order, to an owner. */
  fetch(owner: number, queues: readonly string[], n: number): FetchedJob[] {
    const fetched: FetchedJob[] = []
    for (const queue of queues) {
      if (fetched.length >= n) break
      const found = this.db.first<{ id: number }>(sql.queue.find, queue)
      if (!found) continue
      const { positions, texts, json } = this.#next(found.id, n - fetched.length)
      const [first] = positions
      const last = positions.at(-1)
      if (first === undefined || last === undefined) continue
      // Deleting first frees space, so that the jobs of a full file can still be fetched.
      this.db.run(sql.queue.removeTo, found.id, last)
      const isConsecutive = last - first + 1 === positions.length
      this.db.run(sql.queue.fetch, owner, found.id, first, isConsecutive ? null : JSON.stringify(positions), json)
      this.db.run(sql.queue.shrink, positions.length, found.id)
      for (const [i, position] of positions.entries())
        fetched.push({
          queue: queueAt(queue, position),
          ticket: ticketOf(found.id, position),
          text: texts[i] as string,
        })
    }
    return fetched
  }

  /** Returns the next jobs of a queue, at most `n` and as many as fit into one statement. */
  #next(queue: number, n: number): { positions: number[]; texts: (string | null)[]; json: string } {
    type Row = { positions: string; texts: string }
    const read = (count: number, mostBytes: number) => {
      // The driver reads two JSON texts faster than a row per job.
      const row = this.db.first<Row>(sql.queue.first, queue, count, mostBytes) as Row
      return { positions: JSON.parse(row.positions), texts: JSON.parse(row.texts), json: row.texts }
    }
    const next = read(n, MOST_BYTES / n)
    if (!next.texts.includes(null)) return next
    return read(howManyFit(this.db.all<Sized>(sql.queue.sizes, queue, n)), Number.MAX_SAFE_INTEGER)
  }

  hasJobs(queues: readonly string[]): boolean {
    return queues.some((queue) => this.db.first(sql.queue.find, queue) !== undefined)
  }

  #grow<Row>(statement: string, ...values: [queue: string, jobs: number, positions?: number]): Row {
    const row = this.db.first<Row>(statement, ...(values as SqlValue[]))
    if (row) return row
    this.db.run(sql.queue.create, values[0])
    return this.db.first<Row>(statement, ...(values as SqlValue[])) as Row
  }
}

export interface Sized {
  bytes: number
}

/** Returns how many of the first texts fit into one statement. */
export function howManyFit(sizes: readonly Sized[]): number {
  let sum = 0
  const beyond = sizes.findIndex(({ bytes }, i) => {
    sum += bytes
    return i > 0 && sum > MOST_BYTES
  })
  return beyond === -1 ? sizes.length : beyond
}

/** The positions of the jobs with priority n begin at -n times this number. */
export const SPAN_OF_PRIORITY = 2 ** 48

/** Returns the name of the queue and priority that a position belongs to. */
export function queueAt(queue: string, position: number): string {
  return position > -SPAN_OF_PRIORITY / 2 ? queue : priorityName(queue, Math.round(-position / SPAN_OF_PRIORITY))
}

/** Returns the ticket of a job: its queue and the position it was fetched from. No position is used twice. */
export function ticketOf(queue: number, position: number): string {
  return `${queue}:${position}`
}

export function parseTicket(ticket: string): { queue: number; position: number } {
  const colon = ticket.indexOf(':')
  return { queue: Number(ticket.slice(0, colon)), position: Number(ticket.slice(colon + 1)) }
}
