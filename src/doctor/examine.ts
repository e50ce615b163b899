/** Runs all checks of the doctor. To add one, write a `Check` and add it to `CHECKS`. */

import type { Highkiq } from '../index.ts'
import { liveOwners } from '../inspect/orphans.ts'
import { messageOf } from '../job/errors.ts'
import { finding } from '../store/contract/finding-texts.ts'
import { type Finding, runChecks, SEVERITIES, type Severity } from '../store/contract.ts'
import type { Check, ExamineOptions, View } from './check.ts'
import { due } from './due.ts'
import { batches, locks } from './lost.ts'
import { moves } from './moves.ts'
import { orphaned } from './orphaned.ts'
import { liveProcesses } from './processes.ts'
import { growth, paused, queues } from './queues.ts'
import { storeResult } from './store.ts'
import { ordered, tasks } from './tasks.ts'
import { clocks, versions, workers } from './workers.ts'

/** The checks that look at jobs, in the order in which they are shown. Those of the store's own server or file come first. */
const CHECKS: Record<string, Check> = {
  workers,
  versions,
  clocks,
  queues,
  paused,
  growth,
  due,
  orphaned,
  tasks,
  ordered,
  batches,
  locks,
  moves,
}

export interface Diagnosis {
  /** The worst severity. */
  status: Severity
  /** The URL, without secrets. */
  store: string
  findings: Finding[]
}

/** Examines the store of an app and what is in it. A store that can't be used is a finding, not an error. */
export async function examine(hq: Highkiq, options: ExamineOptions): Promise<Diagnosis> {
  const findings = await findingsOf(hq, options)
  const worst = Math.max(...findings.map(({ severity }) => SEVERITIES.indexOf(severity)))
  return { status: SEVERITIES[worst] as Severity, store: hq.store.url, findings }
}

async function findingsOf(hq: Highkiq, options: ExamineOptions): Promise<Finding[]> {
  const findings: Finding[] = []
  try {
    findings.push(...((await hq.store.diagnose?.()) ?? []))
    // Opening it would migrate it.
    if (findings.some(({ check }) => check === 'schema')) return findings
    options.checkStore?.()
    findings.unshift({ check: 'store', ...(await storeResult(hq, options.readOnly)) })
    const failed = (error: string) => finding('error', 'check-failed', { error })
    findings.push(...(await runChecks(CHECKS, await viewOf(hq, options), failed)))
    return findings
  } catch (thrown) {
    return [{ check: 'store', ...finding('error', 'store-unusable', { error: messageOf(thrown) }) }, ...findings]
  }
}

async function viewOf(hq: Highkiq, { app, lockKey }: ExamineOptions): Promise<View> {
  const [queues, owners] = await Promise.all([hq.queueSummaries(), liveOwners(hq.store)])
  return { hq, ...(await liveProcesses(hq, owners)), owners, queues, app, lockKey }
}
