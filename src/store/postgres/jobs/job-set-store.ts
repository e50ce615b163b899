import type { Entry, JobSetStore, SetName } from '../../contract.ts'
import { DUE_CHANNEL } from '../../sql/job-sets.ts'
import { clockAhead } from '../queues/clock.ts'
import { JobSets } from '../queues/job-sets.ts'
import type { Database } from '../server/database.ts'
import { ANSWER_SECONDS, PostgresArea, type StoreServer } from '../server/store-server.ts'
import { sql } from '../sql.generated.ts'
import { applyAll, CHUNK, moveAll } from './moves.ts'

export class PostgresJobSetStore extends PostgresArea implements JobSetStore {
  readonly due: JobSetStore['due'] = (set, now, limit) =>
    this.server.read(async (db) => {
      const id = await db.get(JobSets).idOf(set)
      const entries = await db.all<Entry>(sql.set.due, id, now / 1000, limit)
      const next = await db.first<{ score: number }>(sql.set.next, id, entries.length)
      return { entries, next: next?.score ?? null }
    })

  readonly swap: JobSetStore['swap'] = (set, swaps, now) =>
    applyAll(this.server, swaps, now, async (db, ledgers, some) =>
      moveAll(db, ledgers, some, await db.get(JobSets).removeAll(set, some)),
    )

  readonly waitUntilDue: JobSetStore['waitUntilDue'] = (ms, signal) => this.server.wait([DUE_CHANNEL], ms, signal)
  readonly size: JobSetStore['size'] = (set) => this.server.read((db) => db.get(JobSets).size(set))
  readonly page: JobSetStore['page'] = (set, page) => readSet(this.server, set, (db) => db.get(JobSets).page(set, page))

  readonly findFinished: JobSetStore['findFinished'] = (jid) =>
    readSet(this.server, 'finished', (db) => db.get(JobSets).findFinished(jid))

  readonly prune: JobSetStore['prune'] = async (set, max, from, needle) => {
    const since = from - (await this.server.runOne((db) => clockAhead(db))) / 1000
    const found: string[] = []
    const chunk = () =>
      this.server.write(async (db) => {
        const sets = db.get(JobSets)
        const texts = await sets.lowestTexts(set, max, since, CHUNK, needle)
        return { texts, removed: await sets.removeLowest(set, max, since, CHUNK) }
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
export async function readSet<T>(server: StoreServer, set: SetName, work: (db: Database) => Promise<T>): Promise<T> {
  if (set !== 'finished' || (await server.runOne((db) => db.get(JobSets).isUnpacked(set)))) return server.read(work)
  for (;;) {
    const answer = await server.write(async (db) => {
      return (await db.get(JobSets).unpack(set, UNPACKED_AT_ONCE)) ? { read: await work(db) } : undefined
    }, ANSWER_SECONDS)
    if (answer) return answer.read
  }
}
