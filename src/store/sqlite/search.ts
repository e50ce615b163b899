/** Searching queues and sets, a page at a time. */

import { between } from '../../job/between.ts'
import type { Entry, Scan, ScanPage, SetName, WaitingJob } from '../contract.ts'
import type { Database } from './database.ts'
import { atOnce, type Sized } from './queues.ts'
import { ID } from './sets.ts'
import { sql } from './sql.generated.ts'

/** One call looks at no more, nor at more than some megabytes. */
const MOST_TEXTS = 2000
/** Above every text. */
const LAST = '\u{10ffff}'

export class Search {
  readonly #db: Database

  constructor(db: Database) {
    this.#db = db
  }

  /** The cursor is the place of the last job that was looked at: places only ever move outwards. */
  queue(name: string, needle: string, { after, at, limit }: ScanPage): Scan<WaitingJob> {
    const found = this.#db.first<{ id: number; tail: number }>(sql.queue.id, name)
    if (!found) return { items: [], next: null, scanned: 0 }
    const first = at === undefined ? found.tail + 1 : Number(at) + 1
    const from = after === undefined ? first : Number(after)
    const sizes = this.#db.all<Sized & { place: number }>(sql.queue.newest, found.id, from, MOST_TEXTS)
    const looked = sizes.slice(0, atOnce(sizes))
    const last = looked.at(-1)
    if (!last) return { items: [], next: null, scanned: 0 }
    const hits = this.#db.all<{ place: number; text: string }>(
      ...([sql.queue.search, found.id, last.place, from, needle, limit] as const),
    )
    const items = hits.map(({ place, text }) => ({ at: String(place), text }))
    const lastHit = hits.at(-1)
    const isFull = hits.length === limit && lastHit !== undefined
    const end = isFull ? lastHit.place : last.place
    const scanned = isFull ? looked.findIndex(({ place }) => place === end) + 1 : looked.length
    const isEnd = scanned === sizes.length && sizes.length < MOST_TEXTS
    return { items, next: isEnd ? null : String(end), scanned }
  }

  /** Highest score first. The cursor is a place between two entries. */
  set(set: SetName, needle: string, { after, limit }: ScanPage): Scan<Entry> {
    const id = ID[set]
    const [, score = Number.POSITIVE_INFINITY, text = LAST] = /^([^:]*):(.*)$/s.exec(after ?? '') ?? []
    const from = [Number(score), text] as const
    const sizes = this.#db.all<Sized & { score: number }>(sql.set.lengthsDown, id, ...from, MOST_TEXTS)
    const looked = atOnce(sizes)
    if (looked === 0) return { items: [], next: null, scanned: 0 }
    const [last] = this.#db.all<Entry>(sql.set.atDown, id, ...from, looked - 1) as [Entry]
    const items = this.#db.all<Entry>(sql.set.search, id, ...from, last.score, last.text, needle, limit)
    const end = (items.length === limit && items.at(-1)) || last
    const scanned = end === last ? looked : this.#count(id, from, end)
    const [behind] = this.#db.all<Entry>(sql.set.pageDown, id, end.score, end.text, 1)
    if (!behind) return { items, next: null, scanned }
    const name = end.score === behind.score ? between(behind.text, end.text) : ''
    return { items, next: `${end.score}:${name}`, scanned }
  }

  #count(id: number, from: readonly [number, string], end: Entry): number {
    return this.#db.first<{ n: number }>(sql.set.countDown, id, ...from, end.score, end.text)?.n ?? 0
  }
}
