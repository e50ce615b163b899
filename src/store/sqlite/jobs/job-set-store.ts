import type { Entry, JobSetStore, SetName } from '../../contract.ts'
import { SqliteArea } from '../file/store-file.ts'
import { DUE_CHANNEL, ID, JobSets } from '../queues/job-sets.ts'
import { sql } from '../sql.generated.ts'
import { applyEach, CHUNK, move } from './moves.ts'

export class SqliteJobSetStore extends SqliteArea implements JobSetStore {
  readonly due: JobSetStore['due'] = (set, now, limit) =>
    this.file.read((db) => {
      const entries = db.all<Entry>(sql.set.due, ID[set], now / 1000, limit)
      const next = db.first<{ score: number }>(sql.set.next, ID[set], entries.length)
      return { entries, next: next?.score ?? null }
    })

  readonly swap: JobSetStore['swap'] = (set, swaps, now) =>
    applyEach(this.file, swaps, now, (db, ledgers, swap) => {
      if (!db.get(JobSets).remove(set, swap)) return 'gone'
      move(db, ledgers, swap.to, swap.effects)
      return 'ok'
    })

  readonly waitUntilDue: JobSetStore['waitUntilDue'] = (ms, signal) => this.file.wait([DUE_CHANNEL], ms, signal)
  readonly size: JobSetStore['size'] = (set) => this.file.read((db) => db.get(JobSets).size(set))
  readonly page: JobSetStore['page'] = (set, page) => this.file.read((db) => db.get(JobSets).page(set, page))

  readonly prune: JobSetStore['prune'] = async (set, max, since) => {
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
