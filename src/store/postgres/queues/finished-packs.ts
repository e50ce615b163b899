/**
 * Unread finished jobs: those of one step are one row, a pack. Most are deleted unread, and a row for each would cost more
 * than all else that its end writes. Reading the set unpacks them, so all of its rows are older than all packs.
 */

import { type FinishedJob, finishedText } from '../../contract.ts'
import { Tables } from '../server/database.ts'
import { sql } from '../sql.generated.ts'
import { slicesOf } from './slices.ts'

/** A pack without its jobs. `oldest` and `newest` are the scores of its jobs. */
interface Pack {
  id: number
  size: number
  oldest: number
  newest: number
}

export class FinishedPacks extends Tables {
  async add(jobs: readonly FinishedJob[]): Promise<void> {
    for (const slice of slicesOf(jobs, ({ text, members = '' }) => text.length + members.length)) {
      const scores = slice.map(({ score }) => score)
      const texts = slice.map(({ text, members }) => finishedText(text, members).toWellFormed())
      await this.db.run(sql.finishedPack.add, slice.length, Math.min(...scores), Math.max(...scores), scores, texts)
    }
  }

  async isEmpty(): Promise<boolean> {
    return (await this.db.first(sql.finishedPack.some)) === undefined
  }

  /** Returns the number of jobs in packs. */
  async jobs(): Promise<number> {
    return ((await this.db.first(sql.finishedPack.count)) as { jobs: number }).jobs
  }

  /** Moves the jobs of the oldest packs into the table of the set: about `most` jobs. Returns how many were new. */
  async unpack(set: number, most: number): Promise<number> {
    let added = 0
    for (let jobs = 0; jobs < most; ) {
      const pack = await this.db.first<{ size: number; added: number }>(sql.finishedPack.unpack, set)
      if (!pack) break
      jobs += pack.size
      added += pack.added
    }
    return added
  }

  /**
   * Deletes whole packs, the oldest first: those that `excess` jobs more than wanted fill, and those with scores below `since`; about
   * `limit` jobs. Returns how many jobs it deleted, and whether the next pack has some that must go as well.
   */
  async deleteOldest(excess: number, since: number, limit: number): Promise<{ deleted: number; isInside: boolean }> {
    let deleted = 0
    let last: Pack | undefined
    let next: Pack | undefined
    for (const pack of await this.db.all<Pack>(sql.finishedPack.oldest, limit)) {
      next = pack
      if (deleted >= limit || (pack.newest >= since && pack.size > excess - deleted)) break
      deleted += pack.size
      last = pack
    }
    if (last) await this.db.run(sql.finishedPack.deleteTo, last.id)
    const isInside = next !== undefined && next !== last && (next.oldest < since || excess > deleted)
    return { deleted, isInside }
  }
}
