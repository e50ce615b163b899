/** Scheduled jobs and retries that are due, and that no worker moves to their queues. */

import { workCommand } from '../app/unserved-queues.ts'
import { readPayload } from '../job/payload.ts'
import { finding } from '../store/contract/finding-texts.ts'
import type { CheckResult } from '../store/contract.ts'
import type { Check } from './check.ts'

/** Jobs that are due for less than this are not late: workers look for them every few seconds. */
const LATE_SECONDS = 30
const MOST = 1000
const SETS = [
  { set: 'schedule', late: 'scheduled-late', stuck: 'scheduled-without-worker' },
  { set: 'retry', late: 'retries-late', stuck: 'retries-without-worker' },
] as const

export const due: Check = async ({ hq, live, app }) => {
  const now = hq.now()
  const found = await Promise.all(
    SETS.map(async ({ set, late, stuck }): Promise<CheckResult[]> => {
      const { entries, next } = await hq.store.jobSets.due(set, now - LATE_SECONDS * 1000, MOST)
      const [first] = entries
      if (!first) return []
      const isMore = next !== null && next <= now / 1000 - LATE_SECONDS
      const found = { n: entries.length, more: isMore ? '+' : '', seconds: now / 1000 - first.score }
      if (live.length > 0) return [finding('warning', late, found)]
      const queues = new Set(entries.flatMap(({ text }) => readPayload(text)?.queue ?? []))
      return [finding('error', stuck, { ...found, command: workCommand([...queues], app) })]
    }),
  )
  return found.some((results) => results.length > 0)
    ? found.flat()
    : finding('ok', 'due-none', { seconds: LATE_SECONDS })
}
