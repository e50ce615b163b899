/** How fast the rows of a task ended, from the start of its run on. No store counts this, so it comes from a sample of rows. */

import type { Highkiq } from '../../app.ts'
import { cachedBy } from '../../job/cached.ts'
import type { Made } from '../schemas.ts'

type TaskRate = Made<'TaskRate'>

/** The most rows that are read. */
const SAMPLED = 1000
/** How long a result is reused. */
const REUSED_MS = 5000
const MOST_KEPT = 50

const MOST_STEPS = 60
const MINUTE = 60_000
const HOUR = 60 * MINUTE
/** The lengths of a step; longer ones are whole days. */
const STEPS = [
  ...[1, 2, 5, 10, 15, 30].map((seconds) => seconds * 1000),
  ...[1, 2, 5, 10, 15, 30].map((minutes) => minutes * MINUTE),
  ...[1, 2, 4, 6, 12].map((hours) => hours * HOUR),
]
const DAY = 24 * HOUR

const SHOWN = ['finished', 'failed', 'error'] as const

/** Returns a function that reads the rate of a task; null when there is no such task. */
export function taskRates(hq: Highkiq): (id: string) => Promise<TaskRate | null> {
  return cachedBy(REUSED_MS, MOST_KEPT, (id) => rateOf(hq, id))
}

async function rateOf(hq: Highkiq, id: string): Promise<TaskRate | null> {
  const task = await hq.store.tasks.find(id)
  if (!task) return null
  const { total, runAt: from, finishedAt } = task
  const to = Math.max(finishedAt ?? hq.now(), from + 1)
  const step = stepFor(to - from)
  const counts = Array.from({ length: Math.ceil((to - from) / step) }, () => ({ finished: 0, failed: 0, error: 0 }))
  const size = Math.min(total, SAMPLED)
  const indexes = Array.from({ length: size }, (_, i) => Math.floor(((i + 0.5) * total) / size))
  for (const { status, finishedAt: at } of await hq.store.tasks.events(id, { indexes, limit: size })) {
    const shown = SHOWN.find((one) => one === status)
    const count = at !== null && at >= from ? counts[Math.floor((Math.min(at, to - 1) - from) / step)] : undefined
    if (shown && count) count[shown] += total / size
  }
  const points = counts.map((count, i) => {
    const at = from + i * step
    // The last step may not be over.
    const seconds = Math.max(Math.min(step, to - at), Math.min(step, 1000)) / 1000
    const rates = SHOWN.map((status) => [status, Math.round((count[status] / seconds) * 100) / 100])
    return { at: new Date(at), ...(Object.fromEntries(rates) as typeof count) }
  })
  return { from: new Date(from), to: new Date(to), step: step / 1000, isSample: size < total, points }
}

/** Returns the shortest step of which there are not too many. */
function stepFor(ms: number): number {
  return STEPS.find((step) => ms / step <= MOST_STEPS) ?? Math.ceil(ms / MOST_STEPS / DAY) * DAY
}
