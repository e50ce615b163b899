/**
 * Unread finished jobs: those of one step are one row, a pack. Most are deleted unread, and a row for each would cost more
 * than all else that its end writes. Reading the set unpacks them, so all of its rows are older than all packs.
 */

import { type FinishedJob, type FinishedRun, finishedRuns, finishedText } from '../../contract.ts'
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

/** No JSON text has this character. */
const SEPARATOR = '\x1e'

export class FinishedPacks extends Tables {
  add(jobs: readonly FinishedJob[]): void {
    for (const slice of slicesOf(jobs, ({ text, members = '' }) => text.length + members.length)) {
      const runs = finishedRuns(slice)
      const scores = runs.map(({ score }) => score)
      const texts = slice.map(({ text }) => text).join(SEPARATOR)
      this.db.run(
        sql.finishedPack.add,
        slice.length,
        Math.min(...scores),
        Math.max(...scores),
        JSON.stringify(runs),
        texts,
      )
    }
  }

  get isEmpty(): boolean {
    return this.db.first(sql.finishedPack.some) === undefined
  }

  /** The number of jobs in packs. */
  get jobs(): number {
    return (this.db.first(sql.finishedPack.count) as { jobs: number }).jobs
  }

  /** Moves the jobs of the oldest packs into the table of the set: about `most` jobs. Returns how many were new. */
  unpack(set: number, most: number): number {
    let jobs = 0
    let added = 0
    while (jobs < most) {
      const pack = this.db.first<{ runs: string; texts: string }>(sql.finishedPack.delete)
      if (!pack) break
      const runs = JSON.parse(pack.runs) as FinishedRun[]
      const each = runs.flatMap((run) => Array.from({ length: run.size }, () => run))
      const texts = pack.texts.split(SEPARATOR).map((text, i) => finishedText(text, each[i]?.members))
      const scores = each.map(({ score }) => score)
      jobs += texts.length
      added += this.db.run(sql.set.addAll, set, JSON.stringify(scores), ...packed(texts))
    }
    return added
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
