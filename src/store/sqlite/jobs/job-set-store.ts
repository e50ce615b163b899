import type { Entry, JobSetStore } from '../../contract.ts'
import { SqliteArea } from '../file/store-file.ts'
import { DUE_CHANNEL, JobSets } from '../queues/job-sets.ts'
import { sql } from '../sql.generated.ts'
import { applyEach, CHUNK, move } from './moves.ts'

export class SqliteJobSetStore extends SqliteArea implements JobSetStore {
  readonly due: JobSetStore['due'] = (set, now, limit) =>
    this.file.read((db) => {
      const id = db.get(JobSets).idOf(set)
      const entries = db.all<Entry>(sql.set.due, id, now / 1000, limit)
      const next = db.first<{ score: number }>(sql.set.next, id, entries.length)
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
    const chunk = () => this.file.write((db) => db.get(JobSets).removeLowest(set, max, since, CHUNK))
    while ((await chunk()) === CHUNK);
  }
}
