/** The runs that a cron entry remembers, newest first. */

import { CRON_RUNS, type CronRun, type CronRunEffect } from '../../contract.ts'
import type { Database } from '../file/database.ts'
import { sql } from '../sql.generated.ts'

export function withRun(text: string, run: CronRun): string {
  return JSON.stringify([run, ...readRuns(text)].slice(0, CRON_RUNS))
}

export function readRuns(text: string): CronRun[] {
  return JSON.parse(text) as CronRun[]
}

export function changeRun(db: Database, { name, jid, state, startedAt, endedAt }: CronRunEffect): void {
  const stored = db.first<{ runs: string }>(sql.cronRun.read, name)
  const runs = stored ? readRuns(stored.runs) : []
  const run = runs.find((one) => one.jid === jid)
  if (!run) return
  Object.assign(run, { state, startedAt: startedAt ?? run.startedAt, endedAt })
  db.run(sql.cronRun.write, JSON.stringify(runs), name)
}
