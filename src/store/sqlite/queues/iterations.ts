/** The stored states of iterations. */

import type { IterationEffect, IterationState } from '../../contract.ts'
import type { Database } from '../file/database.ts'
import { sql } from '../sql.generated.ts'

const KEPT_MS = 30 * 86_400_000

/** Returns false if a later execution has saved its state. */
export function saveIteration(
  db: Database,
  jid: string,
  { executions, runtime, cursor }: IterationState,
  now: number,
): boolean {
  db.run(sql.iteration.deleteOld, now - KEPT_MS)
  return db.first(sql.iteration.save, jid, executions, runtime, cursor, now) !== undefined
}

export function changeIteration(db: Database, { jid, state }: IterationEffect, now: number): void {
  if (state) saveIteration(db, jid, state, now)
  else db.run(sql.iteration.delete, jid)
}
