/** Counts the jobs in a queue by class. */

import { ScanBudget } from './chunks.ts'
import type { Queue, QueuedJob } from './queue.ts'

export interface QueueClass {
  class: string
  count: number
  /** When the one of them that is fetched first entered the queue. */
  since: Date | null
}

export interface QueueClasses {
  /** The classes, most frequent first. */
  items: QueueClass[]
  scanned: number
  /** Whether all jobs were scanned. If not, those are missing that are fetched last. */
  complete: boolean
}

const PAGE = 500
const MOST_SHOWN = 50

/** @param classOf returns the class that the viewer may see */
export async function classesIn(
  queue: Queue,
  limits: { most: number; ms: number },
  classOf: (job: QueuedJob) => string,
): Promise<QueueClasses> {
  const classes = new Map<string, QueueClass>()
  const budget = new ScanBudget(limits)
  let after: string | null = null
  do {
    const page = await queue.page({ after, oldestFirst: true, limit: Math.min(PAGE, limits.most) })
    for (const job of page.items) {
      budget.add(job)
      const name = classOf(job)
      const known = classes.get(name)
      if (known) known.count++
      else classes.set(name, { class: name, count: 1, since: job.enqueuedAt ?? job.createdAt })
    }
    after = page.next
  } while (after !== null && !budget.isEnough)
  const items = [...classes.values()].sort((a, b) => b.count - a.count).slice(0, MOST_SHOWN)
  return { items, scanned: budget.entries, complete: after === null }
}
