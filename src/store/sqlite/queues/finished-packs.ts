/**
 * Unread finished jobs: those of one step are one row, a pack. Most are deleted unread, and a row for each would cost more
 * than all else that its end writes. Reading the set unpacks them, so all of its rows are older than all packs.
 */

import type { Entry } from '../../contract.ts'
import { Tables } from '../file/database.ts'
import { sql } from '../sql.generated.ts'
import { packed, slicesOf } from './packed.ts'

/** A pack without its jobs. `oldest` and `newest` are the scores of its jobs. */
interface Pack {
  id: number
  size: number
  oldest: number
  newest: number
}

/** The jobs of a pack, as arguments of `addAll`. */
interface PackedJobs {
  size: number
  scores: string
  spans: string
  texts: Buffer
}

export class FinishedPacks extends Tables {
  add(entries: readonly Entry[]): void {
    for (const slice of slicesOf(entries, ({ text }) => text.length)) {
      const [spans, bytes] = packed(slice.map(({ text }) => text))
      const scores = slice.map(({ score }) => score)
      const range = [Math.min(...scores), Math.max(...scores)] as const
      this.db.run(sql.finishedPack.add, slice.length, ...range, JSON.stringify(scores), spans, bytes)
    }
  }

  get isEmpty(): boolean {
    return this.db.first(sql.finishedPack.some) === undefined
  }

  /** The number of jobs in packs. */
  get jobs(): number {
    return (this.db.first(sql.finishedPack.count) as { jobs: number }).jobs
  }

  /** Moves the jobs of the oldest packs into the table of the set: about `most` jobs. Returns the number of duplicates. */
  unpack(set: number, most: number): number {
    let jobs = 0
    let added = 0
    while (jobs < most) {
      const pack = this.db.first<PackedJobs>(sql.finishedPack.delete)
      if (!pack) break
      jobs += pack.size
      added += this.db.run(sql.set.addAll, set, pack.scores, pack.spans, pack.texts)
    }
    return jobs - added
  }

  /**
   * Deletes whole packs, the oldest first: those that `excess` jobs more than wanted fill, and those with scores below `since`; about
   * `limit` jobs. Returns how many jobs it deleted, and whether the next pack has some that must go as well.
   */
  deleteOldest(excess: number, since: number, limit: number): { deleted: number; isInside: boolean } {
    let deleted = 0
    let last: Pack | undefined
    let next: Pack | undefined
    for (const pack of this.db.all<Pack>(sql.finishedPack.oldest, limit)) {
      next = pack
      if (deleted >= limit || (pack.newest >= since && pack.size > excess - deleted)) break
      deleted += pack.size
      last = pack
    }
    if (last) this.db.run(sql.finishedPack.deleteTo, last.id)
    const isInside = next !== undefined && next !== last && (next.oldest < since || excess > deleted)
    return { deleted, isInside }
  }
}
