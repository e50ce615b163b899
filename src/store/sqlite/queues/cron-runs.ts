import { withChange } from '../../contract/cron-runs.ts'
import type { CronRunEffect } from '../../contract.ts'
import type { Database } from '../file/database.ts'
import { sql } from '../sql.generated.ts'

/** Changes how a run of a cron entry goes on. */
export function changeRun(db: Database, effect: CronRunEffect): void {
  const stored = db.first<{ runs: string }>(sql.cronRun.read, effect.name)
  const runs = stored && withChange(stored.runs, effect)
  if (runs !== undefined) db.run(sql.cronRun.write, runs, effect.name)
}
