/** The stored states of iterations. */

import type { IterationEffect, IterationRecord, IterationState } from '../../contract.ts'
import type { Database } from '../server/database.ts'
import { sql } from '../sql.generated.ts'

const KEPT_MS = 30 * 86_400_000

/** Returns the iterations of these jobs; null for a job without one. */
export async function readIterations(db: Database, jids: readonly string[]): Promise<(IterationRecord | null)[]> {
  const rows = await db.all<IterationRecord & { jid: string }>(sql.iteration.find, [...new Set(jids)])
  const found = new Map(rows.map(({ jid, ...record }) => [jid, record]))
  return jids.map((jid) => found.get(jid) ?? null)
}

/** Returns false if a later execution has saved its state. */
export async function saveIteration(
  db: Database,
  jid: string,
  { executions, runtime, cursor }: IterationState,
  now: number,
): Promise<boolean> {
  return (await db.run(sql.iteration.save, jid, executions, runtime, cursor, now, now - KEPT_MS)) > 0
}

/** Changes iterations in the order given. */
export async function changeIterations(db: Database, effects: readonly IterationEffect[], now: number): Promise<void> {
  const removed = new Set<string>()
  const remove = async () => {
    if (removed.size > 0) await db.run(sql.iteration.delete, [...removed])
    removed.clear()
  }
  for (const { jid, state } of effects) {
    if (!state) removed.add(jid)
    else {
      if (removed.has(jid)) await remove()
      await saveIteration(db, jid, state, now)
    }
  }
  await remove()
}
