/** Jobs whose push may be repeated: each is stored once, however often it comes. */

import { ONCE_SECONDS, type PushItem } from '../contract.ts'
import type { Database } from './database.ts'
import { sql } from './sql.generated.ts'

/** Those of the jobs that are to be stored; from then on they are known. */
export function newOf(db: Database, items: readonly PushItem[], now: number): readonly PushItem[] {
  if (!items.some(({ once }) => once !== undefined)) return items
  db.run(sql.once.forgetOld, now - ONCE_SECONDS * 1000)
  return items.filter(({ once }) => once === undefined || db.first(sql.once.remember, once, now))
}
