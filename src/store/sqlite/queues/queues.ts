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
      const [first] = slice
      if (slice.length === 1) this.db.run(sql.queue.put, back.id, position, (first as string).toWellFormed())
      else this.db.run(sql.queue.putAll, back.id, position, ...packed(slice))
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
        fetched.push({ queue, ticket: ticketOf(found.id, position), text: texts[i] as string })
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

/** Splits texts into slices for one statement each. */
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
    slice.push(text)
  }
  yield slice
}

/** Texts of one slice have fewer bytes than this, because MOST_BYTES counts characters of at most 3 bytes. */
const SPAN = 2 ** 25

/** Returns where each text is, as start * SPAN + length, and the bytes of all. Half a surrogate pair becomes U+FFFD. */
function packed(texts: readonly string[]): [spans: string, bytes: Buffer] {
  const text = texts.join('')
  let bytes = Buffer.from(text)
  const isAscii = bytes.length === text.length
  if (!isAscii) bytes = Buffer.from(texts.map((one) => one.toWellFormed()).join(''))
  let start = 0
  const spans = texts.map((one) => {
    const length = isAscii ? one.length : Buffer.byteLength(one)
    start += length
    return (start - length) * SPAN + length
  })
  return [JSON.stringify(spans), bytes]
}

/** Returns the ticket of a job: its queue and the position it was fetched from. No position is used twice. */
export function ticketOf(queue: number, position: number): string {
  return `${queue}:${position}`
}

export function parseTicket(ticket: string): { queue: number; position: number } {
  const colon = ticket.indexOf(':')
  return { queue: Number(ticket.slice(0, colon)), position: Number(ticket.slice(colon + 1)) }
}
