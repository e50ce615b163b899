/** The results of jobs that are kept for those who wait for them. */

import { Tables } from '../file/database.ts'
import { sql } from '../sql.generated.ts'

export class KeptResults extends Tables {
  /** Keeps a result in place of an earlier one, and deletes old ones. */
  keep(jid: string, text: string, seconds: number): void {
    const now = Date.now()
    this.db.run(sql.result.deleteOld, now)
    this.db.run(sql.result.keep, jid, text, now + Math.ceil(seconds * 1000))
    this.db.notify(resultChannel(jid))
  }
}

/** Notified when a job's result is stored. */
export function resultChannel(jid: string): string {
  return `result ${jid}`
}
