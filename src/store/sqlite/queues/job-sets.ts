/** Job sets: retry, schedule, dead, finished, and those of jobs that wait for room in a limit. */

import { queueOfJob } from '../../../job/priority.ts'
import type { Entry, FinishedJob, SetName } from '../../contract.ts'
import {
  DUE_CHANNEL,
  finishedArgs,
  firstWithJid,
  HIGHEST,
  isLimited,
  isMoving,
  LOWEST,
  NO_SET,
  SET_ID,
} from '../../sql/job-sets.ts'
import { Tables } from '../file/database.ts'
import { sql } from '../sql.generated.ts'
import { FinishedPacks } from './finished-packs.ts'
import { Queues } from './queues.ts'

export class JobSets extends Tables {
  /** Returns the id of a set; that of no set for one that is not stored. */
  idOf(set: SetName): number {
    if (isLimited(set) || isMoving(set)) return this.db.first<{ id: number }>(sql.set.find, set)?.id ?? NO_SET
    return SET_ID[set]
  }

  add(set: SetName, entry: Entry): void {
    if (isLimited(set) || isMoving(set)) this.db.run(sql.set.create, set)
    if (isLimited(set)) this.db.get(Queues).countLimited(queueOfJob(entry.text), 1)
    const id = this.idOf(set)
    // Another job may have the same text. A space at the end keeps both.
    let text = entry.text.toWellFormed()
    while (!this.db.first(sql.set.add, id, entry.score, text)) text += ' '
    this.db.run(sql.set.grow, 1, id)
    if (set === 'retry' || set === 'schedule') this.db.notify(DUE_CHANNEL)
  }

  /** Adds jobs that are done. Of jobs with the same text and score one stays. */
  addFinished(jobs: readonly FinishedJob[]): void {
    this.#packs.add(jobs)
  }

  /** Moves about `most` finished jobs that nobody has read to where they are read. Returns whether all are there now. */
  unpack(set: SetName, most = Number.POSITIVE_INFINITY): boolean {
    if (set !== 'finished' || this.#packs.isEmpty) return true
    this.db.run(sql.set.grow, this.#packs.unpack(SET_ID.finished, most), SET_ID.finished)
    return this.#packs.isEmpty
  }

  /** Whether all jobs of the set can be read without `unpack`. */
  isUnpacked(set: SetName): boolean {
    return set !== 'finished' || this.#packs.isEmpty
  }

  /** Removes the lowest entries: as many as exceed `max`, and those with a score below `since`; about `limit`. */
  removeLowest(set: SetName, max: number, since: number, limit: number): number {
    if (set !== 'finished') return this.#removeRows(set, max, since, limit)
    const packed = this.#packs.jobs
    const rows = this.#rows(set)
    let removed = this.#removeRows(set, Math.max(max - packed, 0), since, limit)
    // Packs are newer than rows.
    if (packed === 0 || removed < rows || removed >= limit) return removed
    const { deleted, isInside } = this.#packs.deleteOldest(packed - max, since, limit - removed)
    removed += deleted
    if (!isInside || removed >= limit) return removed
    this.unpack(set, 1)
    return removed + this.removeLowest(set, max, since, limit - removed)
  }

  /** Returns the texts that contain `needle` and that `removeLowest` removes next; see `JobSetStore.prune`. */
  lowestTexts(set: SetName, max: number, since: number, limit: number, needle?: string): string[] {
    if (needle === undefined || set === 'finished') return []
    const last = this.#lastToRemove(set, max, since, limit)
    if (!last) return []
    const rows = this.db.all<{ text: string }>(sql.set.textsTo, this.idOf(set), last.score, last.text, needle)
    return rows.map(({ text }) => text)
  }

  #lastToRemove(set: SetName, max: number, since: number, limit: number): Entry | undefined {
    const rows = this.#rows(set)
    const id = this.idOf(set)
    const { old } = this.db.first<{ old: number }>(sql.set.countBelow, id, since, limit) as { old: number }
    const n = Math.min(Math.max(rows - max, old), limit)
    return n > 0 ? this.db.first<Entry>(sql.set.atUp, id, n - 1) : undefined
  }

  /** Like `removeLowest`, for the entries that are not packed. */
  #removeRows(set: SetName, max: number, since: number, limit: number): number {
    const id = this.idOf(set)
    const last = this.#lastToRemove(set, max, since, limit)
    if (!last) return 0
    const removed = this.db.run(sql.set.removeTo, id, last.score, last.text)
    this.db.run(sql.set.grow, -removed, id)
    return removed
  }

  /** Returns whether the set had this entry, unchanged. */
  remove(set: SetName, entry: Entry): boolean {
    this.unpack(set)
    const id = this.idOf(set)
    if (!this.db.first(sql.set.remove, id, entry.score, entry.text)) return false
    this.db.run(sql.set.grow, -1, id)
    if (isLimited(set)) this.db.get(Queues).countLimited(queueOfJob(entry.text), -1)
    return true
  }

  size(set: SetName): number {
    return this.#rows(set) + (set === 'finished' ? this.#packs.jobs : 0)
  }

  /** The number of entries that are not packed. */
  #rows(set: SetName): number {
    return this.db.first<{ size: number }>(sql.set.size, this.idOf(set))?.size ?? 0
  }

  /** See `JobSetStore.findFinished`. All jobs must be unpacked. */
  findFinished(jid: string): Entry | null {
    return firstWithJid(this.db.all<Entry>(sql.set.finished, ...finishedArgs(jid)), jid)
  }

  get #packs(): FinishedPacks {
    return this.db.get(FinishedPacks)
  }

  page(set: SetName, { after, desc, limit }: { after?: Entry; desc?: boolean; limit: number }): Entry[] {
    const { score, text } = after ?? (desc ? HIGHEST : LOWEST)
    return this.db.all<Entry>(desc ? sql.set.pageDown : sql.set.pageUp, this.idOf(set), score, text, limit)
  }
}
