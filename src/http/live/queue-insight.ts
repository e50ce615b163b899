/** Computes the classes in a queue, its size over time and the waits of its jobs, once for all clients. */

import type { Highkiq } from '../../app.ts'
import type { PeriodOptions } from '../../index.ts'
import { classesIn } from '../../inspect/queue-classes.ts'
import { cachedBy } from '../../job/cached.ts'
import type { Redaction } from '../access/redact.ts'

/** How long the waits are reused: processes flush their metrics every ten seconds. */
const WAITS_MS = 5000
/** How long the sizes are reused: a worker stores them every minute. */
const SIZES_MS = 5000
/** How long the classes are reused: thousands of jobs are read for them. */
const CLASSES_MS = 10_000
const CLASSES = { most: 5000, ms: 100 }
const MOST_KEPT = 50

export function queueInsight(hq: Highkiq, redaction: Redaction) {
  const classes = cachedBy(CLASSES_MS, MOST_KEPT, (name) =>
    classesIn(hq.queue(name), CLASSES, (job) => redaction.record(job).displayClass),
  )
  const waits = cachedBy(WAITS_MS, MOST_KEPT, (key) => {
    const [name, minutes] = JSON.parse(key) as [string, number]
    return hq.metrics.queue(name, { minutes })
  })
  const sizes = cachedBy(SIZES_MS, MOST_KEPT, (key) => {
    const [name, period] = JSON.parse(key) as [string, PeriodOptions]
    return hq.metrics.queueSizes(name, period)
  })
  return {
    classes,
    waits: (name: string, minutes: number) => waits(JSON.stringify([name, minutes])),
    sizes: (name: string, period: PeriodOptions) => sizes(JSON.stringify([name, period])),
    /** Forgets the classes, because this server has changed something. */
    forget: classes.forget,
  }
}
