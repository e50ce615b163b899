/** One task, as routes look at it. */

import type { Highkiq } from '../app.ts'
import type { EventStatus } from '../index.ts'
import { HighkiqError } from '../job/errors.ts'
import { eventOf, type TaskEvent } from '../tasks/event.ts'
import type { TaskStatus } from '../tasks/task.ts'
import type { Call } from './route.ts'

/** @throws UNKNOWN_TASK */
export async function statusOf(hq: Highkiq, { id = '' }: Call['path']): Promise<TaskStatus> {
  const status = /^[0-9a-f]{16}$/.test(id) ? await hq.tasks.get(id).status() : null
  if (status) return status
  throw new HighkiqError('UNKNOWN_TASK', `no task ${id}: it was deleted, or the id is wrong`)
}

export interface EventPage {
  status?: EventStatus[] | undefined
  code?: string | undefined
  /** Only those behind this index. */
  after: number
  limit: number
}

export async function eventsOf(
  hq: Highkiq,
  { id, job }: TaskStatus,
  { status, code, after, limit }: EventPage,
): Promise<TaskEvent[]> {
  const query = { ...(status ? { status } : {}), ...(code === undefined ? {} : { code }), after, limit }
  const records = await hq.store.events(id, query)
  return records.map((record) => eventOf(job, record))
}
