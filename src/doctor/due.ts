/** Scheduled jobs and retries that are due, and that no worker moves to their queues. */

import { workCommand } from '../app/unserved-queues.ts'
import { readPayload } from '../job/payload.ts'
import { count, duration, plural } from '../job/plural.ts'
import type { CheckResult } from '../store/contract.ts'
import { type Check, ok } from './check.ts'

/** Jobs that are due for less than this are not late: workers look for them every few seconds. */
const LATE_SECONDS = 30
const MOST = 1000
const SETS = [
  ['schedule', 'scheduled job is due', 'scheduled jobs are due'],
  ['retry', 'retry is due', 'retries are due'],
] as const

export const due: Check = async ({ hq, live, app }) => {
  const now = hq.now()
  const found = await Promise.all(
    SETS.map(async ([set, one, several]): Promise<CheckResult[]> => {
      const { entries, next } = await hq.store.jobSets.due(set, now - LATE_SECONDS * 1000, MOST)
      const [first] = entries
      if (!first) return []
      const isMore = next !== null && next <= now / 1000 - LATE_SECONDS
      const late = isMore ? `more than ${count(MOST)} ${several}` : plural(entries.length, one, several)
      const text = `${late}, the first for ${duration(now / 1000 - first.score)}, and still not in their queues`
      if (live.length > 0) {
        const advice = 'A running worker moves them within seconds. If this stays, look into the logs of the workers'
        return [{ severity: 'warning', text, advice }]
      }
      const queues = new Set(entries.flatMap(({ text }) => readPayload(text)?.queue ?? []))
      const advice = `Start a worker, which moves them: ${workCommand([...queues], app)}`
      return [{ severity: 'error', text: `${text}: no worker is running`, advice }]
    }),
  )
  return found.some((results) => results.length > 0)
    ? found.flat()
    : ok(`no scheduled job or retry is late by ${duration(LATE_SECONDS)}`)
}
