/**
 * The rows that were rejected since the last poll.
 *
 * Rows are rejected in any order, and events are read by index. So each poll scans a bounded number of rejected rows, and
 * returns those that ended after the previous scan began. No row is missed. A row may appear twice, since the clocks of
 * processes differ.
 */

import { UNSUCCESSFUL_STATUSES } from '../../../index.ts'
import type { TaskEvent } from '../../../tasks/event.ts'
import type { TaskStatus } from '../../../tasks/task.ts'
import type { Call } from '../../server/route.ts'
import { eventsOf } from './queries.ts'

/** The content of a cursor: the time after which rows count, the last index, and when this scan began. */
interface Sweep {
  since: number
  after: number
  began: number
}

const PAGE = 500
const PAGES = 4
const ITEMS = 100
/** Tolerates different clocks of processes, and rounding. */
const SLACK_MS = 5000

/** `since-after-began`, each a whole number. */
export function readSweep(text: string): Sweep | undefined {
  const [, since, after, began] = /^(\d{1,15})-(\d{1,10})-(\d{1,15})$/.exec(text) ?? []
  return since === undefined ? undefined : { since: Number(since), after: Number(after) - 1, began: Number(began) }
}

const writeSweep = ({ since, after, began }: Sweep) => `${since}-${after + 1}-${began}`

export async function newlyRejected(
  call: Pick<Call, 'hq' | 'server'>,
  task: TaskStatus,
  sweep: Sweep | undefined,
): Promise<{ items: TaskEvent[]; next: string }> {
  const now = call.hq.now()
  // After the clock was set back, rows end before the time of the cursor: all are returned again.
  const isSetBack = sweep !== undefined && sweep.since > now
  const { since, after: from, began } = sweep && !isSetBack ? sweep : { since: 0, after: -1, began: now }
  // Rows that end after this moment belong to the next scan.
  const start = from === -1 ? now : began
  const items: TaskEvent[] = []
  let after = from
  for (let page = 0; page < PAGES; page++) {
    const events = await eventsOf(call, task, { status: [...UNSUCCESSFUL_STATUSES], after, limit: PAGE })
    for (const event of events) {
      after = event.index
      if ((event.finishedAt?.getTime() ?? 0) >= since) items.push(event)
      if (items.length === ITEMS) return { items, next: writeSweep({ since, after, began: start }) }
    }
    if (events.length < PAGE) {
      return { items, next: writeSweep({ since: Math.max(start - SLACK_MS, 0), after: -1, began: start }) }
    }
  }
  return { items, next: writeSweep({ since, after, began: start }) }
}
