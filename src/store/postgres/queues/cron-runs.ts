import { withChange } from '../../contract/cron-runs.ts'
import type { CronRunEffect } from '../../contract.ts'
import type { Database } from '../server/database.ts'
import { sql } from '../sql.generated.ts'

/** Changes how a run of a cron entry goes on. */
export async function changeRun(db: Database, effect: CronRunEffect): Promise<void> {
  const stored = await db.first<{ runs: string }>(sql.cronRun.read, effect.name)
  const runs = stored && withChange(stored.runs, effect)
  if (runs !== undefined) await db.run(sql.cronRun.write, runs, effect.name)
}
