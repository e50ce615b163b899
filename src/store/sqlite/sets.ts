/** Jobs that are not in a queue: retry, schedule, dead. */

import type { Entry, SetName } from '../contract.ts'
import type { Database } from './database.ts'
import { sql } from './sql.generated.ts'

export const ID: Record<SetName, number> = { retry: 1, schedule: 2, dead: 3 }

/** Rung when something may be due earlier than known. */
export const DUE = ' due'

export class Sets {
  readonly #db: Database
  readonly #rung: Set<string>

  constructor(db: Database, rung: Set<string>) {
    this.#db = db
    this.#rung = rung
  }

  add(set: SetName, entry: Entry): void {
    // The same text there is another job's, its twin: a space behind this one keeps both.
    let text = entry.text.toWellFormed()
    while (!this.#db.first(sql.set.add, ID[set], entry.score, text)) text += ' '
    this.#db.run(sql.set.grow, 1, ID[set])
    if (set !== 'dead') this.#rung.add(DUE)
  }

  /** False: the entry is not there as it was read. */
  remove(set: SetName, entry: Entry): boolean {
    if (!this.#db.first(sql.set.remove, ID[set], entry.score, entry.text)) return false
    this.#db.run(sql.set.grow, -1, ID[set])
    return true
  }

  /** `until` is a score. */
  due(set: SetName, until: number, limit: number): { entries: Entry[]; next: number | null } {
    const entries = this.#db.all<Entry>(sql.set.due, ID[set], until, limit)
    const next = this.#db.first<{ score: number }>(sql.set.next, ID[set], entries.length)
    return { entries, next: next?.score ?? null }
  }

  size(set: SetName): number {
    return this.#db.first<{ size: number }>(sql.set.size, ID[set])?.size ?? 0
  }

  page(set: SetName, { after, desc, limit }: { after?: Entry; desc?: boolean; limit: number }): Entry[] {
    if (!after) return this.#db.all<Entry>(desc ? sql.set.firstDown : sql.set.firstUp, ID[set], limit)
    return this.#db.all<Entry>(desc ? sql.set.pageDown : sql.set.pageUp, ID[set], after.score, after.text, limit)
  }

  /** Removes at most `limit` entries beyond `max` or below `since`, lowest first; answers how many. */
  trim(set: SetName, max: number, since: number, limit: number): number {
    const excess = this.size(set) - max
    const [first] = this.page(set, { limit: 1 })
    if (!first || (excess <= 0 && first.score >= since)) return 0
    const lowest = this.page(set, { limit })
    const doomed = lowest.filter((entry, i) => i < excess || entry.score < since)
    for (const entry of doomed) this.remove(set, entry)
    return doomed.length
  }
}
