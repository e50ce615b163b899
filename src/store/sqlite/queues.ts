/** Jobs that are ready: putting them at either end of their queue, taking them from the front. */

import type { FetchedJob, QueueInfo } from '../contract.ts'
import type { Database } from './database.ts'
import { sql } from './sql.generated.ts'

export class Queues {
  readonly #db: Database
  readonly #rung: Set<string>

  /** `rung` collects the names of the queues that got jobs, for whoever waits. */
  constructor(db: Database, rung: Set<string>) {
    this.#db = db
    this.#rung = rung
  }

  /** Behind all others, in the order given. */
  pushBack(queue: string, texts: readonly string[]): void {
    if (texts.length === 0) return
    const back = this.openBack(queue, texts.length)
    let { place } = back
    for (const slice of slicesOf(texts)) {
      this.#db.run(sql.queue.putAll, back.id, place, JSON.stringify(slice))
      place += slice.length
    }
  }

  /** Places behind all others, for so many jobs: the queue's id, and the first of the places. */
  openBack(queue: string, jobs: number, places = jobs): { id: number; place: number } {
    const { id, tail } = this.#grow<{ id: number; tail: number }>(sql.queue.growBack, queue, jobs, places)
    this.#rung.add(queue)
    return { id, place: tail - places + 1 }
  }

  /** Before all others. */
  pushFront(queue: string, text: string): void {
    const { id, head } = this.#grow<{ id: number; head: number }>(sql.queue.growFront, queue, 1, 1)
    this.#db.run(sql.queue.put, id, head + 1, text.toWellFormed())
    this.#rung.add(queue)
  }

  /** Gives an owner at most `n` jobs of the queues, in their order. */
  take(owner: number, queues: readonly string[], n: number): FetchedJob[] {
    const taken: FetchedJob[] = []
    for (const queue of queues) {
      if (taken.length >= n) break
      const found = this.#db.first<{ id: number }>(sql.queue.find, queue)
      if (!found) continue
      const sizes = this.#db.all<Sized>(sql.queue.sizes, found.id, n - taken.length)
      const rows = this.#db.all<{ place: number; text: string }>(sql.queue.first, found.id, atOnce(sizes))
      const last = rows.at(-1)
      if (!last) continue
      // Room first, then rows: a file that is full is worked empty.
      this.#db.run(sql.queue.removeTo, found.id, last.place)
      const handed = JSON.stringify(rows.map(({ place, text }) => [place, text]))
      this.#db.run(sql.queue.hand, owner, found.id, handed)
      this.#db.run(sql.queue.shrink, rows.length, found.id)
      for (const { place, text } of rows) taken.push({ queue, ticket: ticketOf(found.id, place), text })
    }
    return taken
  }

  hasJobs(queues: readonly string[]): boolean {
    return queues.some((queue) => this.#db.first(sql.queue.find, queue) !== undefined)
  }

  list(): QueueInfo[] {
    return this.#db.all<QueueInfo>(sql.queue.list)
  }

  /** These, whether they are listed or not. */
  some(names: readonly string[]): QueueInfo[] {
    return names.map((name) => this.#db.first<QueueInfo>(sql.queue.one, name) ?? { name, size: 0, next: null })
  }

  peek(queue: string, offset: number, limit: number): string[] {
    return this.#db.all<{ text: string }>(sql.queue.peek, queue, limit, offset).map((row) => row.text)
  }

  #grow<Row>(statement: string, queue: string, jobs: number, places: number): Row {
    const row = this.#db.first<Row>(statement, queue, jobs, places)
    if (row) return row
    this.#db.run(sql.queue.create, queue)
    return this.#db.first<Row>(statement, queue, jobs, places) as Row
  }
}

export interface Sized {
  bytes: number
}

/** No single statement carries more than this, but for a job that is larger by itself. */
const MOST_BYTES = 8_000_000

/** How many of them one statement may carry. */
export function atOnce(sizes: readonly Sized[]): number {
  let sum = 0
  const beyond = sizes.findIndex(({ bytes }, i) => {
    sum += bytes
    return i > 0 && sum > MOST_BYTES
  })
  return beyond === -1 ? sizes.length : beyond
}

/** SQLite keeps text as UTF-8, which has no place for half a character: such a half becomes U+FFFD. */
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

/** A ticket is the queue and the place the job was taken from: places are never used twice. */
export function ticketOf(queue: number, place: number): string {
  return `${queue}:${place}`
}

export function parseTicket(ticket: string): { queue: number; place: number } {
  const colon = ticket.indexOf(':')
  return { queue: Number(ticket.slice(0, colon)), place: Number(ticket.slice(colon + 1)) }
}
