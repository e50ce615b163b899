import type { Entry, JobSetStore, SetName, Swap, SwapAnswer } from '../../contract.ts'
import { SqliteArea } from '../file/store-file.ts'
import { DUE_CHANNEL, ID, JobSets } from '../queues/job-sets.ts'
import { sql } from '../sql.generated.ts'
import { applyEach, CHUNK, move } from './moves.ts'

export class SqliteJobSetStore extends SqliteArea implements JobSetStore {
  due(set: SetName, now: number, limit: number): Promise<{ entries: Entry[]; next: number | null }> {
    return this.file.read((db) => {
      const entries = db.all<Entry>(sql.set.due, ID[set], now / 1000, limit)
      const next = db.first<{ score: number }>(sql.set.next, ID[set], entries.length)
      return { entries, next: next?.score ?? null }
    })
  }

  swap(set: SetName, swaps: Swap[], now: number): Promise<SwapAnswer[]> {
    return applyEach(this.file, swaps, now, (db, ledgers, swap) => {
      if (!db.get(JobSets).remove(set, swap)) return 'gone'
      move(db, ledgers, swap.to, swap.effects)
      return 'ok'
    })
  }

  waitUntilDue(ms: number, signal: AbortSignal): Promise<void> {
    return this.file.wait([DUE_CHANNEL], ms, signal)
  }

  size(set: SetName): Promise<number> {
    return this.file.read((db) => db.get(JobSets).size(set))
  }

  page(set: SetName, page: { after?: Entry; desc?: boolean; limit: number }): Promise<Entry[]> {
    return this.file.read((db) => db.get(JobSets).page(set, page))
  }

  async prune(set: SetName, max: number, since: number): Promise<void> {
    while ((await this.#pruneChunk(set, max, since)) === CHUNK);
  }

  /** Removes at most CHUNK entries, lowest score first, and returns how many. */
  #pruneChunk(set: SetName, max: number, since: number): Promise<number> {
    return this.file.write((db) => {
      const sets = db.get(JobSets)
      const excess = sets.size(set) - max
      const [first] = sets.page(set, { limit: 1 })
      if (!first || (excess <= 0 && first.score >= since)) return 0
      const pruned = sets.page(set, { limit: CHUNK }).filter((entry, i) => i < excess || entry.score < since)
      for (const entry of pruned) sets.remove(set, entry)
      return pruned.length
    })
  }
}
