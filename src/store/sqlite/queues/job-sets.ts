/** Job sets: retry, schedule, dead. */

import type { Entry, SetName } from '../../contract.ts'
import { Tables } from '../file/database.ts'
import { sql } from '../sql.generated.ts'

export const ID: Record<SetName, number> = { retry: 1, schedule: 2, dead: 3 }

/** The bounds behind the last entry and before the first one. */
export const HIGHEST: Entry = { score: Number.POSITIVE_INFINITY, text: '\u{10ffff}' }
const LOWEST: Entry = { score: Number.NEGATIVE_INFINITY, text: '' }

/** Notified when an entry may be due earlier than known. */
export const DUE_CHANNEL = ' due'

export class JobSets extends Tables {
  add(set: SetName, entry: Entry): void {
    // Another job may have the same text. A space at the end keeps both.
    let text = entry.text.toWellFormed()
    while (!this.db.first(sql.set.add, ID[set], entry.score, text)) text += ' '
    this.db.run(sql.set.grow, 1, ID[set])
    if (set !== 'dead') this.db.notify(DUE_CHANNEL)
  }

  /** Returns whether the set had this entry, unchanged. */
  remove(set: SetName, entry: Entry): boolean {
    if (!this.db.first(sql.set.remove, ID[set], entry.score, entry.text)) return false
    this.db.run(sql.set.grow, -1, ID[set])
    return true
  }

  size(set: SetName): number {
    return this.db.first<{ size: number }>(sql.set.size, ID[set])?.size ?? 0
  }

  page(set: SetName, { after, desc, limit }: { after?: Entry; desc?: boolean; limit: number }): Entry[] {
    const { score, text } = after ?? (desc ? HIGHEST : LOWEST)
    return this.db.all<Entry>(desc ? sql.set.pageDown : sql.set.pageUp, ID[set], score, text, limit)
  }
}
