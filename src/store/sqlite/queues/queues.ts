/** Ready jobs: pushing them to either end of their queue, and fetching them from the front. */

import type { FetchedJob } from '../../contract.ts'
import { Tables } from '../file/database.ts'
import { sql } from '../sql.generated.ts'

export class Queues extends Tables {
  /** Adds jobs at the back, in the order given. */
  pushBack(queue: string, texts: readonly string[]): void {
    if (texts.length === 0) return
    const back = this.openBack(queue, texts.length)
    let { position } = back
    for (const slice of slicesOf(texts)) {
      this.db.run(sql.queue.putAll, back.id, position, JSON.stringify(slice))
      position += slice.length
    }
  }

  /** Reserves positions at the back for jobs. Returns the queue's id and the first position. */
  openBack(queue: string, jobs: number, positions = jobs): { id: number; position: number } {
    const { id, tail } = this.#grow<{ id: number; tail: number }>(sql.queue.growBack, queue, jobs, positions)
    this.db.notify(queue)
    return { id, position: tail - positions + 1 }
  }

  /** Adds a job at the front. */
  pushFront(queue: string, text: string): void {
    const { id, head } = this.#grow<{ id: number; head: number }>(sql.queue.growFront, queue, 1, 1)
    this.db.run(sql.queue.put, id, head + 1, text.toWellFormed())
    this.db.notify(queue)
  }

  /** Moves at most `n` jobs of the queues, in their order, to an owner. */
  fetch(owner: number, queues: readonly string[], n: number): FetchedJob[] {
    const fetched: FetchedJob[] = []
    for (const queue of queues) {
      if (fetched.length >= n) break
      const found = this.db.first<{ id: number }>(sql.queue.find, queue)
      if (!found) continue
      const count = this.#fitting(found.id, n - fetched.length)
      // The driver reads one JSON text faster than a row per job.
      const { json } = this.db.first<{ json: string }>(sql.queue.first, found.id, count) as { json: string }
      const jobs: [position: number, text: string][] = JSON.parse(json)
      if (jobs.length === 0) continue
      // Deleting first frees space, so that the jobs of a full file can still be fetched.
      this.db.run(sql.queue.removeTo, found.id, Math.max(...jobs.map(([position]) => position)))
      this.db.run(sql.queue.fetch, owner, found.id, json)
      this.db.run(sql.queue.shrink, jobs.length, found.id)
      for (const [position, text] of jobs) fetched.push({ queue, ticket: ticketOf(found.id, position), text })
    }
    return fetched
  }

  /** Returns how many of the next `n` jobs of a queue fit into one statement. */
  #fitting(queue: number, n: number): number {
    const { bytes } = this.db.first<Sized>(sql.queue.largest, queue, n) as Sized
    if (bytes * n <= MOST_BYTES) return n
    return howManyFit(this.db.all<Sized>(sql.queue.sizes, queue, n))
  }

  hasJobs(queues: readonly string[]): boolean {
    return queues.some((queue) => this.db.first(sql.queue.find, queue) !== undefined)
  }

  #grow<Row>(statement: string, queue: string, jobs: number, positions: number): Row {
    const row = this.db.first<Row>(statement, queue, jobs, positions)
    if (row) return row
    this.db.run(sql.queue.create, queue)
    return this.db.first<Row>(statement, queue, jobs, positions) as Row
  }
}

export interface Sized {
  bytes: number
}

/** The most bytes of texts in one statement, except for a job that is larger by itself. */
const MOST_BYTES = 8_000_000

/** Returns how many of the first texts fit into one statement. */
export function howManyFit(sizes: readonly Sized[]): number {
  let sum = 0
  const beyond = sizes.findIndex(({ bytes }, i) => {
    sum += bytes
    return i > 0 && sum > MOST_BYTES
  })
  return beyond === -1 ? sizes.length : beyond
}

/** Splits texts into slices for one statement each. Half a surrogate pair becomes U+FFFD, as SQLite stores UTF-8. */
function* slicesOf(texts: readonly string[]): Generator<string[]> {
  let slice: string[] = []
  let sum = 0
  for (const text of texts) {
    sum += text.length
    if (slice.length > 0 && sum > MOST_BYTES) {
      yield slice
      slice = []
      sum = text.length
    }
    slice.push(text.toWellFormed())
  }
  yield slice
}

/** Returns the ticket of a job: its queue and the position it was fetched from. No position is used twice. */
export function ticketOf(queue: number, position: number): string {
  return `${queue}:${position}`
}

export function parseTicket(ticket: string): { queue: number; position: number } {
  const colon = ticket.indexOf(':')
  return { queue: Number(ticket.slice(0, colon)), position: Number(ticket.slice(colon + 1)) }
}
