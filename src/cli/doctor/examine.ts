/** Runs all checks of `highkiq doctor`. To add one, write a `Check` and add it to `CHECKS`. */

import type { Highkiq } from '../../index.ts'
import { liveOwners } from '../../inspect/orphans.ts'
import { messageOf } from '../../job/errors.ts'
import { type Finding, SEVERITIES, type Severity } from '../../store/contract.ts'
import type { AppOptions } from '../open-app.ts'
import { liveProcesses } from '../processes.ts'
import type { Check, View } from './check.ts'
import { due } from './due.ts'
import { batches, locks } from './lost.ts'
import { moves } from './moves.ts'
import { orphaned } from './orphaned.ts'
import { growth, paused, queues } from './queues.ts'
import { storeResults } from './store.ts'
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
export async function examine(hq: Highkiq, options: AppOptions): Promise<Diagnosis> {
  const findings = await findingsOf(hq, options)
  const worst = Math.max(...findings.map(({ severity }) => SEVERITIES.indexOf(severity)))
  return { status: SEVERITIES[worst] as Severity, store: hq.store.url, findings }
}

async function findingsOf(hq: Highkiq, options: AppOptions): Promise<Finding[]> {
  const findings: Finding[] = []
  try {
    findings.push(...((await hq.store.diagnose?.()) ?? []))
    for (const result of await storeResults(hq)) findings.unshift({ check: 'store', ...result })
  } catch (thrown) {
    const advice = 'Fix this first: the other checks need the store'
    return [{ check: 'store', severity: 'error', text: messageOf(thrown), advice }, ...findings]
  }
  const view = await viewOf(hq, options)
  const results = Object.entries(CHECKS).map(async ([check, run]) => {
    try {
      return (await run(view)).map((result) => ({ check, ...result }))
    } catch (thrown) {
      const text = `this could not be checked: ${messageOf(thrown)}`
      return [{ check, severity: 'error' as const, text, advice: 'See what the checks of the store say' }]
    }
  })
  return [...findings, ...(await Promise.all(results)).flat()]
}

async function viewOf(hq: Highkiq, options: AppOptions): Promise<View> {
  const [queues, owners] = await Promise.all([hq.queueSummaries(), liveOwners(hq.store)])
  return { hq, ...(await liveProcesses(hq, owners)), owners, queues, options }
}
