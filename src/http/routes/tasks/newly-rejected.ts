/**
 * The rows that were rejected since somebody looked last.
 *
 * Rows are rejected in any order, and their events are found by their index. So a look sweeps over all rejected rows, a
 * bounded number an answer, and takes those that ended since the sweep before began. Nothing is missed; a row may come
 * twice, for clocks of processes differ.
 */

import { REJECTED_STATUSES } from '../../../index.ts'
import type { TaskEvent } from '../../../tasks/event.ts'
import type { TaskStatus } from '../../../tasks/task.ts'
import type { Call } from '../../server/route.ts'
import { eventsOf } from './queries.ts'

/** What a cursor says: ms since when, behind which index, and when this sweep began. */
interface Sweep {
  since: number
  after: number
  began: number
}

const PAGE = 500
const PAGES = 4
const ITEMS = 100
/** Between clocks of processes, and what times are rounded to. */
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
  const { since, after: from, began } = sweep ?? { since: 0, after: -1, began: now }
  // Of a sweep that begins: what ends from now on is for the next.
  const start = from === -1 ? now : began
  const items: TaskEvent[] = []
  let after = from
  for (let page = 0; page < PAGES; page++) {
    const events = await eventsOf(call, task, { status: [...REJECTED_STATUSES], after, limit: PAGE })
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
