/** The types of a check of `highkiq doctor`. */

import type { Highkiq, Process, QueueSummary } from '../index.ts'
import { finding } from '../store/contract/finding-texts.ts'
import type { Check as CheckOf, CheckResult } from '../store/contract.ts'

/** The options of an examination. */
export interface ExamineOptions {
  /** The words that name the app in advised commands: ` -r jobs.ts`. */
  app: string
  /** Throws when the store must not be opened. */
  checkStore?: () => void
  /** The checks write nothing of their own. On Redis a read of the processes still removes ended ones from their list. */
  readOnly?: boolean
  /** Returns the key of a unique lock as the viewer may see it. */
  lockKey: (key: string) => string
}

/** Data of the store that several checks need, read once. */
export interface View extends Pick<ExamineOptions, 'app' | 'lockKey'> {
  hq: Highkiq
  processes: readonly Process[]
  /** The processes that hold a lease and send heartbeats. */
  live: readonly Process[]
  /** The owners that hold a lease. */
  owners: ReadonlySet<string>
  queues: readonly QueueSummary[]
}

export type Check = CheckOf<View>

/** At most this many findings of a kind are shown; the last one then counts the others. */
const MOST = 5

/** Makes a finding of each of the first items, and one that counts the others. */
export function each<T>(items: readonly T[], find: (item: T) => CheckResult): CheckResult[] {
  const shown = items.slice(0, MOST).map(find)
  const [last] = shown.slice(-1)
  if (items.length <= MOST || !last) return shown
  return [...shown, finding(last.severity, 'more', { n: items.length - MOST })]
}
