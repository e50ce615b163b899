/** Taking jobs out of the middle of a queue, and clearing queues and sets. */

import type { Cleared, Entry, Pull, SetName, WaitingJob } from '../contract.ts'
import type { Database } from './database.ts'
import { atOnce, type Sized } from './queues.ts'
import { ID } from './sets.ts'
import { sql } from './sql.generated.ts'

/** One step looks at, or drops, no more. */
const MOST = 2000

/** Jobs that are looked for, and the places where they were found so far. */
export interface Quest {
  queue: string
  /** undefined: not found (yet). */
  places: (number | undefined)[]
  items: readonly Pull[]
  /** Everything from here on was looked at; undefined: nothing yet. */
  from?: number
}

export class Removal {
  readonly #db: Database

  constructor(db: Database) {
    this.#db = db
  }

  /** One step of looking for jobs: where they are said to be, then from the newest on. False when it is over. */
  lookFor(quest: Quest): boolean {
    const { queue, items, places } = quest
    const found = this.#db.first<{ id: number; tail: number }>(sql.queue.id, queue)
    if (!found) return false
    if (quest.from === undefined) {
      quest.from = found.tail + 1
      for (const [i, { text, at }] of items.entries()) {
        const place = Number(at ?? Number.NaN)
        const stands = Number.isSafeInteger(place) && this.#db.first(sql.queue.stands, found.id, place, text)
        if (stands && !places.includes(place)) places[i] = place
      }
    }
    const missing = [...items.keys()].filter((i) => places[i] === undefined)
    if (missing.length === 0) return false
    const sizes = this.#db.all<Sized & { place: number }>(sql.queue.newest, found.id, quest.from, MOST)
    const last = sizes[atOnce(sizes) - 1]
    if (!last) return false
    const wanted = JSON.stringify(missing.map((i) => items[i]?.text))
    const rows = this.#db.all<{ place: number; text: string }>(
      ...([sql.queue.whereIs, found.id, last.place, quest.from, wanted] as const),
    )
    for (const { place, text } of rows) {
      // Of twins each has a place of its own.
      if (places.includes(place)) continue
      const i = missing.findIndex((one) => places[one] === undefined && items[one]?.text === text)
      if (i >= 0) places[missing[i] as number] = place
    }
    quest.from = last.place
    return true
  }

  /** False: the job is not at its place (any more). */
  remove(queue: string, place: number, text: string): boolean {
    const id = this.#db.first<{ id: number }>(sql.queue.id, queue)?.id
    if (id === undefined || !this.#db.first(sql.queue.remove, id, place, text)) return false
    this.#db.run(sql.queue.shrink, 1, id)
    return true
  }

  clearQueue(queue: string, marks: readonly string[], most: number): Cleared<WaitingJob> {
    const id = this.#db.first<{ id: number }>(sql.queue.id, queue)?.id
    if (id === undefined) return { removed: 0, kept: [], done: true }
    const isFree = this.#isFree()
    const sizes = this.#db.all<Sized & { place: number }>(sql.queue.places, id, isFree ? MOST : Math.min(most, MOST))
    const last = sizes[atOnce(sizes) - 1]
    let removed = 0
    let kept: WaitingJob[] = []
    if (last && isFree) {
      removed = this.#db.all(sql.queue.clearAllTo, id, last.place).length
    } else if (last) {
      removed = this.#db.all(sql.queue.clearTo, id, last.place, JSON.stringify(marks)).length
      const left = this.#db.all<{ place: number; text: string }>(sql.queue.leftTo, id, last.place)
      kept = left.map(({ place, text }) => ({ text, at: String(place) }))
    }
    if (removed > 0) this.#db.run(sql.queue.shrink, removed, id)
    const [next] = this.#db.all<Sized>(sql.queue.places, id, kept.length + 1).slice(kept.length)
    if (!next && kept.length === 0) this.#db.run(sql.queue.hide, id)
    return { removed, kept, done: !next }
  }

  clearSet(set: SetName, marks: readonly string[]): Cleared<Entry> {
    const some = marks.length === 0 || this.#isFree() ? [] : marks
    const isMarked = ({ text }: Entry) => some.some((mark) => text.includes(mark))
    const sizes = this.#db.all<Sized>(sql.set.lengthsUp, ID[set], MOST)
    const lowest = this.#db.all<Entry>(sql.set.firstUp, ID[set], atOnce(sizes))
    const kept = lowest.filter(isMarked)
    const doomed = lowest.filter((entry) => !isMarked(entry))
    for (const { score, text } of doomed) this.#db.first(sql.set.remove, ID[set], score, text)
    if (doomed.length > 0) this.#db.run(sql.set.grow, -doomed.length, ID[set])
    return { removed: doomed.length, kept, done: lowest.length === sizes.length && sizes.length < MOST }
  }

  /** Nothing waits that changes with the jobs. */
  #isFree(): boolean {
    return !this.#db.first(sql.task.someOpen) && !this.#db.first(sql.lock.some)
  }
}
