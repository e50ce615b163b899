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
import { Tables } from '../server/database.ts'
import { sql } from '../sql.generated.ts'
import { FinishedPacks } from './finished-packs.ts'
import { Queues } from './queues.ts'
import { slicesOf } from './slices.ts'

export class JobSets extends Tables {
  /** Returns the id of a set; that of no set for one that is not stored. */
  async idOf(set: SetName): Promise<number> {
    if (isLimited(set) || isMoving(set)) return (await this.db.first<{ id: number }>(sql.set.find, set))?.id ?? NO_SET
    return SET_ID[set]
  }

  async add(set: SetName, entries: readonly Entry[]): Promise<void> {
    if (entries.length === 0) return
    let id = await this.idOf(set)
    if (id === NO_SET) {
      await this.db.run(sql.set.create, set)
      id = await this.idOf(set)
    }
    if (isLimited(set)) await this.#countLimited(entries, 1)
    for (const slice of slicesOf(entries, ({ text }) => text.length)) await this.#add(id, slice)
    if (set === 'retry' || set === 'schedule') this.db.notify(DUE_CHANNEL)
  }

  async #add(id: number, entries: readonly Entry[]): Promise<void> {
    // Another job may have the same text. A space at the end keeps both.
    let rest = entries.map(({ score, text }) => ({ score, text: text.toWellFormed() }))
    while (rest.length > 0) {
      const scores = rest.map(({ score }) => score)
      const texts = rest.map(({ text }) => text)
      type Added = { added: number; scores: number[] | null; texts: string[] | null }
      const added = (await this.db.first<Added>(sql.set.add, id, scores, texts)) as Added
      if (added.added === rest.length) return
      const stored = new Set(added.texts?.map((text, i) => `${added.scores?.[i]} ${text}`))
      // Each of several entries that are equal is looked for on its own.
      rest = rest.filter(({ score, text }) => !stored.delete(`${score} ${text}`))
      rest = rest.map(({ score, text }) => ({ score, text: `${text} ` }))
    }
  }

  async #countLimited(entries: readonly Entry[], difference: 1 | -1): Promise<void> {
    const counts = new Map<string, number>()
    for (const { text } of entries) {
      const queue = queueOfJob(text)
      counts.set(queue, (counts.get(queue) ?? 0) + difference)
    }
    for (const [queue, change] of counts) await this.db.get(Queues).countLimited(queue, change)
  }

  /** Adds jobs that are done. Of jobs with the same text and score one stays. */
  addFinished(jobs: readonly FinishedJob[]): Promise<void> {
    return this.#packs.add(jobs)
  }

  /** Moves about `most` finished jobs that nobody has read to where they are read. Returns whether all are there now. */
  async unpack(set: SetName, most = Number.POSITIVE_INFINITY): Promise<boolean> {
    if (set !== 'finished' || (await this.#packs.isEmpty())) return true
    await this.db.run(sql.set.grow, await this.#packs.unpack(SET_ID.finished, most), SET_ID.finished)
    return await this.#packs.isEmpty()
  }

  /** Whether all jobs of the set can be read without `unpack`. */
  async isUnpacked(set: SetName): Promise<boolean> {
    return set !== 'finished' || (await this.#packs.isEmpty())
  }

  /** Removes the lowest entries: as many as exceed `max`, and those with a score below `since`; about `limit`. */
  async removeLowest(set: SetName, max: number, since: number, limit: number): Promise<number> {
    if (set !== 'finished') return await this.#removeRows(set, max, since, limit)
    const packed = await this.#packs.jobs()
    const rows = await this.#rows(set)
    let removed = await this.#removeRows(set, Math.max(max - packed, 0), since, limit)
    // Packs are newer than rows.
    if (packed === 0 || removed < rows || removed >= limit) return removed
    const { deleted, isInside } = await this.#packs.deleteOldest(packed - max, since, limit - removed)
    removed += deleted
    if (!isInside || removed >= limit) return removed
    await this.unpack(set, 1)
    return removed + (await this.removeLowest(set, max, since, limit - removed))
  }

  /** Returns the texts that contain `needle` and that `removeLowest` removes next; see `JobSetStore.prune`. */
  async lowestTexts(set: SetName, max: number, since: number, limit: number, needle?: string): Promise<string[]> {
    if (needle === undefined || set === 'finished') return []
    const last = await this.#lastToRemove(set, max, since, limit)
    if (!last) return []
    const id = await this.idOf(set)
    const rows = await this.db.all<{ text: string }>(sql.set.textsTo, id, last.score, last.text, needle)
    return rows.map(({ text }) => text)
  }

  async #lastToRemove(set: SetName, max: number, since: number, limit: number): Promise<Entry | undefined> {
    const rows = await this.#rows(set)
    const id = await this.idOf(set)
    const { old } = (await this.db.first<{ old: number }>(sql.set.countBelow, id, since, limit)) as { old: number }
    const n = Math.min(Math.max(rows - max, old), limit)
    return n > 0 ? await this.db.first<Entry>(sql.set.atUp, id, n - 1) : undefined
  }

  /** Like `removeLowest`, for the entries that are not packed. */
  async #removeRows(set: SetName, max: number, since: number, limit: number): Promise<number> {
    const id = await this.idOf(set)
    const last = await this.#lastToRemove(set, max, since, limit)
    if (!last) return 0
    return (await this.db.first<{ removed: number }>(sql.set.removeTo, id, last.score, last.text))?.removed ?? 0
  }

  /** Returns whether the set had this entry, unchanged. */
  async remove(set: SetName, entry: Entry): Promise<boolean> {
    return (await this.removeAll(set, [entry]))[0] as boolean
  }

  /** Returns for each of the entries whether the set had it, unchanged. An entry that is named twice is removed once. */
  async removeAll(set: SetName, entries: readonly Entry[]): Promise<boolean[]> {
    await this.unpack(set)
    const id = await this.idOf(set)
    const isRemoved: boolean[] = []
    for (const slice of slicesOf(entries, ({ text }) => text.length)) {
      const scores = slice.map(({ score }) => score)
      const texts = slice.map(({ text }) => text)
      const gone = new Set((await this.db.all<{ i: number }>(sql.set.remove, id, scores, texts)).map(({ i }) => i))
      for (const i of slice.keys()) isRemoved.push(gone.has(i + 1))
    }
    if (isLimited(set)) {
      await this.#countLimited(
        entries.filter((_, i) => isRemoved[i]),
        -1,
      )
    }
    return isRemoved
  }

  async size(set: SetName): Promise<number> {
    return (await this.#rows(set)) + (set === 'finished' ? await this.#packs.jobs() : 0)
  }

  /** Returns the number of entries that are not packed. */
  async #rows(set: SetName): Promise<number> {
    return (await this.db.first<{ size: number }>(sql.set.size, await this.idOf(set)))?.size ?? 0
  }

  /** See `JobSetStore.findFinished`. All jobs must be unpacked. */
  async findFinished(jid: string): Promise<Entry | null> {
    return firstWithJid(await this.db.all<Entry>(sql.set.finished, ...finishedArgs(jid)), jid)
  }

  get #packs(): FinishedPacks {
    return this.db.get(FinishedPacks)
  }

  async page(set: SetName, { after, desc, limit }: { after?: Entry; desc?: boolean; limit: number }): Promise<Entry[]> {
    const { score, text } = after ?? (desc ? HIGHEST : LOWEST)
    return await this.db.all<Entry>(desc ? sql.set.pageDown : sql.set.pageUp, await this.idOf(set), score, text, limit)
  }
}
