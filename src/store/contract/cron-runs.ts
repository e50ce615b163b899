/** The runs that a cron entry remembers, newest first, as stores that keep them in one text write them. */

import { CRON_RUNS, type CronRun } from './crons.ts'
import type { CronRunEffect } from './effects.ts'

export function withRun(text: string, run: CronRun): string {
  return JSON.stringify([run, ...readRuns(text)].slice(0, CRON_RUNS))
}

export function readRuns(text: string): CronRun[] {
  return JSON.parse(text) as CronRun[]
}

/** Returns the runs after an effect; undefined: the entry does not remember this run any more. */
export function withChange(text: string, { jid, state, startedAt, endedAt }: CronRunEffect): string | undefined {
  const runs = readRuns(text)
  const run = runs.find((one) => one.jid === jid)
  if (!run) return undefined
  Object.assign(run, { state, startedAt: startedAt ?? run.startedAt, endedAt })
  return JSON.stringify(runs)
}
