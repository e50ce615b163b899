/** A job whose definition says `track`: it gets a record of its own, as a task of one row that lists do not show. */

import { isSingleTracked, newTaskId, type Payload, taskJid } from '../job/payload.ts'
import type { TaskSpec } from '../store/contract.ts'

/** Its one row never waits for room in the window. */
const WINDOW = 1_000_000

export function tracked(): Pick<Payload, 'jid' | 'hk_task'> {
  const id = newTaskId()
  return { jid: taskJid(id, 0), hk_task: id }
}

/** Returns the record of the job's own task; undefined for a job that is not tracked by itself. */
export function trackOf(payload: Payload, now: number): TaskSpec | undefined {
  if (!isSingleTracked(payload)) return undefined
  const { hk_task, class: name, queue } = payload
  return {
    id: hk_task as string,
    name,
    job: name,
    queue,
    template: '{}',
    window: WINDOW,
    keepArgs: 'all',
    meta: '{}',
    createdAt: now,
    producer: '',
    single: true,
  }
}
