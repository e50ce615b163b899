import type { Entry, JobSetStore, SetName } from '../../contract.ts'
import { DUE_CHANNEL } from '../../sql/job-sets.ts'
import type { Database } from '../file/database.ts'
import { ANSWER_SECONDS, SqliteArea, type StoreFile } from '../file/store-file.ts'
import { JobSets } from '../queues/job-sets.ts'
import { sql } from '../sql.generated.ts'
import { applyEach, CHUNK, move } from './moves.ts'

export class SqliteJobSetStore extends SqliteArea implements JobSetStore {
  readonly due: JobSetStore['due'] = (set, now, limit) =>
    this.file.readAtOnce((db) => {
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
  readonly page: JobSetStore['page'] = (set, page) => readSet(this.file, set, (db) => db.get(JobSets).page(set, page))

  readonly findFinished: JobSetStore['findFinished'] = (jid) =>
    readSet(this.file, 'finished', (db) => db.get(JobSets).findFinished(jid))

  readonly prune: JobSetStore['prune'] = async (set, max, since, needle) => {
    const found: string[] = []
    const chunk = () =>
      this.file.write((db) => {
        const sets = db.get(JobSets)
        const texts = sets.lowestTexts(set, max, since, CHUNK, needle)
        return { texts, removed: sets.removeLowest(set, max, since, CHUNK) }
      })
    for (;;) {
      const { texts, removed } = await chunk()
      found.push(...texts)
      if (removed < CHUNK) return found
    }
  }
}

/** One write unpacks about this many finished jobs, so that it does not block others for long. */
export const UNPACKED_AT_ONCE = 5000

/** Reads a set. Finished jobs that nobody has read yet are unpacked first. */
export async function readSet<T>(file: StoreFile, set: SetName, work: (db: Database) => T): Promise<T> {
  if (await file.read((db) => db.get(JobSets).isUnpacked(set))) return file.readAtOnce(work)
  for (;;) {
    const answer = await file.write((db) => {
      return db.get(JobSets).unpack(set, UNPACKED_AT_ONCE) ? { read: work(db) } : undefined
    }, ANSWER_SECONDS)
    if (answer) return answer.read
  }
}
