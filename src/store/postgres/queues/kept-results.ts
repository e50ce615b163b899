/** The results of jobs that are kept for those who wait for them. */

import type { Database } from '../server/database.ts'
import { sql } from '../sql.generated.ts'

/** Keeps a result in place of an earlier one, and deletes old ones. The caller notifies `resultChannel` after that. */
export async function keepResult(db: Database, jid: string, text: string, seconds: number): Promise<void> {
  await db.run(sql.result.keep, jid, text, Math.ceil(seconds * 1000))
}

/** Notified when a job's result is stored. */
export function resultChannel(jid: string): string {
  return `result ${jid}`
}
